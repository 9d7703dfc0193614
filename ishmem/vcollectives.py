"""Collective routines whose blocks differ in size: ``alltoallv``, ``gatherv`` and ``scatterv``.

The rules are those of `ishmem.collectives`. The same names work on the host and in kernels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ishmem.common.routines import exported
from ishmem.host_collectives import checks
from ishmem.runtime.docstrings import arguments_of
from ishmem.runtime.stubs import work_group_forms
from ishmem.teams import TEAM_WORLD, Team, find

if TYPE_CHECKING:
    from dpnp import ndarray

__all__ = exported(__name__)


def alltoallv(
    dest: ndarray,
    source: ndarray,
    dest_counts: Sequence[int],
    source_counts: Sequence[int],
    dest_displs: Sequence[int] | None = None,
    source_displs: Sequence[int] | None = None,
    team: Team = TEAM_WORLD,
) -> None:
    """Exchange blocks of different sizes between all members of a team.

    This PE sends ``source_counts[j]`` elements to member ``j`` and receives ``dest_counts[j]`` elements from it.
    Collective over the team, blocking. Errors as for ``broadcast``; ``SymmetryError`` on every PE when a count of a
    sender differs from that of the receiver; ``ValueError`` for negative numbers and lists of another length; and
    ``IshmemError`` for a team of more than 256 PEs in a job on several nodes with more than 64 PEs.

    Args:
        dest: Symmetric contiguous array, of any dtype of dpnp; it must not overlap ``source``.
        source: Symmetric contiguous array of the dtype of ``dest``.
        dest_counts: Number of elements to receive from each PE. A sequence of integers, one for each PE of the team; in
            kernels a contiguous device array of int64.
        source_counts: Number of elements to send to each PE; as ``dest_counts``.
        dest_displs: Number of the first element in ``dest`` of the block from each PE; by default blocks are adjacent.
        source_displs: Number of the first element in ``source`` of the block for each PE; by default they are adjacent.
        team: A team; by default all PEs.

    Example:
        >>> source, dest = ishmem.full(n * n, me, dtype="i4"), ishmem.zeros(n * n, dtype="i4")
        >>> ishmem.alltoallv(dest, source, [pe + 1 for pe in range(n)], [me + 1] * n)  # me + 1 elements to each
        >>> int(dest[n * (n + 1) // 2 - 1]) == n - 1
        True

    Source: MPI_Alltoallv, in the manner of shmem_alltoall.
    """
    lists = (dest_counts, source_counts, dest_displs, source_displs)
    checks.with_counts("alltoallv", dest, source, find(team), lists)


def gatherv(
    dest: ndarray,
    source: ndarray,
    counts: Sequence[int],
    root: int,
    displs: Sequence[int] | None = None,
    team: Team = TEAM_WORLD,
) -> None:
    """Gather ``counts[j]`` elements from each member ``j`` of a team at element ``displs[j]`` of ``dest`` of the root.

    ``dest`` has room for all blocks on every PE. Collective over the team, blocking. Errors as for ``broadcast``, and
    ``ValueError`` for negative numbers and lists of another length.

    Args:
        dest: Symmetric contiguous array, of any dtype of dpnp; it must not overlap ``source``.
        source: Symmetric contiguous array of the dtype of ``dest``.
        counts: Number of elements of each PE, the same list on all PEs. A sequence of integers, one for each PE of the
            team; in kernels a contiguous device array of int64.
        root: Number in the team of the PE that receives the data.
        displs: Number of the first element of the block of each PE in the array with all blocks, the same list on all
            PEs; by default blocks are adjacent.
        team: A team; by default all PEs.

    Example:
        >>> mine, all_of_them = ishmem.full(n, me, dtype="i4"), ishmem.zeros(n * n, dtype="i4")
        >>> ishmem.gatherv(all_of_them, mine, [pe + 1 for pe in range(n)], 0)

    Source: MPI_Gatherv, in the manner of shmem_collect.
    """
    checks.with_counts("gatherv", dest, source, find(team), (counts, displs), root)


@arguments_of(gatherv, root="Number in the team of the PE that has the data.")
def scatterv(
    dest: ndarray,
    source: ndarray,
    counts: Sequence[int],
    root: int,
    displs: Sequence[int] | None = None,
    team: Team = TEAM_WORLD,
) -> None:
    """Send ``counts[j]`` elements from element ``displs[j]`` on of ``source`` of the root to each member ``j``.

    ``source`` has room for all blocks on every PE. Collective over the team, blocking. Errors as for ``gatherv``.

    Example:
        >>> blocks, mine = ishmem.arange(n * n), ishmem.zeros(n, dtype="i8")
        >>> ishmem.scatterv(mine, blocks, [pe + 1 for pe in range(n)], 0)
        >>> int(mine[0]) == me * (me + 1) // 2
        True

    Source: MPI_Scatterv, in the manner of shmem_broadcast.
    """
    checks.with_counts("scatterv", dest, source, find(team), (counts, displs), root)


globals().update(work_group_forms(__name__))
