"""The deterministic offset allocator of the symmetric heap.

Every PE makes the same calls in the same order, so every PE gets the same offsets without asking.
The bookkeeping stays on the host; nothing is ever written into the heap itself.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from dataclasses import dataclass

ALIGNMENT = 64


@dataclass(frozen=True)
class Allocation:
    """A live piece of the heap.

    Attributes:
        offset: First byte, from the heap's base.
        nbytes: Bytes that the user asked for.
        reserved: Bytes that are taken.
        what: How the user would name it, for messages.
        where: File and line of the call that allocated it.
    """

    offset: int
    nbytes: int
    reserved: int
    what: str
    where: str


class Allocator:
    """First-fit over a sorted list of free pieces, which are joined again when freed."""

    def __init__(self, start: int, end: int) -> None:
        self.size = end - start
        self.live: dict[int, Allocation] = {}
        self._free = [(start, end)] if end > start else []

    @property
    def free_bytes(self) -> int:
        """Bytes not taken, in all pieces together."""
        return sum(end - start for start, end in self._free)

    @property
    def used_bytes(self) -> int:
        """Bytes taken by live allocations."""
        return self.size - self.free_bytes

    @property
    def largest(self) -> int:
        """Bytes of the largest free piece."""
        return max((end - start for start, end in self._free), default=0)

    def allocate(self, nbytes: int, alignment: int, what: str = "", where: str = "") -> Allocation | None:
        """Take ``nbytes`` at a multiple of ``alignment`` and of 64; ``None`` when no free piece is large enough."""
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
        """Give the live allocation at ``offset`` back and join it with its free neighbours."""
        allocation = self.live.pop(offset)
        piece = (offset, offset + allocation.reserved)
        index = bisect_left(self._free, piece)
        if index < len(self._free) and self._free[index][0] == piece[1]:
            piece = (piece[0], self._free.pop(index)[1])
        if index > 0 and self._free[index - 1][1] == piece[0]:
            piece = (self._free.pop(index - 1)[0], piece[1])
        insort(self._free, piece)
