"""Collective synchronisation of all PEs: ``barrier_all`` and ``sync_all``.

Host calls. The same names inside a kernel are the functions of ``ishmem.kernels.collectives``; a barrier
that some PEs call on the host and others in a kernel never completes.
"""

from __future__ import annotations

from typing import Any

from . import job
from .order import quiet
from .stubs import kernel_only

__all__ = ["barrier_all", "barrier_all_work_group", "sync_all", "sync_all_work_group"]


def barrier_all() -> None:
    """Complete this PE's operations, then wait until every PE has called.

    Collective, blocking.

    Raises:
        StateError: Not between ``init`` and ``finalize``.
        PeerLost: A PE died or finalised and will not call.

    Source: OpenSHMEM 1.5, 9.9.1 (shmem_barrier_all); ishmem_barrier_all.
    """
    quiet()
    job.current().barrier("barrier_all")


def sync_all() -> None:
    """Wait until every PE has called, without completing any operation.

    Collective, blocking. Errors as for ``barrier_all``.

    Source: OpenSHMEM 1.5, 9.9.3 (shmem_sync_all); ishmem_sync_all.
    """
    job.current().barrier("sync_all")


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
