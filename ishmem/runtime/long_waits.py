"""Long waits of this PE: records them on the status board, reports them, and ends those that cannot end by themselves.

A wait ends with an error where two PEs wait for each other, and after ``ISHMEM_TIMEOUT``. Once it has lasted for
``ISHMEM_WAIT_NOTICE``, a PE of the node prints where all of them are.

Waiting code calls `report_wait` repeatedly: the core after each slice of some milliseconds, so that short waits cost
nothing, and Python loops in each round. With ``ISHMEM_TIMEOUT`` set, a thread also records the last time at which the
interpreter ran, waited for no kernel, and had none that waited for long; ishmem run checks this time. A launch by
numba-dpex holds the interpreter's lock, so the thread stops; `LongWaits.for_kernel` records other launches.
"""

from __future__ import annotations

import collections
import contextlib
import ctypes
import math
import signal
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType
from typing import TYPE_CHECKING, Any, Callable

import dpctl

from ishmem import _core
from ishmem.common import callsite, kernel_wait
from ishmem.common.constants import SYMBOLS, Cmp
from ishmem.common.errors import WaitTimeout
from ishmem.common.job_end import AFTER_SIGNAL, SUPERVISOR, Cause
from ishmem.common.processes import exit_status
from ishmem.common.status_board import IN_TURN, PeState, Record
from ishmem.ipc import pyze
from ishmem.runtime import program_status
from ishmem.runtime.crossed_calls import CrossedCalls, CrossedKernels
from ishmem.runtime.mixed_calls import MixedCalls
from ishmem.runtime.violation_errors import origin

if TYPE_CHECKING:
    from ishmem.runtime.job import Job

LONG = 0.02
"""Seconds after which a wait is recorded; equal to a slice of ``ishmem/core/polling.hpp``."""
_REFRESH = 0.5
_MPI_PATIENCE = 2.0  # seconds for the monitor to name a lost PE after MPI has failed
_KERNELS = 8  # the most kernels, submitted last, that a report names
_VARIABLES = ("ivar", "ivars", "sig_addr", "lock")


@dataclass
class _Wait:
    since: float
    last_report: float = 0.0
    text: str = ""


class _Launches(dict[int, float]):
    """The times since which threads wait for kernels; as a context manager, it records the wait of this thread."""

    def __enter__(self) -> None:
        self[threading.get_ident()] = time.monotonic()

    def __exit__(self, *_: object) -> None:
        self.pop(threading.get_ident(), None)  # a handler of a signal may have waited in between


