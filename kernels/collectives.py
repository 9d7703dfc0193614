"""Collective synchronisation inside kernels: the device forms of ``ishmem.collectives``.

Exactly one work-item of each PE calls; the ``_work_group`` forms are called by all work-items of one group.
"""

from __future__ import annotations

from typing import Any

from numba_dpex import kernel_api as kapi

from ishmem import collectives
from ishmem.layout import LINE

from . import state
from .intrinsics import atomic_load_word, atomic_store_word, device, fence, group_rank, peer_delta


def _sync():
    """Return the dissemination barrier, as on the host: see ``barrier`` in ``ishmem/core/wait.cpp``."""
    here = state.current()
    me, n_pes, first = here.pe, here.n_pes, here.heap + here.layout.device_sync
    counter = here.heap + here.layout.device_sequence

    def impl():
        sequence = atomic_load_word(counter) + 1
        atomic_store_word(counter, sequence)
        distance, line = 1, first
        while distance < n_pes:
            atomic_store_word(line + peer_delta((me + distance) % n_pes), sequence)
            while atomic_load_word(line) < sequence:
                pass
            distance *= 2
            line += LINE

    return impl


def _sync_work_group(group):
    def impl(group):
        kapi.group_barrier(group)
        if group_rank() == 0:
            collectives.sync_all()
        kapi.group_barrier(group)

    return impl


def _barrier():
    def impl():
        fence()
        collectives.sync_all()

    return impl


def _barrier_work_group(group):
    def impl(group):
        fence()
        kapi.group_barrier(group)
        if group_rank() == 0:
            collectives.barrier_all()
        kapi.group_barrier(group)

    return impl


device(collectives.sync_all)(_sync)
device(collectives.barrier_all)(_barrier)
device(collectives.sync_all_work_group)(_sync_work_group)
device(collectives.barrier_all_work_group)(_barrier_work_group)
