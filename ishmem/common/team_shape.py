"""The members of a team: the PEs ``start``, ``start + stride``, ..., or, after a loss, any PEs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Shape:
    """The members of a team by their PE numbers in the world: ``size`` PEs from ``start`` on.

    Attributes:
        stride: Distance between members: 1 in a team of one PE, 0 in a team without a stride.
        pes: The members of a team without a stride; else empty.
    """

    start: int
    stride: int
    size: int
    pes: tuple[int, ...] = ()

    @classmethod
    def of(cls, pes: Sequence[int]) -> Shape:
        """Return the shape of the members ``pes``, any PE numbers in team order."""
        stride = pes[1] - pes[0] if len(pes) > 1 else 1
        shape = cls(pes[0], stride, len(pes))
        return shape if stride and tuple(shape) == tuple(pes) else cls(pes[0], 0, len(pes), tuple(pes))

    def __iter__(self) -> Iterator[int]:
        """Yield the world PE numbers of the members, in team order."""
        return iter(self.pes or range(self.start, self.start + self.size * self.stride, self.stride))

    def pe(self, member: int) -> int:
        """Return the world PE number of member number ``member``."""
        return self.pes[member] if self.pes else self.start + member * self.stride

    def index(self, pe: int) -> int:
        """Return the member number of world PE ``pe``, or -1 if it is not a member."""
        if self.pes:
            return self.pes.index(pe) if pe in self.pes else -1
        member, rest = divmod(pe - self.start, self.stride)
        return member if rest == 0 and 0 <= member < self.size else -1
