"""Losses of PEs in a job that continues after them: ``init(on_loss="continue")``, ``ishmem run --survive``.

A lost PE stays lost: calls that name it raise, and so do collective calls of teams that contain it. Waits that name no
PE, on the host and in kernels, end from a loss until `ishmem.shrink` has counted it; this module sets the state that
the core and kernels read. In other jobs a loss ends all waits, and the job.
"""

from __future__ import annotations

import ctypes
import hashlib
import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Callable

from ishmem import _core
from ishmem.common import kernel_wait
from ishmem.common.errors import IshmemError, StateError
from ishmem.common.status_board import Head
from ishmem.runtime.proxy import raise_problem as raise_proxy_problem
from ishmem.runtime.violation_errors import take_loss

if TYPE_CHECKING:
    import dpctl

    from ishmem.ipc.wire import Census

HOW = 'start the job by ishmem run --survive, or call init(on_loss="continue")'


class Losses:
    """The losses of PEs that have been reported to this PE.

    Attributes:
        goes_on: Whether the job continues after a loss.
        unacknowledged: The lost PEs that `ishmem.shrink` has not counted yet.
        heaps_differ: Whether, because of a loss, only some PEs have completed an allocation or a call of ``free``.
    """

    def __init__(self, this: Any) -> None:
        """Create a record without losses; the job ``this`` ends with the first loss, unless `go_on` is called."""
        self._this = this
        self.goes_on = self.heaps_differ = False
        self.unacknowledged: set[int] = set()
        self._changing = threading.Lock()
        self._kernels: list[dpctl.SyclEvent] = []

    @property
    def hub(self) -> str | None:
        """The name of the hub of ``ishmem run`` in a job on several nodes that continues after losses; else None."""
        settings = self._this.settings
        return settings.hub if settings.on_loss == "continue" else None

    def go_on(self) -> None:
        """Make the job continue after losses, from the end of ``init`` on; collective.

        Raises:
            IshmemError: The way in which the job was started does not allow it.
        """
        this = self._this
        if self.hub:
            this.links.gather_all(b"", what="init")  # from here on ishmem run continues the job after losses
        elif this.network or this.is_watched or not (this.board.supervised or this.n_pes == 1):
            raise IshmemError(
                'on_loss="continue" needs a job of ishmem run -n N, or of ishmem run --survive --hosts, which count '
                "the PEs that are left; other jobs over MPI, of uid= and of process_group= end with the first loss"
            )
        head = this.board.head
        self.goes_on, head.goes_on = True, 1
        counted, shown = ctypes.addressof(head) + Head.losses.offset, this.heap.layout.kernel_wait + kernel_wait.LOST
        _core.go_on(counted, this.links.stream(), shown, kernel_wait.POLLS - 1)
        for pe in list(this.links.lost):
            self.add(pe)

    def add(self, pe: int) -> None:
        """Record the loss of a PE, and end the waits that name no PE."""
        with self._changing:
            self.unacknowledged.add(pe)
            _core.set_lost(pe)
            _core.heard_of_loss(pe, True)

    def await_reported(self) -> None:
        """Wait until `add` has recorded every loss that kernels have already detected."""
        while _core.has_unheard_loss():
            threading.Event().wait(0.001)

    def end_waits(self) -> bool:
        """Return whether waits that name no PE end now."""
        return bool(self.unacknowledged or (self._this.links.lost and not self.goes_on))

    def acknowledge(self, census: Census, members: Iterable[int]) -> None:
        """Record the survivors of a team, in ``census``; waits no longer end because of its other ``members``."""
        take_loss(self._this.heap)
        if self._this.proxy:
            raise_proxy_problem()
        with self._changing:
            self.unacknowledged -= set(members) - set(census.pes)
            if not self.unacknowledged:
                _core.forget_lost()
            _core.heard_of_loss(-1, bool(self.unacknowledged))
        self.heaps_differ = self.heaps_differ or not census.heap

    def close(self) -> None:
        """Stop the thread that shows losses to kernels."""
        if self.goes_on:
            _core.tell_no_more()
            _core.forget_lost()

    def pe_for(self, members: Iterable[int]) -> int:
        """Return a lost PE for an error, in a job that continues preferably one of ``members``; -1 if none is lost."""
        lost, gone = self._this.links.lost, self._this.gone
        ours = [pe for among in (lost, gone) for pe in members if pe in among] + sorted(self.unacknowledged)
        return next(iter([*(ours if self.goes_on else ()), *lost, *gone]), -1)

    def refuse(self, members: Iterable[int]) -> None:
        """Raise ``PeerLost`` if one of ``members`` is lost, in a job that continues after losses."""
        if self.goes_on and not self._this.links.lost.keys().isdisjoint(members):
            self._this.raise_lost("a call", members)

    def refuse_allocations(self) -> None:
        """Raise ``StateError`` if a loss has left the PEs with different allocations."""
        if self.heaps_differ:
            raise StateError(
                "a PE was lost during an allocation or ishmem.free, which some of the PEs that are left have "
                "completed: the symmetric heap is usable, but nothing can be allocated or freed any more"
            )

    def heap_digest(self) -> int:
        """Return a nonzero digest of the offsets and sizes of all allocations."""
        live = sorted((each.offset, each.reserved) for each in self._this.heap.allocator.live.values())
        return int.from_bytes(hashlib.blake2b(repr(live).encode(), digest_size=8).digest(), "little") | 1

    def submitted(self, event: Any) -> None:
        """Record a kernel that has been submitted, for `await_kernels`."""
        self._kernels = [*(each for each in self._kernels if not _is_complete(each)), event]

    def await_kernels(self, report_wait: Callable[[], None]) -> None:
        """Wait for the end of this PE's kernels, whose waits have ended; ``report_wait`` is called in each round."""
        while self._kernels:
            self._kernels = [each for each in self._kernels if not _is_complete(each)]
            report_wait()
            threading.Event().wait(0.001)


def _is_complete(event: dpctl.SyclEvent) -> bool:
    return bool(event.execution_status.name == "complete")
