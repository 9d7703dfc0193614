"""The end of a job: its causes, the signals to its processes and when, the lines printed, and the exit status.

The supervisor of one node, the launcher of several nodes and the monitors of nodes watch processes and report events.
This module decides what follows; docs/reliability.md describes it in words.
"""

from __future__ import annotations

import abc
import enum
import signal
import time
from typing import NamedTuple

from ishmem.common.processes import describe_end, exit_status


class Patience(NamedTuple):
    """Time limits of a process that watches others.

    Attributes:
        failing: Seconds after a loss in which the others may end by themselves: their waits raise ``PeerLost``.
        ending: Seconds from SIGTERM to SIGKILL.
    """

    failing: float
    ending: float


SUPERVISOR = Patience(failing=3.0, ending=2.0)
"""The limits of the supervisor, of ``ishmem run --hosts``, and of the watchdog of a PE without either."""
MONITOR = Patience(failing=1.7, ending=0.5)
"""The limits of the monitor of a node, in jobs over MPI."""
REACTING = 4.0
"""Seconds after a loss in which a PE that has reported ``PeerLost`` to its monitor may end by itself."""
AFTER_SIGNAL = 10.0
"""Seconds from a signal of the user to SIGKILL."""
FAILED_PROGRAM = SUPERVISOR.failing + SUPERVISOR.ending
"""Seconds in which threads, exit handlers and children of a program that has failed may keep running, unless something
ends them before: in a job that continues, after ``finalize`` over MPI, and for the children of a PE of
``ishmem run --hosts``."""
REPORT = 3.0
"""Seconds after the end of a PE's connection in which the hub accepts a report of how its process ended: the supervisor
first determines where the other PEs are."""
REPORT_OVER_MPI = 0.5
"""Seconds after a failure in which other PEs may report it, before MPI ends them."""
FIRST_CAUSE = 0.5
"""Seconds for which a PE that fails because of another PE waits for the report of that PE, whose status counts."""
GLOBAL_EXIT = 0.5
"""Seconds that the other PEs have to end after the message of ``global_exit``, and then after its signal."""


class State(enum.IntEnum):
    """The states of a job, or of a PE that a monitor watches."""

    RUNNING = 0
    FAILING = 1
    ENDING = 2
    KILLING = 3


class Rule(NamedTuple):
    """The consequences of an event that ends a job.

    Attributes:
        event: The event.
        status: The exit status of the job, or a description of it.
        grace: Whether the other PEs may first end by themselves.
    """

    event: str
    status: int | str
    grace: bool = True


class Cause(enum.Enum):
    """The causes that end a job; docs/reliability.md describes how they are detected and what the other PEs do."""

    DIED = Rule("a PE dies by a signal", "128 + signal")
    FAILED = Rule("a PE ends with a status other than 0", "that status")
    DESERTED = Rule("a PE ends with 0, without `finalize`", 1)
    RAISED = Rule("an exception that nothing catches", "1, or that status")
    HANG = Rule("a kernel runs longer than `ISHMEM_TIMEOUT`", 124)
    TIMED_OUT = Rule("the job takes longer than `--timeout`", 124, grace=False)
    UNREAD = Rule("nobody reads the output any more", exit_status(-signal.SIGPIPE), grace=False)
    NOT_STARTED = Rule("a PE, or the hub of the PEs, cannot start", 2, grace=False)
    ALL_LOST = Rule("with `--survive`, no PE that runs can be reached", "that of the PEs that have ended")
    NODE_LOST = Rule("a node is silent for `ISHMEM_NODE_TIMEOUT`", 1)

    @property
    def status(self) -> int:
        """The exit status of the job if all ends by this cause have the same; else 1."""
        return self.value.status if isinstance(self.value.status, int) else 1

    @classmethod
    def of_end(cls, code: int) -> tuple[Cause, int]:
        """Return the cause, and the exit status of the job, for the end of a PE that should not have ended.

        Args:
            code: The exit status of its process, or minus the signal.
        """
        cause = cls.DIED if code < 0 else cls.FAILED if code else cls.DESERTED
        return cause, exit_status(code) or cause.status


class Ending:
    """The state of processes that are to end, and the schedule of signals to them.

    Attributes:
        state: The state.
        sent: The signals that have been sent.
    """

    def __init__(self) -> None:
        """Begin in the state ``RUNNING``, without signals. Times are those of ``time.monotonic``, in seconds."""
        self.state, self.sent = State.RUNNING, set[int]()
        self._due: list[tuple[float, signal.Signals]] = []

    def begin(self, at: float, patience: Patience) -> None:
        """Schedule SIGTERM at time ``at``, in place of all signals due, and SIGKILL after it."""
        self.state = State.FAILING
        self._due = [(at, signal.SIGTERM), (at + patience.ending, signal.SIGKILL)]

    def kill_after_signal(self, number: int, now: float) -> None:
        """Schedule SIGKILL after the user's signal ``number``: after `AFTER_SIGNAL`, or at ``now`` for a second one."""
        at = now + (0.0 if self.sent else AFTER_SIGNAL)
        self.state = State.ENDING
        self.sent.add(number)
        self._due = sorted([*self._due, (at, signal.SIGKILL)])

    @property
    def due_at(self) -> float | None:
        """The time of the next signal, by ``time.monotonic``; None without signals due."""
        return self._due[0][0] if self._due else None

    def pop_due(self, now: float) -> signal.Signals | None:
        """Remove the next signal from the schedule and return it if it is due by ``now``; else None."""
        if not self._due or now < self._due[0][0]:
            return None
        number = self._due.pop(0)[1]
        self.state = State.KILLING if number == signal.SIGKILL else State.ENDING
        self.sent.add(number)
        if self.state is State.KILLING:
            self._due.clear()
        return number


