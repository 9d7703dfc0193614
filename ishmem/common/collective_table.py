"""The table of collective routines: the arrangement of their data, their parameters, and their computations.

From this table come the enumeration ``Routine`` of the core with its traits (``ishmem/core/routine_table.py``), the
checks of the host, the algorithms that a routine may have, the flows of the kernels, and the lists of routines.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ishmem.common.type_tables import REDUCTIONS, RMA_TYPES


class Root(Enum):
    """The role of the root of a routine."""

    NONE = "there is no root"
    SENDS = "only the root sends"
    RECEIVES = "only the root receives"


class InPlace(Enum):
    """The overlap of ``dest`` and ``source`` that a routine allows."""

    NEVER = "none"
    SAME = "they may be the same array"
    OWN_BLOCK = "the block of this PE may be in its place in the larger array"


class Combines(Enum):
    """The computation on the data of the PEs."""

    NOTHING = "data are copied"
    REDUCTION = "all PEs receive the combination of all blocks"
    SCAN = "a PE receives the sum of the blocks before its own, or up to it"


@dataclass(frozen=True)
class Collective:
    """A collective routine.

    Attributes:
        name: Python name.
        types: Names of the supported dtypes.
        root: The role of the root.
        dest_blocks: Whether ``dest`` holds a block of each PE.
        source_blocks: Whether ``source`` holds a block for each PE.
        strided: Whether it has the parameters ``dst`` and ``sst``, strides.
        counted: Whether it has lists of counts and displacements as parameters.
        own_counts: Whether each PE passes counts of its own.
        in_place: The allowed overlap of ``dest`` and ``source``.
        combines: The computation.
        standard: Whether OpenSHMEM has it.
    """

    name: str
    types: tuple[str, ...] = RMA_TYPES
    root: Root = Root.NONE
    dest_blocks: bool = False
    source_blocks: bool = False
    strided: bool = False
    counted: bool = False
    own_counts: bool = False
    in_place: InPlace = InPlace.NEVER
    combines: Combines = Combines.NOTHING
    standard: bool = True

    @property
    def has_root(self) -> bool:
        """Whether the routine has a root, the parameter ``root``."""
        return self.root is not Root.NONE

    @property
    def is_plain(self) -> bool:
        """Whether all blocks are contiguous and follow each other."""
        return not self.strided and not self.counted

    @property
    def gives_all_the_same(self) -> bool:
        """Whether all PEs receive the same data, from contiguous blocks."""
        return (
            self.is_plain
            and self.combines is not Combines.SCAN
            and not (self.source_blocks or self.root is Root.RECEIVES)
        )

    @property
    def tiles(self) -> bool:
        """Whether the routine supports 2-D tiles."""
        return self.name in ("broadcast", "fcollect") or self.combines is Combines.REDUCTION

    def blocks(self, n_pes: int) -> tuple[int, int]:
        """Return the numbers of blocks in ``dest`` and in ``source``, for ``n_pes`` PEs."""
        return n_pes if self.dest_blocks else 1, n_pes if self.source_blocks else 1


def _reduction(name: str, types: tuple[str, ...]) -> Collective:
    combines = Combines.SCAN if name.endswith("scan") else Combines.REDUCTION
    return Collective(name, types, in_place=InPlace.SAME, combines=combines)


COLLECTIVES = {
    routine.name: routine
    for routine in (
        Collective("alltoall", dest_blocks=True, source_blocks=True),
        Collective("alltoalls", dest_blocks=True, source_blocks=True, strided=True),
        Collective("broadcast", root=Root.SENDS, in_place=InPlace.SAME),
        Collective("collect", dest_blocks=True, own_counts=True),
        Collective("fcollect", dest_blocks=True, in_place=InPlace.OWN_BLOCK),
        Collective("gather", root=Root.RECEIVES, dest_blocks=True, in_place=InPlace.OWN_BLOCK, standard=False),
        Collective("scatter", root=Root.SENDS, source_blocks=True, in_place=InPlace.OWN_BLOCK, standard=False),
        Collective(
            "alltoallv", dest_blocks=True, source_blocks=True, counted=True, own_counts=True, standard=False
        ),
        Collective("gatherv", root=Root.RECEIVES, dest_blocks=True, counted=True, standard=False),
        Collective("scatterv", root=Root.SENDS, source_blocks=True, counted=True, standard=False),
        *(_reduction(name, types) for name, types in REDUCTIONS.items()),
    )
}
"""The routines by name. Their order numbers them in the core."""
