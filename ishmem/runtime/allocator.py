"""The deterministic offset allocator of the symmetric heap.

All PEs make the same calls in the same order, so all get the same offsets without communication.
The bookkeeping stays on the host; nothing is written into the heap.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from dataclasses import dataclass

ALIGNMENT = 64


@dataclass(frozen=True)
class Allocation:
    """A live allocation.

    Attributes:
        offset: First byte, from the heap's base.
        nbytes: Bytes that the user asked for.
        reserved: Bytes that it occupies.
        what: Description for messages.
        where: File and line of the allocating call.
    """

    offset: int
    nbytes: int
    reserved: int
    what: str
    where: str


class Allocator:
    """First fit over a sorted list of free ranges; freed ranges merge with free neighbours."""

    def __init__(self, start: int, end: int) -> None:
        self.size = end - start
        self.live: dict[int, Allocation] = {}
        self._free = [(start, end)] if end > start else []

    @property
    def free_bytes(self) -> int:
        """Free bytes, over all ranges."""
        return sum(end - start for start, end in self._free)

    @property
    def used_bytes(self) -> int:
        """Bytes that live allocations occupy."""
        return self.size - self.free_bytes

    @property
    def largest(self) -> int:
        """Bytes of the largest free range."""
        return max((end - start for start, end in self._free), default=0)

    def allocate(self, nbytes: int, alignment: int, what: str = "", where: str = "") -> Allocation | None:
        """Allocate ``nbytes`` at a multiple of ``alignment`` and of 64; ``None`` when no free range is large enough."""
        alignment = max(alignment, ALIGNMENT)
        reserved = -(-max(nbytes, 1) // ALIGNMENT) * ALIGNMENT
        for index, (start, end) in enumerate(self._free):
            offset = -(-start // alignment) * alignment
            if offset + reserved <= end:
                pieces = [(start, offset), (offset + reserved, end)]
                self._free[index : index + 1] = [piece for piece in pieces if piece[0] < piece[1]]
                self.live[offset] = Allocation(offset, nbytes, reserved, what, where)
                return self.live[offset]
        return None

    def release(self, offset: int) -> None:
        """Free the live allocation at ``offset``."""
        allocation = self.live.pop(offset)
        piece = (offset, offset + allocation.reserved)
        index = bisect_left(self._free, piece)
        if index < len(self._free) and self._free[index][0] == piece[1]:
            piece = (piece[0], self._free.pop(index)[1])
        if index > 0 and self._free[index - 1][1] == piece[0]:
            piece = (self._free.pop(index - 1)[0], piece[1])
        insort(self._free, piece)