class JobEnd(Ending, abc.ABC):
    """The end of a job of ``ishmem run``; the launchers' subclasses send signals, name PEs and print.

    Attributes:
        status: The exit status of the job, once something has ended it.
        timeout: Seconds after which the job is ended.
        had_grace: Whether the PEs had time to end by themselves.
    """

    def __init__(self, timeout: float | None = None) -> None:
        """Begin in the state ``RUNNING``; the time-out, in seconds, starts now."""
        super().__init__()
        self.status: int | None = None
        self.had_grace = False
        self.timeout = timeout
        self._timeout_at = time.monotonic() + timeout if timeout else None
        self._survivors, self._losses = 0, list[int]()  # PEs that have ended well, and the status of each other one

    @abc.abstractmethod
    def may_go_on(self) -> bool:
        """Return whether the PEs have agreed that a loss does not end the job."""

    @abc.abstractmethod
    def send(self, number: int) -> None:
        """Send signal ``number`` to all PEs that run."""

    @abc.abstractmethod
    def report(self, *lines: str) -> None:
        """Print lines about the job."""

    @abc.abstractmethod
    def names(self) -> str:
        """Return the numbers of the running PEs as text, with their places in a job on several nodes."""

    def places(self) -> list[str]:
        """Return for each PE a line with what it does; empty if that cannot be determined."""
        return []

    @property
    def goes_on(self) -> bool:
        """Whether the job continues if a PE dies: the PEs have agreed to that, and nothing has ended the job."""
        return self.status is None and not self.sent and self.may_go_on()

    @property
    def due_at(self) -> float | None:
        """The time of the next signal or of the time-out, by ``time.monotonic``; None without either."""
        return min(filter(None, (super().due_at, self._timeout_at)), default=None)

    def act(self, now: float) -> None:
        """Send the signal due by ``now``, and end the job after its time-out, unless something else has ended it."""
        if number := self.pop_due(now):
            if self.had_grace and number == signal.SIGTERM and (names := self.names()):
                self.report(f"not ended within {SUPERVISOR.failing:g} s: PE {names}; ending it")
            self.send(number)
        if self._timeout_at and now >= self._timeout_at:
            self._timeout_at = None
            if self.status is None:
                self.end(Cause.TIMED_OUT)
                self.report(f"timed out after {self.timeout:g} s; ending PE {self.names()}", *self.places())

    def forward(self, number: int) -> None:
        """Send the user's signal ``number`` to the PEs, and schedule SIGKILL after it."""
        self.report(f"{signal.Signals(number).name} passed on to the PEs")
        if number == signal.SIGINT and not self.sent:
            self.report(*self.places())
        self.send(number)
        self.kill_after_signal(number, time.monotonic())

    def end(self, cause: Cause, status: int | None = None, since: float | None = None, grace: bool = True) -> None:
        """End the job; the first cause with an exit status sets that of the job.

        Args:
            cause: The cause.
            status: The exit status, where it is not that of every such cause.
            since: Time at which it was detected, by ``time.monotonic``; by default now.
            grace: Whether the PEs have reason to end by themselves.
        """
        rule = cause.value
        if self.status is not None:
            return
        self.status = rule.status if isinstance(rule.status, int) else status
        grace = grace and rule.grace
        if not grace or self.state in (State.RUNNING, State.ENDING):  # a signal of the user: its SIGKILL stays
            self.had_grace, at = grace, time.monotonic() if since is None else since
            due = self._due if self.state is State.ENDING else []
            self.begin(at + (SUPERVISOR.failing if grace else 0.0), SUPERVISOR)
            self._due = sorted([*due, *self._due])

    def pe_ended(self, pe: str, code: int, deserted: bool, others: bool, grace: bool = True) -> str:
        """Process the end of a PE's process; return the line to print about it, or an empty string.

        Args:
            pe: Its number, and where it was.
            code: Its exit status, or minus the signal.
            deserted: Whether it was still in the job.
            others: Whether other PEs run.
            grace: Whether they have reason to end by themselves.
        """
        if code == 0 and not deserted:
            self._survivors += 1
            return ""
        how = f"PE {pe} {describe_end(code)}{' without ishmem.finalize()' * (code == 0)}"
        cause, status = Cause.of_end(code)
        if self.goes_on:
            self._losses.append(status)
            return how + "; the other PEs go on (--survive)" * others
        line = "" if -code in self.sent else how + "; ending the other PEs" * (others and self.status is None)
        if self.sent:
            self.status = self.status or status
        else:
            self.end(cause, status, grace=grace)
        return line

    def result(self) -> int:
        """Return the exit status of a job that has ended; that of the first loss if no PE has survived."""
        if self.status is None and self._losses and not self._survivors:
            return self._losses[0]
        return self.status or 0
