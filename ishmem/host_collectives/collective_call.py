"""Data of a collective call on the host: this PE's checked arguments, and the arguments published by each member."""

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
    """Part of the interface of a team that collectives use: see ``ishmem.Team``."""

    handle: int

    @property
    def shape(self) -> Shape:
        """The members, by their PE numbers in TEAM_WORLD; raises the errors of ``ishmem.Team.shape``."""

    def my_pe(self) -> int:
        """Return the number of this PE in the team, -1 if it is not a member."""

    def world_pe(self, pe: Any, name: str = "pe") -> int:
        """Return the number in TEAM_WORLD of PE ``pe`` of the team; ``name`` is its argument name in errors."""


@dataclass(frozen=True)
class CheckedCall:
    """Checked arguments of a call, in the form for the core.

    Attributes:
        count: Number of elements of a block; -1 for tiles.
        steps: The strides ``dst`` and ``sst``, in elements.
        lists: Counts and displacements in ``dest``, then those in ``source``, for routines with counts; else empty.
    """

    count: int
    steps: tuple[int, int] = (1, 1)
    lists: tuple[list[int], ...] = ()


class Given(NamedTuple):
    """Unchecked arguments of a call other than arrays and team; ``lists``: counts and displacements, if it has them.

    They are as in the public routines; those that the routine lacks have the defaults here.
    """

    nelems: Any = None
    root: Any = None
    dst: Any = 1
    sst: Any = 1
    lists: tuple[Any, ...] = ()
    dtype: Any = None


class Asked(NamedTuple):
    """Arguments that a member published in the team's last call, with an error text in ``refusal``, if it refused.

    Attributes:
        root: The root; -1: none.
        nelems: Elements of a block.
        algorithm: An `Algorithm`.
        extra: The elements of ``collect``'s block, both strides of ``alltoalls``, or a digest of lists of counts.
        dest, source: Offsets in the heap, or encoded places in static objects, of the arrays.
        numbers: The counts and displacements of ``alltoallv``.
    """

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
        """Return a text of the arguments that must be equal on all PEs, or of the member's error if it refused."""
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
    """Return the arguments that each member published in the last call of the team with handle ``team``, in order."""
    routines, result = list(COLLECTIVES), []
    for fields in _core.asked_collective(team):
        fields["routine"] = routines[fields["routine"]]
        fields["dtype"] = TYPE_NAMES.get(fields["dtype"], "")
        fields["refusal"] = fields["refusal"].decode(errors="replace")
        result.append(Asked(**fields))
    return result
