"""Which PEs are in a team: every ``stride``-th one from ``start`` on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Shape:
    """The members of a team, by their numbers in the world; a stride of a single PE is 1."""

    start: int
    stride: int
    size: int

    def __iter__(self) -> Iterator[int]:
        """Give the members in the order of their numbers in the team."""
        return iter(range(self.start, self.start + self.size * self.stride, self.stride))

    def pe(self, member: int) -> int:
        """Return the number in the world of a member."""
        return self.start + member * self.stride

    def index(self, pe: int) -> int:
        """Return the number in the team of a PE of the world, or -1."""
        member, rest = divmod(pe - self.start, self.stride)
        return member if rest == 0 and 0 <= member < self.size else -1
