"""How a job ends: what ends it, which signals its processes get and when, what is said, and its exit status.

Those that watch processes notice what happens: the supervisor of one node, the launcher of several nodes, and the
monitors of nodes. What follows is decided here; docs/reliability.md has it in words.
"""

from __future__ import annotations

import enum
import signal
import time
from typing import Callable, NamedTuple

from ishmem.common.processes import exit_status
from ishmem.common.status_board import describe_end


class Patience(NamedTuple):
    """How long one that watches processes waits for them.

    Attributes:
        failing: Seconds after a loss in which they may end by themselves: their waits raise ``PeerLost``.
        ending: Seconds from SIGTERM to SIGKILL.
    """

    failing: float
    ending: float


SUPERVISOR = Patience(failing=3.0, ending=2.0)
"""Of the supervisor, and of ``ishmem run --hosts``."""
MONITOR = Patience(failing=1.7, ending=0.5)
"""Of the monitor of a node, in jobs over MPI."""
REACTING = 4.0
"""Seconds after a loss in which a PE that has told its monitor of ``PeerLost`` may end by itself."""
AFTER_SIGNAL = 10.0
"""Seconds from a signal of the user to SIGKILL."""


class State(enum.IntEnum):
    """The states of a job, or of a PE that a monitor watches."""

    RUNNING = 0
    FAILING = 1
    ENDING = 2
    KILLING = 3


class Row(NamedTuple):
    """What ends a job.

    Attributes:
        event: The event.
        status: The exit status of the job, or in words which one it is.
        waits: Whether the other PEs may end by themselves first.
    """

    event: str
    status: int | str
    waits: bool = True


class Cause(enum.Enum):
    """What ends a job; docs/reliability.md says who notices it, and what becomes of the other PEs."""

    DIED = Row("a PE dies by a signal", "128 + signal")
    FAILED = Row("a PE ends with a status other than 0", "that status")
    DESERTED = Row("a PE ends with 0, without `finalize`", 1)
    RAISED = Row("an exception that nothing catches", "1, or that status")
    HANG = Row("a kernel runs longer than `ISHMEM_TIMEOUT`", 124)
    TIMED_OUT = Row("the job takes longer than `--timeout`", 124, waits=False)
    UNREAD = Row("nobody reads the output any more", exit_status(-signal.SIGPIPE), waits=False)
    NOT_STARTED = Row("a PE, or the hub of the PEs, cannot start", 2, waits=False)
    ALL_LOST = Row("with `--survive`, no PE that runs can be reached", "that of the PEs that have ended")


class Ending:
    """The state of processes, and the signals that they have still to get, each with its time.

    Attributes:
        state: The state.
        sent: The signals that they have got.
    """

    def __init__(self) -> None:
        """Let the processes run."""
        self.state, self.sent = State.RUNNING, set[int]()
        self._due: list[tuple[float, signal.Signals]] = []

    def begin(self, at: float, patience: Patience) -> None:
        """Send SIGTERM at a time, in place of what was due before, and SIGKILL after it."""
        self.state = State.FAILING
        self._due = [(at, signal.SIGTERM), (at + patience.ending, signal.SIGKILL)]

    def pass_on(self, number: int, now: float) -> None:
        """Take note of a signal of the user, which the processes get: SIGKILL follows, if nothing else has sent it."""
        at = now + (0.0 if self.sent else AFTER_SIGNAL)
        self.state = State.ENDING
        self.sent.add(number)
        self._due = sorted([*self._due, (at, signal.SIGKILL)])

    @property
    def next(self) -> float | None:
        """The time of the next signal."""
        return self._due[0][0] if self._due else None

    def take(self, now: float) -> signal.Signals | None:
        """Return the signal that is due, once."""
        if not self._due or now < self._due[0][0]:
            return None
        number = self._due.pop(0)[1]
        self.state = State.KILLING if number == signal.SIGKILL else State.ENDING
        self.sent.add(number)
        if self.state is State.KILLING:
            self._due.clear()
        return number


class JobEnd(Ending):
    """The end of a job of ``ishmem run``.

    Attributes:
        status: The exit status of the job, once something has ended it.
        has_waited: Whether the PEs had time to end by themselves.
    """

    def __init__(self, may_go_on: Callable[[], bool], timeout: float | None = None) -> None:
        """Let the job run; ``may_go_on``: whether the PEs have agreed that a loss does not end it."""
        super().__init__()
        self.status: int | None = None
        self.has_waited = False
        self._may_go_on, self.timeout = may_go_on, timeout
        self._timeout_at = time.monotonic() + timeout if timeout else None
        self._survivors, self._losses = 0, list[int]()  # PEs that have ended well, and the status of each other one

    @property
    def goes_on(self) -> bool:
        """Whether a PE that dies does not end the job, which nothing else has ended."""
        return self.status is None and not self.sent and self._may_go_on()

    @property
    def next(self) -> float | None:
        """The time of the next signal, or of the time-out."""
        return min(filter(None, (super().next, self._timeout_at)), default=None)

    def times_out(self, now: float) -> bool:
        """End the job if it has taken too long and nothing else has ended it; return true once."""
        if self._timeout_at is None or now < self._timeout_at:
            return False
        self._timeout_at = None
        if self.status is not None:
            return False
        self.end(Cause.TIMED_OUT)
        return True

    def end(self, cause: Cause, status: int | None = None, since: float | None = None, waits: bool = True) -> None:
        """End the job; the first cause with an exit status sets that of the job.

        Args:
            cause: What ends it.
            status: The exit status, where it is not that of every such cause.
            since: When that was noticed; by default now.
            waits: Whether the PEs have reason to end by themselves.
        """
        row = cause.value
        if self.status is not None:
            return
        self.status = row.status if isinstance(row.status, int) else status
        waits = waits and row.waits
        if not waits or self.state in (State.RUNNING, State.ENDING):  # a signal of the user: its SIGKILL stays
            self.has_waited, at = waits, time.monotonic() if since is None else since
            due = self._due if self.state is State.ENDING else []
            self.begin(at + (SUPERVISOR.failing if waits else 0.0), SUPERVISOR)
            self._due = sorted([*due, *self._due])

    def pe_ended(self, pe: str, code: int, deserted: bool, others: bool, waits: bool = True) -> str:
        """Decide about a PE whose process has ended; return what to say, which may be nothing.

        Args:
            pe: Its number, and where it was.
            code: Its exit status, or minus the signal.
            deserted: Whether it was in the job.
            others: Whether other PEs run.
            waits: Whether they have reason to end by themselves.
        """
        if code == 0 and not deserted:
            self._survivors += 1
            return ""
        how = f"PE {pe} {describe_end(code)}{' without ishmem.finalize()' * (code == 0)}"
        status = exit_status(code) or 1
        if self.goes_on:
            self._losses.append(status)
            return how + "; the other PEs go on (--survive)" * others
        said = "" if -code in self.sent else how + "; ending the other PEs" * (others and self.status is None)
        if self.sent:
            self.status = self.status or status
        else:
            self.end(Cause.DIED if code < 0 else Cause.FAILED if code else Cause.DESERTED, status, waits=waits)
        return said

    def result(self) -> int:
        """Return the exit status of a job that has ended."""
        if self.status is None and self._losses and not self._survivors:
            return self._losses[0]
        return self.status or 0
