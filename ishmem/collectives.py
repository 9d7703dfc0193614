"""Collective synchronisation of all PEs: ``barrier_all`` and ``sync_all``.

Host calls. The same names inside a kernel are the functions of ``ishmem.kernels.collectives``; a barrier
that some PEs call on the host and others in a kernel never completes.
"""

from __future__ import annotations

from typing import Any

from . import _core, job, teams
from .stubs import kernel_only

__all__ = [
    "barrier_all", "barrier_all_work_group", "sync_all", "sync_all_work_group", "team_sync", "team_sync_work_group",
]  # fmt: skip


def barrier_all() -> None:
    """Complete this PE's operations, then wait until every PE has called.

    Collective, blocking.

    Raises:
        StateError: Not between ``init`` and ``finalize``.
        PeerLost: A PE died or finalised and will not call.
        LevelZeroError, IndexError, SymmetryError: As for ``quiet``, once every PE has called.

    Source: OpenSHMEM 1.5, 9.9.1 (shmem_barrier_all); ishmem_barrier_all.
    """
    this = job.current()
    this.default_engine.quiet()
    _core.fence()
    this.barrier("barrier_all")
    this.raise_problems()


def sync_all() -> None:
    """Wait until every PE has called, without completing any operation.

    Collective, blocking. Errors as for ``barrier_all``.

    Source: OpenSHMEM 1.5, 9.9.4 (shmem_sync_all); ishmem_sync_all.
    """
    job.current().barrier("sync_all")


def team_sync(team: teams.Team | int) -> None:
    """Wait until every PE of a team has called, without completing any operation: see ``Team.sync``.

    Collective over the team, blocking. ``team`` is a team or its handle. Inside a kernel it is a handle, and the
    result is 0, or -1 when there is no such team.

    Source: OpenSHMEM 1.5, 9.9.3 (shmem_team_sync); ishmem_team_sync.
    """
    teams.find(team).sync()


@kernel_only
def barrier_all_work_group(group: Any) -> None:
    """``barrier_all`` called by all work-items of one group of each PE; in kernels only.

    Source: ishmemx_barrier_all_work_group.
    """


@kernel_only
def sync_all_work_group(group: Any) -> None:
    """``sync_all`` called by all work-items of one group of each PE; in kernels only.

    Source: ishmemx_sync_all_work_group.
    """


@kernel_only
def team_sync_work_group(team: int, group: Any) -> None:
    """``team_sync`` called by all work-items of one group of each PE of the team; in kernels only.

    Source: ishmemx_team_sync_work_group.
    """
