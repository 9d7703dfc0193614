"""Detects PEs that wait for each other in different collective calls of the host, or of kernels: a deadlock.

A barrier or collective call ends only after all members of its team have begun it. So a PE that has begun more calls of
a team than another is in such a call until that other PE begins it, too. Two PEs that wait for each other in this way
wait forever.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from ishmem import _core
from ishmem.common import kernel_wait
from ishmem.common.errors import SAME_CALLS, SymmetryError
from ishmem.common.kernel_wait import KernelWait
from ishmem.common.layout import TWIN, Begun

if TYPE_CHECKING:
    from ishmem.runtime.job import Job


class CrossedCalls:
    """The check for crossed calls of the host, which a PE repeats during a long wait."""

    def __init__(self, this: Job) -> None:
        self._this = this

    def check(self) -> None:
        """Publish the calls that this PE has begun, and compare them once with those of the other PEs of its teams.

        Raises:
            SymmetryError: This PE and another wait for each other.
        """
        this = self._this
        _core.publish_begun(_is_alone())
        mine = self._read(this.pe)
        for pe in self._partners():
            theirs = self._read(pe)
            if theirs == self._read(pe) and not theirs.version % 2 and self._wait_for_each_other(mine, theirs, pe):
                raise SymmetryError(self._words(pe))

    def _partners(self) -> list[int]:
        """Return the other members of this PE's teams, without those that are lost."""
        this = self._this
        found = {pe for shape in this.teams.values() if shape.index(this.pe) >= 0 for pe in shape}
        return sorted(found - {this.pe} - set(this.gone))

    def _read(self, pe: int) -> Begun:
        return Begun.unpack(_core.read(pe, self._this.heap.layout.begun, Begun.nbytes()))

    def _wait_for_each_other(self, mine: Begun, theirs: Begun, pe: int) -> bool:
        """Return whether each PE has begun a call that the other has not.

        Calls of different teams count only if each PE has a single thread, as different threads could be in them. The
        calls of twins are made in order by one thread of ishmem.
        """
        teams = self._this.whole_teams.items()
        shared = [handle for handle, shape in teams if min(map(shape.index, (pe, self._this.pe))) >= 0]
        behind = {handle for handle in shared if _is_ahead(mine.teams[handle], theirs.teams[handle])}
        ahead = {handle for handle in shared if _is_ahead(theirs.teams[handle], mine.teams[handle])}
        if behind & ahead:
            return True
        kinds = {handle < TWIN for handle in behind} & {handle < TWIN for handle in ahead}
        return bool(kinds and mine.alone and theirs.alone)

    def _words(self, pe: int) -> str:
        places = {each: self._place(each) for each in sorted((self._this.pe, pe))}
        return (
            f"the PEs wait for each other; {'; '.join(f'PE {each} in {place}' for each, place in places.items())}; "
            f"{SAME_CALLS}"
        )

    def _place(self, pe: int) -> str:
        """Describe the call that a PE is in, or has left by this error; in general words for a PE of another node."""
        pes = self._this.node.pes
        return self._this.board[pes.index(pe)].text if pe in pes else "another collective call"


class CrossedKernels:
    """Finds kernels that wait for members of a team forever.

    The barriers and the other collective calls of a team in kernels share one sequence of numbers, but wait at
    different places of the heap. So if one PE waits in a barrier and another in a collective call of the same number,
    both wait forever.
    """

    def __init__(self, this: Job) -> None:
        self._this = this

    def problem(self, record: bytes) -> str:
        """Return why a wait of this PE's kernels cannot end, given its record in the heap; empty where it may end."""
        this, wait = self._this, kernel_wait.numbers_of(record)
        if not wait.is_for_member or wait.pe not in this.node.pes:
            return ""
        records = {this.pe: record, wait.pe: self._read(wait.pe)}
        if self._read(wait.pe) != records[wait.pe] or not self._differ(*map(kernel_wait.numbers_of, records.values())):
            return ""
        places = "; ".join(f"PE {pe} in {kernel_wait.describe_call(records[pe])}" for pe in sorted(records))
        return f"the kernels of the PEs wait for each other; {places}; {SAME_CALLS}"

    def _read(self, pe: int) -> bytes:
        return _core.read(pe, self._this.heap.layout.kernel_wait, kernel_wait.NBYTES)

    def _differ(self, mine: KernelWait, theirs: KernelWait) -> bool:
        """Return whether two waits are in different calls that have the same number in the same team."""
        if not theirs.is_for_member or theirs.wanted != mine.wanted:
            return False
        found = [self._this.heap.layout.device_call_at(wait.seen) for wait in (mine, theirs)]
        (team, is_barrier), (other_team, is_other_barrier) = found
        return team == other_team >= 0 and is_barrier != is_other_barrier


def _is_ahead(first: int, second: int) -> bool:
    """Compare packed counts of begun barriers and other calls; return whether either is higher in ``first``."""
    return any(0 < ((first >> shift) - (second >> shift)) % (1 << 32) < 1 << 31 for shift in (0, 32))


def _is_alone() -> bool:
    """Return whether the process has no threads other than the main one and ishmem's own."""
    main = threading.main_thread()
    return all(thread is main or thread.name.startswith("ishmem") for thread in threading.enumerate())
