"""A collective call of the host: this PE's checked arguments, and the arguments that each member published."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from ishmem import _core
from ishmem.common.collective_table import COLLECTIVES
from ishmem.common.shared_numbers import Algorithm
from ishmem.common.team_shape import Shape
from ishmem.runtime.foreign import TYPE_NUMBERS

ROUTINES = {routine: number for number, routine in enumerate(COLLECTIVES)}
TYPE_NAMES = {number: name for name, number in TYPE_NUMBERS.items()}


class Members(Protocol):
    """What a collective needs to know of its team: see ``ishmem.Team``."""

    handle: int

    @property
    def shape(self) -> Shape:
        """The members, by their numbers in the world."""

    def my_pe(self) -> int:
        """Return the number of this PE in the team."""

    def world_pe(self, pe: Any, name: str = "pe") -> int:
        """Return the number in the world of a PE of the team."""


@dataclass(frozen=True)
class CheckedCall:
    """What the core takes of a call, checked.

    Attributes:
        count: Elements of a block; -1 of tiles.
        steps: The strides ``dst`` and ``sst``.
        lists: Counts and displacements of the blocks of ``dest``, then of ``source``, for routines that take them.
    """

    count: int
    steps: tuple[int, int] = (1, 1)
    lists: tuple[list[int], ...] = ()


class Given(NamedTuple):
    """What a call passes beside its arrays and its team; ``lists`` are those of a routine with counts."""

    nelems: Any = None
    root: Any = None
    dst: Any = 1
    sst: Any = 1
    lists: tuple[Any, ...] = ()
    dtype: Any = None


class Asked(NamedTuple):
    """The arguments that a member published in the team's last call."""

    routine: str
    dtype: str
    root: int
    nelems: int
    algorithm: int
    extra: int
    dest: int
    source: int
    refusal: str
    numbers: bytes

    def __str__(self) -> str:
        """Describe the arguments that must be equal on all PEs, or why the member refused its arguments."""
        if self.algorithm == Algorithm.REFUSAL:
            return f"{self.routine} {self.refusal}"
        traits = COLLECTIVES[self.routine]
        sizes = "" if traits.counted or traits.own_counts else f" of {self.nelems} elements"
        root = f", root {self.root}" if self.root >= 0 else ""
        steps = f", dst={self.extra >> 32}, sst={self.extra & 0xFFFFFFFF}" if traits.strided else ""
        same_lists = traits.counted and not traits.own_counts
        lists = f", counts and displacements {self.extra:#x}" if same_lists else ""
        return f"{self.routine}{sizes} of dtype {self.dtype}{root}{steps}{lists}"


def asked(team: int) -> list[Asked]:
    """Return the arguments that each member published in the team's last call."""
    routines, result = list(COLLECTIVES), []
    for fields in _core.asked_collective(team):
        fields["routine"] = routines[fields["routine"]]
        fields["dtype"] = TYPE_NAMES.get(fields["dtype"], "")
        fields["refusal"] = fields["refusal"].decode(errors="replace")
        result.append(Asked(**fields))
    return result
