"""Collective routines whose blocks differ in size: ``alltoallv``, ``gatherv`` and ``scatterv``.

Host calls; the rules are those of ``ishmem.collectives``. The same names inside a kernel are the functions of
``ishmem.kernels.vcollectives``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ishmem.collective import fallback
from ishmem.runtime.stubs import work_group_form
from ishmem.teams import TEAM_WORLD, Team, find

if TYPE_CHECKING:
    from dpnp import ndarray

__all__ = [
    "alltoallv", "alltoallv_work_group", "gatherv", "gatherv_work_group", "scatterv", "scatterv_work_group",
]  # fmt: skip


def alltoallv(
    dest: ndarray,
    source: ndarray,
    dest_counts: Sequence[int],
    source_counts: Sequence[int],
    dest_displs: Sequence[int] | None = None,
    source_displs: Sequence[int] | None = None,
    team: Team = TEAM_WORLD,
) -> None:
    """Exchange blocks of different sizes between all PEs of a team.

    This PE sends ``source_counts[j]`` elements from element ``source_displs[j]`` on to PE ``j``, and receives
    ``dest_counts[j]`` elements from it at element ``dest_displs[j]``; by default blocks are contiguous. In kernels
    the lists are contiguous device arrays of int64 of one dimension, with a number for each PE of the team. Collective
    over the team, blocking. Errors as for ``broadcast``, and ``SymmetryError`` on every PE when the number of
    elements that one sends differs from what the receiver expects.

    Source: MPI_Alltoallv, in the manner of shmem_alltoall.
    """
    lists = (dest_counts, source_counts, dest_displs, source_displs)
    fallback.with_counts("alltoallv", dest, source, find(team), lists)


def gatherv(
    dest: ndarray,
    source: ndarray,
    counts: Sequence[int],
    root: int,
    displs: Sequence[int] | None = None,
    team: Team = TEAM_WORLD,
) -> None:
    """Gather ``counts[j]`` elements from each PE ``j`` at element ``displs[j]`` of ``dest`` on the root.

    By default blocks are contiguous. All PEs pass the same counts and displacements; in kernels these are contiguous
    device arrays of int64 of one dimension, with a number for each PE of the team. Collective over the team, blocking.
    Errors as for ``broadcast``.

    Source: MPI_Gatherv, in the manner of shmem_collect.
    """
    fallback.with_counts("gatherv", dest, source, find(team), (counts, displs), root)


def scatterv(
    dest: ndarray,
    source: ndarray,
    counts: Sequence[int],
    root: int,
    displs: Sequence[int] | None = None,
    team: Team = TEAM_WORLD,
) -> None:
    """Scatter ``counts[j]`` elements to each PE ``j`` from element ``displs[j]`` of ``source`` on the root.

    By default blocks are contiguous. All PEs pass the same counts and displacements; in kernels these are contiguous
    device arrays of int64 of one dimension, with a number for each PE of the team. Collective over the team, blocking.
    Errors as for ``broadcast``.

    Source: MPI_Scatterv, in the manner of shmem_broadcast.
    """
    fallback.with_counts("scatterv", dest, source, find(team), (counts, displs), root)


alltoallv_work_group = work_group_form(alltoallv, "MPI_Alltoallv, in the manner of ishmemx_alltoall_work_group")
gatherv_work_group = work_group_form(gatherv, "MPI_Gatherv, in the manner of ishmemx_collect_work_group")
scatterv_work_group = work_group_form(scatterv, "MPI_Scatterv, in the manner of ishmemx_broadcast_work_group")
