"""Collective routines that synchronise or move data; reductions and scans are in ``ishmem.reductions``.

The same names work on the host and in kernels. A collective call is made either on the host of all PEs or in a kernel
of all PEs: one that mixes both never completes; with ``ISHMEM_CHECK`` the host raises an error.

All members of the team make the same calls in the same order. Arrays are contiguous dpnp arrays on the symmetric heap,
or ``static`` objects, the same on every PE; ``broadcast``, ``fcollect`` and reductions also accept *tiles*: 2-D views
in device memory whose rows are contiguous, without ``nelems``. A *block* is the data that a member sends to another.
Blocks are in the order of the members, and ``root`` is the number of a member. Calls are blocking: the arrays may be
reused as soon as the call returns, and other PEs access them only between its entry and its return.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ishmem import _core, tiles
from ishmem.common.routines import exported
from ishmem.host_collectives import checks
from ishmem.host_collectives.collective_call import ROUTINES, Given
from ishmem.runtime import job
from ishmem.runtime.stubs import fast_path, work_group_forms
from ishmem.teams import TEAM_WORLD, Team, find

if TYPE_CHECKING:
    from dpnp import ndarray

__all__ = exported(__name__)


@fast_path(_core.barrier_all)
def barrier_all() -> None:
    """Complete all operations of this PE, then wait until all PEs have entered the barrier.

    It completes what ``quiet`` does. Collective, blocking.

    Raises:
        StateError: Not between ``init`` and ``finalize``.
        PeerLost: A PE died, or finalised without this call.
        LevelZeroError, ValueError, IndexError, SymmetryError: As for ``quiet``, once every PE has called.
        SymmetryError: Another PE has called ``sync_all`` or another collective routine.

    Example:
        >>> ishmem.barrier_all()

    Source: OpenSHMEM 1.5, 9.9.1 (shmem_barrier_all); ishmem_barrier_all.
    """
    this = job.current()
    this.default_engine.quiet()
    if not _core.fence():
        this.raise_lost("barrier_all")
    this.barrier("barrier_all")
    this.raise_problems()


@fast_path(_core.sync_all)
def sync_all() -> None:
    """Wait until all PEs have called, without completing any operation.

    Collective, blocking. Errors as for ``barrier_all``.

    Example:
        >>> ishmem.sync_all()

    Source: OpenSHMEM 1.5, 9.9.4 (shmem_sync_all); ishmem_sync_all.
    """
    job.current().barrier("sync_all")


def team_sync(team: Team) -> None:
    """Wait until all members of a team have called, without completing any operation: see ``Team.sync``.

    Collective over the team, blocking. Inside a kernel ``team`` is a handle, and the result is 0, or -1 when there is
    no such team. Errors as for ``Team.sync``, and ``TypeError`` if ``team`` is no team.

    Args:
        team: A team that this PE is in.

    Example:
        >>> ishmem.team_sync(ishmem.TEAM_WORLD)

    Source: OpenSHMEM 1.5, 9.9.3 (shmem_team_sync); ishmem_team_sync.
    """
    find(team).sync()


@fast_path(_core.collective(ROUTINES["broadcast"]))
def broadcast(
    dest: ndarray, source: ndarray, root: int, team: Team = TEAM_WORLD, nelems: int | None = None
) -> None:
    """Copy ``source`` of the root to ``dest`` of all members of a team, the root included.

    Collective over the team, blocking.

    Args:
        dest: Symmetric contiguous array or tile, of any dtype of dpnp; ``source`` (in place), or apart from ``source``.
        source: Symmetric contiguous array of the dtype of ``dest``, or tile of its shape.
        root: Number in the team of the PE that has the data.
        team: A team; by default all PEs.
        nelems: Number of elements, from the start of both arrays; by default all of them. Not for tiles.

    Raises:
        SymmetryError: An array is not symmetric; or, on every PE, the PEs call different routines or with different
            sizes, dtypes or roots, or the arguments of one PE are invalid.
        IndexError: The team has no PE ``root``.
        TypeError: Not arrays of one dtype that the routine takes, ``team`` no team, or a number that is no integer.
        ValueError: Sizes that do not match, arrays that overlap, are read-only or not contiguous, or this PE is not in
            the team.
        StateError: The team was destroyed, or not between ``init`` and ``finalize``.
        PeerLost: A PE died, or finalised without this call.

    Example:
        >>> a = ishmem.full(4, me, dtype="i4")
        >>> ishmem.broadcast(a, a, n - 1)
        >>> bool((a == n - 1).all())
        True

    Source: OpenSHMEM 1.5, 9.9.7 (shmem_broadcast); ishmem_broadcast.
    """
    tiles.run(broadcast, dest, source, find(team), Given(nelems, root))


@fast_path(_core.collective(ROUTINES["fcollect"]))
def fcollect(dest: ndarray, source: ndarray, team: Team = TEAM_WORLD, nelems: int | None = None) -> None:
    """Concatenate blocks of equal size from all members of a team, in its order, in each ``dest`` (all-gather).

    Collective over the team, blocking. Errors as for ``broadcast``.

    Args:
        dest: Symmetric contiguous array or tile, of any dtype of dpnp, with ``nelems`` elements for each PE.
        source: Symmetric contiguous array or tile of the dtype of ``dest``; it may be this PE's block of ``dest`` (in
            place). A tile ``dest`` has as many columns as the tile ``source``, and its number of rows for each PE.
        team: A team; by default all PEs.
        nelems: Size of a block in elements, the same on every PE; by default all of ``source``. Not for tiles.

    Example:
        >>> mine, everyones = ishmem.full(2, me, dtype="i4"), ishmem.zeros((n, 2), dtype="i4")
        >>> ishmem.fcollect(everyones, mine)
        >>> everyones[:, 0].asnumpy().tolist() == list(range(n))
        True

    Source: OpenSHMEM 1.5, 9.9.8 (shmem_fcollect); ishmem_fcollect.
    """
    tiles.run(fcollect, dest, source, find(team), Given(nelems))


@fast_path(_core.collective(ROUTINES["collect"]))
def collect(dest: ndarray, source: ndarray, team: Team = TEAM_WORLD, nelems: int | None = None) -> None:
    """Concatenate blocks of any sizes from all members of a team in ``dest`` of every member.

    Collective over the team, blocking. Errors as for ``broadcast``, and ``ValueError`` on every PE if ``dest`` of one
    is too short for all blocks.

    Args:
        dest: Symmetric contiguous array of any dtype of dpnp, with room for all blocks. It must not overlap ``source``.
        source: Symmetric contiguous array of the dtype of ``dest``.
        team: A team; by default all PEs.
        nelems: Size of this PE's block in elements, from 0 on; by default all of ``source``.

    Example:
        >>> mine, everyones = ishmem.full(n, me, dtype="i4"), ishmem.zeros(n * n, dtype="i4")
        >>> ishmem.collect(everyones, mine, nelems=me + 1)  # PE i contributes i + 1 elements
        >>> int(everyones[n * (n + 1) // 2 - 1]) == n - 1
        True

    Source: OpenSHMEM 1.5, 9.9.8 (shmem_collect); ishmem_collect.
    """
    checks.refuse("collect", dest, source, find(team), Given(nelems))


@fast_path(_core.collective(ROUTINES["alltoall"]))
def alltoall(dest: ndarray, source: ndarray, team: Team = TEAM_WORLD, nelems: int | None = None) -> None:
    """Exchange blocks of equal size between all members of a team: block ``j`` of ``source`` goes to member ``j``.

    Block ``i`` of ``dest`` comes from member ``i``. Collective over the team, blocking. Errors as for ``broadcast``.

    Args:
        dest: Symmetric contiguous array, of any dtype of dpnp, for a block of each PE. It must not overlap ``source``.
        source: Symmetric contiguous array of the dtype of ``dest``, with a block for each PE.
        team: A team; by default all PEs.
        nelems: Elements of a block, the same on every PE; by default those of ``source`` divided by the number of PEs.

    Example:
        >>> source, dest = ishmem.array(np.full(n, me)), ishmem.zeros(n, dtype="i8")
        >>> ishmem.alltoall(dest, source)
        >>> dest.asnumpy().tolist() == list(range(n))
        True

    Source: OpenSHMEM 1.5, 9.9.5 (shmem_alltoall); ishmem_alltoall.
    """
    checks.refuse("alltoall", dest, source, find(team), Given(nelems))


@fast_path(_core.alltoalls)
def alltoalls(dest: ndarray, source: ndarray, dst: int, sst: int, nelems: int, team: Team = TEAM_WORLD) -> None:
    """Exchange blocks as ``alltoall``, of elements that are ``sst`` apart in ``source`` and ``dst`` apart in ``dest``.

    Block ``j`` starts at element ``j * nelems * dst`` of ``dest`` and ``j * nelems * sst`` of ``source``; the elements
    between are not accessed. Collective over the team, blocking. Errors as for ``broadcast``.

    Args:
        dest: Symmetric contiguous array, of any dtype of dpnp; it must not overlap ``source``.
        source: Symmetric contiguous array of the dtype of ``dest``.
        dst: Stride of ``dest`` in elements, at least 1; the same on every PE, as ``sst`` and ``nelems``.
        sst: Stride of ``source`` in elements, at least 1.
        nelems: Number of elements that each PE sends to each.
        team: A team; by default all PEs.

    Example:
        >>> source, dest = ishmem.array(np.full(n, me)), ishmem.zeros(2 * n, dtype="i8")
        >>> ishmem.alltoalls(dest, source, 2, 1, 1)
        >>> dest[::2].asnumpy().tolist() == list(range(n))
        True

    Source: OpenSHMEM 1.5, 9.9.6 (shmem_alltoalls).
    """
    checks.refuse("alltoalls", dest, source, find(team), Given(nelems, dst=dst, sst=sst))


@fast_path(_core.collective(ROUTINES["gather"]))
def gather(dest: ndarray, source: ndarray, root: int, team: Team = TEAM_WORLD, nelems: int | None = None) -> None:
    """Concatenate blocks of equal size from all members of a team in ``dest`` of the root.

    ``dest`` of the other members is not accessed. Collective over the team, blocking. Errors as for ``broadcast``.

    Args:
        dest: Symmetric contiguous array, of any dtype of dpnp, with ``nelems`` elements for each PE, on every PE.
        source: Symmetric contiguous array of the dtype of ``dest``; it may be this PE's block of ``dest`` (in place).
        root: Number in the team of the PE that receives the data.
        team: A team; by default all PEs.
        nelems: Size of a block in elements, the same on every PE; by default all of ``source``.

    Example:
        >>> mine, everyones = ishmem.full(1, me, dtype="i4"), ishmem.zeros(n, dtype="i4")
        >>> ishmem.gather(everyones, mine, 0)
        >>> me > 0 or everyones.asnumpy().tolist() == list(range(n))
        True

    Source: MPI_Gather and GSHMEM, in the manner of shmem_fcollect.
    """
    checks.refuse("gather", dest, source, find(team), Given(nelems, root))


@fast_path(_core.collective(ROUTINES["scatter"]))
def scatter(
    dest: ndarray, source: ndarray, root: int, team: Team = TEAM_WORLD, nelems: int | None = None
) -> None:
    """Send block ``j`` of ``source`` of the root to ``dest`` of member ``j``, for all members of a team.

    Collective over the team, blocking. Errors as for ``broadcast``.

    Args:
        dest: Symmetric contiguous array, of any dtype of dpnp; it may be this PE's block of ``source`` (in place).
        source: Symmetric contiguous array of the dtype of ``dest`` with ``nelems`` elements for each PE, on every PE.
        root: Number in the team of the PE that has the data.
        team: A team; by default all PEs.
        nelems: Size of a block in elements, the same on every PE; by default that of ``dest``.

    Example:
        >>> blocks, mine = ishmem.arange(n), ishmem.zeros(1, dtype="i8")
        >>> ishmem.scatter(mine, blocks, 0)
        >>> int(mine[0]) == me
        True

    Source: MPI_Scatter and GSHMEM, in the manner of shmem_broadcast.
    """
    checks.refuse("scatter", dest, source, find(team), Given(nelems, root))


globals().update(work_group_forms(__name__))