class LongWaits:
    """The long waits of this PE's threads."""

    def __init__(self, this: Job, timeout: float | None, end_job: Callable[[], object]) -> None:
        """Start recording waits, which end after ``timeout`` seconds, None for never; ``end_job`` can end all PEs."""
        self._this, self._board, self._timeout = this, this.board, timeout
        self._record = this.board[this.node.place]
        self._waits: dict[int, _Wait] = {}
        self._ends: dict[int, threading.Event] = {}  # of threads whose waits an event ends
        self._launches = _Launches()
        self._closed = threading.Event()
        self._checks: list[CrossedCalls | MixedCalls] = []
        self._checking: set[int] = set()  # threads
        self._crossed_kernels, self._end_job = CrossedKernels(this), end_job
        self._mpi_failed = 0.0  # time at which MPI was seen to have failed
        limits = [limit for limit in (timeout, this.settings.wait_notice) if limit]
        self._interval = min(*(limit / 4 for limit in limits), _REFRESH) if limits else 0.0
        self._kernel_wait = _Wait(0.0)
        self._submitted: collections.deque[tuple[str, dpctl.SyclEvent]] = collections.deque(maxlen=_KERNELS)
        self._one_engine = False
        _core.on_wait(self._tell)

    def begin(self) -> None:
        """Record that ``init`` has ended, and start monitoring for hangs."""
        self._record.since, self._record.state = 0.0, PeState.JOINED
        self._checks = [CrossedCalls(self._this), MixedCalls(self._this)]
        self._one_engine = self._this.heap.own_device.engines == 1
        if not self._board.supervised:
            self._watch()
        place = self._this.heap.layout.kernel_wait
        record, tells = ctypes.addressof(self._record), pyze.function_address("ishmemLongKernel")
        _core.answer_with_reason(tells, record + Record.reason.offset, Record.reason.size)
        _core.answer_with(place, record + Record.kernel.offset, kernel_wait.NBYTES)
        if self._interval:
            self._tell_alive()  # a kernel may begin before the thread
            threading.Thread(target=self._beat, name="ishmem-beat", daemon=True).start()

    def close(self) -> None:
        """Stop recording waits."""
        _core.on_wait(None)
        _core.unwatch()
        _core.answer_no_more()
        self._checks = []
        self._one_engine = False
        self._submitted.clear()
        self._closed.set()
        self._record.beat = 0.0

    def _watch(self) -> None:
        """Make the core end this process when Python no longer runs, as ishmem run does for its PEs."""
        numbers = ",".join(map(str, self._this.node.pes))
        command = [sys.executable, "-m", "ishmem.common.status_board", self._board.path, numbers]
        hang, interrupt = (Cause.HANG.status, SUPERVISOR.failing), (exit_status(-signal.SIGINT), AFTER_SIGNAL)
        _core.watch(command, self._timeout or 0.0, hang, interrupt)

    def hang(self) -> WaitTimeout | None:
        """Return the error that ends all waits once some PE has reached ``ISHMEM_TIMEOUT``; None before."""
        if not self._board.head.hang:
            return None
        return WaitTimeout(f"PE {self._this.pe}: {self._board.head.text}")

    def kernel_hang(self) -> WaitTimeout | None:
        """Return the error of a kernel that the driver has ended after ``ISHMEM_TIMEOUT``; None for another end.

        The driver ends a kernel some seconds after the limit, so that the hang has usually been published.
        """
        if self._timeout and not self._board.head.hang:
            record = _core.read(self._this.pe, self._this.heap.layout.kernel_wait, kernel_wait.NBYTES)
            began = self._launches.get(threading.get_ident(), math.inf)
            if kernel_wait.describe(record, self._this.n_pes) or time.monotonic() > began + self._timeout:
                self._board.announce(self._timeout)
        return self.hang()

    def report_wait(self, details: Callable[[], str] | None = None) -> None:
        """Record that this thread still waits; ``details`` returns a description, by default of the caller's variables.

        Raises:
            WaitTimeout: This wait, or one of another PE, has reached ``ISHMEM_TIMEOUT``.
            SymmetryError: This PE and another wait for each other.
        """
        now = time.monotonic()
        thread = threading.get_ident()
        if (end := self._ends.get(thread)) and end.is_set():
            raise WaitTimeout("the job has ended")
        wait = self._waits.get(thread)
        if wait is None:
            wait = self._waits[thread] = _Wait(now - LONG)
        if now < wait.since + 2 * LONG:
            return
        if now >= wait.last_report + min(_REFRESH, wait.last_report - wait.since):
            wait.last_report = now
            frames, found = callsite.of_frame(sys._getframe(1)), details() if details else self._details()
            name = _core.running_name()
            wait.text = callsite.describe(frames, found, name) if end is None else f"{name}_on_queue{found}"
            self._show()
            self._check(thread, wait)
            self._print_places(wait, now)
        if self._this.network:
            self._look_at_mpi()
        if self._timeout and now > wait.since + self._timeout and not self._board.head.hang:
            self._board.announce(self._timeout)
        if error := self.hang():
            raise error

    def _check(self, thread: int, wait: _Wait) -> None:
        """Raise if the wait cannot end; a wait within the check, for a PE of another node, is not checked."""
        if thread in self._checking or thread in self._ends:  # the main thread may be elsewhere
            return
        self._checking.add(thread)
        try:
            for each in self._checks:
                each.check()
        finally:
            self._checking.discard(thread)
        self._waits[thread] = wait
        self._show()

    def _print_places(self, wait: _Wait, now: float) -> None:
        """Print where the PEs are, unless another PE has done so during this wait."""
        limit = self._this.settings.wait_notice
        if limit and now > wait.since + limit and self._board.claim_notice(wait.since, now):
            print(self._board.notice(limit), file=sys.stderr, flush=True)

    def _look_at_mpi(self) -> None:
        """Count a PE of another node as lost when MPI has failed and the monitor names no lost PE."""
        this, code = self._this, _core.engine_problem()
        if code and not this.links.lost:
            self._mpi_failed = self._mpi_failed or time.monotonic()
            if time.monotonic() > self._mpi_failed + _MPI_PATIENCE:
                pe = next(pe for pe in range(this.n_pes) if this.network and this.network.is_far(pe))
                this.lose(pe, f"MPI has failed with error {code}")

    def submitted(self, name: str, event: dpctl.SyclEvent) -> None:
        """Record submitted kernel ``name`` if a loss ends its waits, or if the device may run one kernel at a time."""
        if self._this.losses.goes_on:
            self._this.losses.submitted(event)
        if self._one_engine:
            self._submitted.append((name, event))

    def for_kernel(self) -> contextlib.AbstractContextManager[None]:
        """Return a context manager that records that this thread waits for a kernel to end."""
        return self._launches

    @contextlib.contextmanager
    def ending_with(self, event: threading.Event) -> Iterator[None]:
        """Return a context manager in which waits of this thread raise ``WaitTimeout`` once ``event`` is set."""
        thread = threading.get_ident()
        self._ends[thread] = event
        try:
            yield
        finally:
            del self._ends[thread]

    def over(self) -> None:
        """Record that this thread's wait has ended."""
        self._waits.pop(threading.get_ident(), None)
        self._show()

    def _tell(self, goes_on: bool) -> None:
        """Record the core's report that a wait continues or has ended; the core has no Python frame."""
        if goes_on:
            self.report_wait()
        else:
            self.over()

    def _show(self) -> None:
        """Write the longest wait to the board."""
        waits = sorted((wait for wait in list(self._waits.values()) if wait.text), key=lambda wait: wait.since)
        self._record.since = 0.0
        if waits:
            self._record.text = waits[0].text
            self._record.since = waits[0].since

    def _details(self) -> str:
        """Describe the wait by the arguments of the routine in the core, or the variables of ishmem's functions."""
        frame = sys._getframe(2).f_back  # of the function that has called the core, if that is not C
        given = {**_variables(frame), **_core.running_arguments()}
        with contextlib.suppress(Exception):  # a failed description must not end the wait
            if "cmp" in given:
                return self._variable(given)
            name = _core.running_name() or (frame.f_code.co_name if frame else "")
            if "team" in given or name in ("barrier_all", "sync_all"):
                team = int(given.get("team", 0))
                which = f" of team {team}" if team else ""
                return f" (barrier {_core.team_sequence(team)}{which})"
        return ""

    def _variable(self, given: dict[str, Any]) -> str:
        array = next(given[name] for name in _VARIABLES if name in given)
        facts = _core.describe(array)  # dpnp's interface of an array would wait for its queue
        where = origin(self._this.heap, facts[0]) if facts else ""
        wanted = next(given[name] for name in ("cmp_value", "cmp_values", "values") if name in given)
        if "ivar" in given or "sig_addr" in given:
            index = given.get("index", 0)
            seen = _core.g(array, self._this.pe, index)
            what = f"element {index} is {seen}"
        else:
            what = f"{array.size} variables"
        return f", {what}, wanted {_symbol(given['cmp'])} {wanted}{where}"

    def _beat(self) -> None:
        while not self._closed.wait(self._interval):
            self._look_at_kernels()
            self._tell_alive()

    def _look_at_kernels(self) -> None:
        """Record the wait of this PE's kernels; report a long one, and end the job if it cannot end."""
        now, wait = time.monotonic(), self._kernel_wait
        record = _core.read(self._this.pe, self._this.heap.layout.kernel_wait, kernel_wait.NBYTES)
        text = kernel_wait.describe(record, self._this.n_pes)
        self._record.in_turn = self._in_turn()
        if text != wait.text:
            wait.since, wait.text = now, text
        if problem := self._crossed_kernels.problem(record):
            self._fail(problem)
        if text:
            self._print_places(wait, now)

    def _in_turn(self) -> bytes:
        """Return a text that names the kernels that have not ended, if one may block another; else an empty one."""
        ended = dpctl.event_status_type.complete
        names = [name for name, event in list(self._submitted) if event.execution_status is not ended]
        if len(names) < 2:
            return b""
        words = "the device has one compute engine, which may run one kernel at a time: of the kernels"
        return f"{words} {', '.join(names)}, one that waits for a later one never ends".encode()[: IN_TURN - 1]

    def _fail(self, problem: str) -> None:
        """End the job because of a kernel that waits forever: no error can end the kernel.

        Only the first PE that detects the wait does this: another one could end the job before the error is printed.
        """
        if program_status.is_first(self._board, self._this.pe, "crossed kernels"):
            print(f"SymmetryError: {problem}", file=sys.stderr, flush=True)
            self._end_job()

    def _tell_alive(self) -> None:
        now, kernel = time.monotonic(), self._kernel_wait
        self._record.beat = min([now, *self._launches.values(), *([kernel.since] if kernel.text else [])])
        if now - self._record.beat <= self._interval:
            _core.beat()


@contextlib.contextmanager
def patience(this: Job, details: Callable[[], str] | None = None) -> Iterator[Callable[[], None]]:
    """Yield a function for a waiting loop to call in each round: it records the wait, described by ``details``."""
    waits = this.waits
    try:
        yield lambda: waits.report_wait(details)
    finally:
        waits.over()


def _variables(frame: FrameType | None) -> dict[str, Any]:
    """Return the local variables of the innermost ishmem functions; inner functions take precedence."""
    found: dict[str, Any] = {}
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] == "ishmem":
        found = {**frame.f_locals, **found}
        frame = frame.f_back
    return found


def _symbol(cmp: int) -> str:
    return SYMBOLS[Cmp(cmp)]
