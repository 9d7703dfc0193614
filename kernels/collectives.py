"""Collective synchronisation inside kernels: the device forms of ``ishmem.collectives``.

Exactly one work-item of each PE calls; the ``_work_group`` forms are called by all work-items of one group.
"""

from __future__ import annotations

from numba_dpex import kernel_api as kapi

from ishmem import collectives
from ishmem.layout import LINE, TeamRecord

from . import arguments, state
from .intrinsics import (
    atomic_load_word,
    atomic_store_word,
    device,
    fence,
    group_rank,
    heap_base,
    peer_delta,
    this_pe,
)
from .teams import is_team, team_facts


def disseminate(start, stride, size, me, counter, line):
    """Wait for all members of a team; in kernels only: see ``barrier`` in ``ishmem/core/barrier.cpp``."""


@device(disseminate)
def _disseminate(start, stride, size, me, counter, line):
    def impl(start, stride, size, me, counter, line):
        sequence = atomic_load_word(counter) + 1
        atomic_store_word(counter, sequence)
        distance = 1
        while distance < size:
            peer = start + (me + distance) % size * stride
            atomic_store_word(line + peer_delta(peer), sequence)
            while atomic_load_word(line) < sequence:
                pass
            distance *= 2
            line += LINE

    return impl


def _sync():
    # The facts of the world are constants here, where ``team_sync`` loads them.
    here, world = state.current(), 0
    n_pes, line = here.n_pes, here.layout.device_sync(world)
    counter = here.layout.team(world) + TeamRecord.at("sequence")

    def impl():
        disseminate(0, 1, n_pes, this_pe(), heap_base() + counter, heap_base() + line)

    return impl


def _team_sync(team):
    arguments.integer("team_sync", "team", team)
    layout = state.current().layout
    lines, apart = layout.device_sync(0), layout.sync_bytes
    counters = layout.team(0) + TeamRecord.at("sequence")

    def impl(team):
        if not is_team(team):
            return -1
        start, stride, size, me = team_facts(team)
        counter, line = counters + LINE * team, lines + apart * team
        disseminate(start, stride, size, me, heap_base() + counter, heap_base() + line)
        return 0

    return impl


def _team_sync_work_group(team, group):
    arguments.integer("team_sync_work_group", "team", team)

    def impl(team, group):
        kapi.group_barrier(group)
        if group_rank() == 0:
            collectives.team_sync(team)
        kapi.group_barrier(group)

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
device(collectives.team_sync)(_team_sync)
device(collectives.team_sync_work_group)(_team_sync_work_group)
