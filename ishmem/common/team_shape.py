"""The members of a team: the PEs ``start``, ``start + stride``, ..."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Shape:
    """The members of a team by their PE numbers in the world; the stride of a team of one PE is 1."""

    start: int
    stride: int
    size: int

    def __iter__(self) -> Iterator[int]:
        """Yield the world PE numbers of the members, in team order."""
        return iter(range(self.start, self.start + self.size * self.stride, self.stride))

    def pe(self, member: int) -> int:
        """Return the world PE number of a member."""
        return self.start + member * self.stride

    def index(self, pe: int) -> int:
        """Return the team PE number of a world PE, or -1 for a PE that is not a member."""
        member, rest = divmod(pe - self.start, self.stride)
        return member if rest == 0 and 0 <= member < self.size else -1
