"""The deterministic offset allocator of the symmetric heap.

All PEs make the same calls in the same order, so all get the same offsets without communication.
The bookkeeping stays on the host; nothing is written into the heap.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from dataclasses import dataclass
from typing import Callable

ALIGNMENT = 64


@dataclass(frozen=True)
class Allocation:
    """A live allocation.

    Attributes:
        offset: First byte, from the heap's base.
        nbytes: Bytes requested.
        reserved: Bytes that it occupies, a multiple of 64.
        what: Description for messages.
        where: File and line of the allocating call.
    """

    offset: int
    nbytes: int
    reserved: int
    what: str
    where: str


class Allocator:
    """First fit over a sorted list of free ranges; freed ranges merge with free neighbours.

    Attributes:
        size: Bytes of the range, from ``start`` to ``end``.
        live: The live allocations by offset.
        quarantine: Bytes of the newest freed ranges that are withheld from reuse; fewer when an allocation does not fit
            otherwise.
        ended: Function called with each freed allocation whose range becomes available for reuse.
    """

    def __init__(self, start: int, end: int) -> None:
        self.size = end - start
        self.live: dict[int, Allocation] = {}
        self.quarantine = 0
        self._free = [(start, end)] if end > start else []
        self.ended: Callable[[Allocation], None] = lambda allocation: None
        self._waiting: deque[Allocation] = deque()

    @property
    def free_bytes(self) -> int:
        """Bytes of all free ranges, including those withheld from reuse."""
        return sum(end - start for start, end in self._free) + sum(each.reserved for each in self._waiting)

    @property
    def used_bytes(self) -> int:
        """Bytes that live allocations occupy."""
        return self.size - self.free_bytes

    @property
    def largest(self) -> int:
        """Bytes of the largest free range that is not withheld; 0 if there is none."""
        return max((end - start for start, end in self._free), default=0)

    def allocate(self, nbytes: int, alignment: int, what: str = "", where: str = "") -> Allocation | None:
        """Allocate bytes at a multiple of 64 and of ``alignment``, a power of 2; return None if no range has enough.

        ``what`` and ``where`` are as in `Allocation`.
        """
        alignment = max(alignment, ALIGNMENT)
        reserved = -(-max(nbytes, 1) // ALIGNMENT) * ALIGNMENT
        offset = self._take(reserved, alignment)
        while offset is None and self._waiting:
            self._end_wait()
            offset = self._take(reserved, alignment)
        if offset is None:
            return None
        self.live[offset] = Allocation(offset, nbytes, reserved, what, where)
        return self.live[offset]

    def _take(self, reserved: int, alignment: int) -> int | None:
        """Remove ``reserved`` aligned bytes from the free ranges; return their offset, None if no range has enough."""
        for index, (start, end) in enumerate(self._free):
            offset = -(-start // alignment) * alignment
            if offset + reserved <= end:
                pieces = [(start, offset), (offset + reserved, end)]
                self._free[index : index + 1] = [piece for piece in pieces if piece[0] < piece[1]]
                return offset
        return None

    def release(self, offset: int) -> None:
        """Free the live allocation at ``offset``, and make the oldest freed ranges beyond ``quarantine`` available."""
        self._waiting.append(self.live.pop(offset))
        while sum(each.reserved for each in self._waiting) > self.quarantine:
            self._end_wait()

    def end_waits(self) -> None:
        """Make all withheld ranges available for reuse."""
        while self._waiting:
            self._end_wait()

    def _end_wait(self) -> None:
        allocation = self._waiting.popleft()
        self.ended(allocation)
        self._join((allocation.offset, allocation.offset + allocation.reserved))

    def _join(self, piece: tuple[int, int]) -> None:
        """Add a range, its start and end, to the free ones, and merge it with its neighbours."""
        index = bisect_left(self._free, piece)
        if index < len(self._free) and self._free[index][0] == piece[1]:
            piece = (piece[0], self._free.pop(index)[1])
        if index > 0 and self._free[index - 1][1] == piece[0]:
            piece = (self._free.pop(index - 1)[0], piece[1])
        insort(self._free, piece)
