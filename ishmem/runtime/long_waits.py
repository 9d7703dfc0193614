"""The long waits of this PE: the board tells what it waits in, and ``ISHMEM_TIMEOUT`` ends them.

`look` is called again and again by whoever waits: by the core after each slice of some milliseconds, so that a short
wait costs nothing, and by waits that are Python loops. With ``ISHMEM_TIMEOUT`` set, a thread also tells that the
interpreter still runs: it stands still while a kernel runs, and for those ishmrun looks.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType
from typing import TYPE_CHECKING, Any, Callable

from ishmem import _core
from ishmem.common import callsite
from ishmem.common.constants import SYMBOLS, Cmp
from ishmem.common.errors import WaitTimeout
from ishmem.runtime.status_board import PeState
from ishmem.runtime.violation_errors import origin

if TYPE_CHECKING:
    from ishmem.runtime.job import Job
    from ishmem.runtime.mixed_calls import MixedCalls

LONG = 0.02
"""Seconds after which a wait is told; the length of a slice in ``ishmem/core/polling.hpp``."""
_REFRESH = 0.5
_VARIABLES = ("ivar", "ivars", "sig_addr", "lock")


@dataclass
class _Wait:
    since: float
    told: float = 0.0
    text: str = ""


class LongWaits:
    """What the threads of this PE wait in."""

    def __init__(self, this: Job, timeout: float | None) -> None:
        """Begin to tell what this PE waits in, on its record of the board."""
        self._this, self._board, self._timeout = this, this.board, timeout
        self._record = this.board[this.pe]
        self._waits: dict[int, _Wait] = {}
        self._closed = threading.Event()
        self._mixed: MixedCalls | None = None
        self._interval = min(timeout / 4, 0.5) if timeout else 0.0
        _core.on_wait(self._tell)

    def begin(self) -> None:
        """Note that ``init`` is over."""
        self._record.since, self._record.state = 0.0, PeState.JOINED
        if self._this.settings.check:
            from ishmem.runtime.mixed_calls import MixedCalls

            self._mixed = MixedCalls(self._this)
        if self._timeout:
            threading.Thread(target=self._beat, name="ishmem-beat", daemon=True).start()

    def close(self) -> None:
        """Tell nothing any more."""
        _core.on_wait(None)
        self._mixed = None
        self._closed.set()
        self._record.beat = 0.0

    def hang(self) -> WaitTimeout | None:
        """Return the error of all waits, when ``ISHMEM_TIMEOUT`` is over for some PE."""
        if not self._board.head.hang:
            return None
        return WaitTimeout(f"PE {self._this.pe}: {self._board.head.text}")

    def look(self, details: Callable[[], str] | None = None) -> None:
        """Note that this thread still waits; ``details`` says in what, else the variables of the caller do.

        Raises:
            WaitTimeout: ``ISHMEM_TIMEOUT`` is over, for this wait or for one of another PE.
        """
        now = time.monotonic()
        thread = threading.get_ident()
        wait = self._waits.get(thread)
        if wait is None:
            wait = self._waits[thread] = _Wait(now - LONG)
        if now < wait.since + 2 * LONG:
            return
        if now >= wait.told + _REFRESH:
            wait.told = now
            frames = callsite.of_frame(sys._getframe(1))
            wait.text = callsite.describe(frames, details() if details else self._details())
            self._show()
            if self._mixed:
                self._mixed.look()
        self._look_for_loss()
        if self._timeout and now > wait.since + self._timeout and not self._board.head.hang:
            self._board.announce(self._timeout)
        if error := self.hang():
            raise error

    def _look_for_loss(self) -> None:
        """Learn from ishmrun that a PE is lost: PE 0, which would say so, may be in a kernel and hear nothing."""
        this, pe = self._this, self._board.first_lost()
        if pe is None or this.links.lost or self._board[pe].state == PeState.LEFT:
            return
        how = self._board.fate(pe, 0.0)
        if how:
            this.links.lost[pe] = how
            this.on_lost(pe, how)

    def over(self) -> None:
        """Note that this thread waits no more."""
        self._waits.pop(threading.get_ident(), None)
        self._show()

    def _tell(self, goes_on: bool) -> None:
        """Be told by the core; it has no frame of its own."""
        if goes_on:
            self.look()
        else:
            self.over()

    def _show(self) -> None:
        """Show the longest wait on the board."""
        waits = sorted((wait for wait in list(self._waits.values()) if wait.text), key=lambda wait: wait.since)
        self._record.since = 0.0
        if waits:
            self._record.text = waits[0].text
            self._record.since = waits[0].since

    def _details(self) -> str:
        """Say what is waited for, by the variables of the functions of ishmem that have called."""
        frame = sys._getframe(3)  # of the function that has called the core
        given = _variables(frame)
        with contextlib.suppress(Exception):  # it is no reason to end a wait
            if "cmp" in given:
                return self._variable(given)
            if "team" in given or frame.f_code.co_name in ("barrier_all", "sync_all"):
                team = int(given.get("team", 0))
                which = f" of team {team}" if team else ""
                return f" (barrier {_core.team_sequence(team)}{which})"
        return ""

    def _variable(self, given: dict[str, Any]) -> str:
        array = next(given[name] for name in _VARIABLES if name in given)
        address = array.__sycl_usm_array_interface__["data"][0]
        wanted = next(given[name] for name in ("cmp_value", "cmp_values", "values") if name in given)
        if "ivar" in given or "sig_addr" in given:
            index = given.get("index", 0)
            seen = _core.g(array, self._this.pe, index)
            what = f"element {index} is {seen}"
        else:
            what = f"{array.size} variables"
        return f", {what}, wanted {_symbol(given['cmp'])} {wanted}{origin(self._this.heap, address)}"

    def _beat(self) -> None:
        while not self._closed.wait(self._interval):
            self._record.beat = time.monotonic()


@contextlib.contextmanager
def patience(this: Job, details: Callable[[], str] | None = None) -> Iterator[Callable[[], None]]:
    """Give the function that a waiting loop calls in each round."""
    waits = this.waits
    try:
        yield lambda: waits.look(details)
    finally:
        waits.over()


def _variables(frame: FrameType | None) -> dict[str, Any]:
    """Return the local variables of the innermost functions of ishmem, those of the inner ones first."""
    found: dict[str, Any] = {}
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] == "ishmem":
        found = {**frame.f_locals, **found}
        frame = frame.f_back
    return found


def _symbol(cmp: int) -> str:
    return SYMBOLS[Cmp(cmp)]
