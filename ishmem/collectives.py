"""Collective routines that synchronise or move data; reductions and scans are in ``ishmem.reductions``.

Host calls. The same names inside a kernel are the functions of ``ishmem.kernels.collectives``; a call that some PEs
make on the host and others in a kernel never completes; with ``ISHMEM_CHECK`` the host raises an error.

All PEs of the team call, in the same order. Arrays are contiguous dpnp arrays on the symmetric heap, or ``static``
objects, the same on every PE; blocks are in the order of the team's PE numbers, and ``root`` is such a number. A PE
may reuse the arrays as soon as the call returns: other PEs access them only between its entry and its return.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ishmem import _core
from ishmem.collective import calls, fallback
from ishmem.runtime import job
from ishmem.runtime.stubs import work_group_form
from ishmem.teams import TEAM_WORLD, Team, find

if TYPE_CHECKING:
    from dpnp import ndarray

__all__ = [
    "alltoall", "alltoall_work_group", "alltoalls", "alltoalls_work_group",
    "barrier_all", "barrier_all_work_group", "broadcast", "broadcast_work_group", "collect", "collect_work_group",
    "fcollect", "fcollect_work_group", "gather", "gather_work_group", "scatter",
    "scatter_work_group", "sync_all", "sync_all_work_group", "team_sync",
    "team_sync_work_group",
]  # fmt: skip

_BROADCAST = calls.ROUTINES["broadcast"]
_FCOLLECT = calls.ROUTINES["fcollect"]
_COLLECT = calls.ROUTINES["collect"]
_ALLTOALL = calls.ROUTINES["alltoall"]
_GATHER = calls.ROUTINES["gather"]
_SCATTER = calls.ROUTINES["scatter"]


def barrier_all() -> None:
    """Complete this PE's operations, then wait until every PE has called.

    Collective, blocking.

    Raises:
        StateError: Not between ``init`` and ``finalize``.
        PeerLost: A PE died or finalised and will not call.
        LevelZeroError, IndexError, SymmetryError: As for ``quiet``, once every PE has called.

    Source: OpenSHMEM 1.5, 9.9.1 (shmem_barrier_all); ishmem_barrier_all.
    """
    outcome = _core.barrier_all()
    if outcome != _core.SATISFIED:
        _barrier_all(outcome)


def sync_all() -> None:
    """Wait until every PE has called, without completing any operation.

    Collective, blocking. Errors as for ``barrier_all``.

    Source: OpenSHMEM 1.5, 9.9.4 (shmem_sync_all); ishmem_sync_all.
    """
    if _core.barrier(job.WORLD, -1.0) != _core.SATISFIED:
        job.current().raise_lost("sync_all")


def team_sync(team: Team) -> None:
    """Wait until every PE of a team has called, without completing any operation: see ``Team.sync``.

    Collective over the team, blocking. Inside a kernel ``team`` is a handle, and the
    result is 0, or -1 when there is no such team.

    Source: OpenSHMEM 1.5, 9.9.3 (shmem_team_sync); ishmem_team_sync.
    """
    find(team).sync()


def broadcast(
    dest: ndarray, source: ndarray, root: int, team: Team = TEAM_WORLD, nelems: int | None = None
) -> None:
    """Copy ``source`` of PE ``root`` of the team to ``dest`` of every PE of it, the root's own too.

    Both have one dtype and size; ``nelems`` moves that many elements from the start. ``dest`` and ``source`` may be
    the same array, but may not overlap in part. Collective over the team, blocking.

    Raises:
        SymmetryError: An array is not symmetric; or, on every PE, the PEs call different routines or with different
            sizes, dtypes or roots, or the arguments of one PE are invalid.
        IndexError: The team has no PE ``root``.
        TypeError: Not arrays, different dtypes, or a dtype that the routine does not take.
        ValueError: Sizes that do not match, arrays that overlap or are not contiguous, or this PE is not in the team.
        StateError: The team was destroyed, or not between ``init`` and ``finalize``.
        PeerLost: A PE died or finalised and will not call.

    Source: OpenSHMEM 1.5, 9.9.7 (shmem_broadcast); ishmem_broadcast.
    """
    if verdict := _core.collective(_BROADCAST, dest, source, root, nelems, team):
        fallback.go_on(verdict, "broadcast", dest, source, find(team), nelems=nelems, root=root)


def fcollect(dest: ndarray, source: ndarray, team: Team = TEAM_WORLD, nelems: int | None = None) -> None:
    """Concatenate the ``source`` of every PE of a team in ``dest`` of every PE.

    ``nelems`` is what each PE contributes, by default all of ``source``, and the same on every PE; ``dest`` has that
    many elements for each PE. ``source`` may be this PE's own part of ``dest``. Collective over the team, blocking.
    Errors as for ``broadcast``.

    Source: OpenSHMEM 1.5, 9.9.8 (shmem_fcollect); ishmem_fcollect.
    """
    if verdict := _core.collective(_FCOLLECT, dest, source, None, nelems, team):
        fallback.go_on(verdict, "fcollect", dest, source, find(team), nelems=nelems)


def collect(dest: ndarray, source: ndarray, team: Team = TEAM_WORLD, nelems: int | None = None) -> None:
    """Concatenate like ``fcollect``, with a number of elements that may differ between PEs.

    ``nelems`` is what this PE contributes, by default all of ``source``. Collective over the team, blocking. Errors
    as for ``broadcast``, and ``ValueError`` on every PE when ``dest`` of any is too short for all.

    Source: OpenSHMEM 1.5, 9.9.8 (shmem_collect); ishmem_collect.
    """
    if verdict := _core.collective(_COLLECT, dest, source, None, nelems, team):
        fallback.go_on(verdict, "collect", dest, source, find(team), nelems=nelems)


def alltoall(dest: ndarray, source: ndarray, team: Team = TEAM_WORLD, nelems: int | None = None) -> None:
    """Send block ``j`` of ``source`` to PE ``j`` of the team, which stores block ``i`` of ``dest`` from PE ``i``.

    ``nelems`` is the size of a block, by default the size of ``source`` divided by that of the team. The arrays must
    not overlap. Collective over the team, blocking. Errors as for ``broadcast``.

    Source: OpenSHMEM 1.5, 9.9.5 (shmem_alltoall); ishmem_alltoall.
    """
    if verdict := _core.collective(_ALLTOALL, dest, source, None, nelems, team):
        fallback.go_on(verdict, "alltoall", dest, source, find(team), nelems=nelems)


def alltoalls(dest: ndarray, source: ndarray, dst: int, sst: int, nelems: int, team: Team = TEAM_WORLD) -> None:
    """``alltoall`` of elements ``dst`` apart in ``dest`` and ``sst`` apart in ``source``.

    Every PE sends ``nelems`` elements to every PE: block ``j`` starts at element ``j * nelems * dst`` of ``dest`` and
    ``j * nelems * sst`` of ``source``. Strides are at least 1; what lies between is not touched. Collective over the
    team, blocking. Errors as for ``broadcast``.

    Source: OpenSHMEM 1.5, 9.9.6 (shmem_alltoalls).
    """
    fallback.alltoalls(dest, source, dst, sst, nelems, find(team))


def gather(dest: ndarray, source: ndarray, root: int, team: Team = TEAM_WORLD, nelems: int | None = None) -> None:
    """Concatenate the ``source`` of every PE of a team in ``dest`` of PE ``root``.

    Sizes as for ``fcollect``, on every PE; ``dest`` of the others is not touched. Collective over the team, blocking.
    Errors as for ``broadcast``.

    Source: MPI_Gather and GSHMEM, in the manner of shmem_fcollect.
    """
    if verdict := _core.collective(_GATHER, dest, source, root, nelems, team):
        fallback.go_on(verdict, "gather", dest, source, find(team), nelems=nelems, root=root)


def scatter(
    dest: ndarray, source: ndarray, root: int, team: Team = TEAM_WORLD, nelems: int | None = None
) -> None:
    """Send block ``j`` of the ``source`` of PE ``root`` to ``dest`` of PE ``j`` of the team.

    ``nelems`` is the size of a block, by default that of ``dest``; ``source`` has that many elements for each PE, on
    every PE. Collective over the team, blocking. Errors as for ``broadcast``.

    Source: MPI_Scatter and GSHMEM, in the manner of shmem_broadcast.
    """
    if verdict := _core.collective(_SCATTER, dest, source, root, nelems, team):
        fallback.go_on(verdict, "scatter", dest, source, find(team), nelems=nelems, root=root)


barrier_all_work_group = work_group_form(barrier_all)
sync_all_work_group = work_group_form(sync_all)
team_sync_work_group = work_group_form(team_sync)
broadcast_work_group = work_group_form(broadcast)
fcollect_work_group = work_group_form(fcollect)
collect_work_group = work_group_form(collect)
alltoall_work_group = work_group_form(alltoall)
alltoalls_work_group = work_group_form(alltoalls, "shmem_alltoalls, in the manner of ishmemx_alltoall_work_group")
gather_work_group = work_group_form(gather, "MPI_Gather, in the manner of ishmemx_fcollect_work_group")
scatter_work_group = work_group_form(scatter, "MPI_Scatter, in the manner of ishmemx_broadcast_work_group")


def _barrier_all(outcome: int) -> None:
    """Finish a barrier that the core declined or completed with an error."""
    this = job.current()
    if outcome == _core.BAD_ARGUMENTS:
        this.default_engine.quiet()
        if not _core.fence():
            this.raise_lost("barrier_all")
        this.barrier("barrier_all")
    elif outcome == _core.LOST:
        this.raise_lost("barrier_all")
    this.raise_problems()
