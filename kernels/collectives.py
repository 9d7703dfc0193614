"""Collective routines inside kernels: the device forms of ``ishmem.collectives``.

Exactly one work-item of each PE calls; the ``_work_group`` forms are called by all work-items of one group.
"""

from __future__ import annotations

from ishmem import collectives
from ishmem.common.layout import RENDEZVOUS_SLOT
from ishmem.common.type_tables import RMA_TYPES
from ishmem.common.violations import call_word, number

from . import binding, type_checks
from .collective_forms import register
from .copy import copy_bytes
from .intrinsics import compiled, device, device_function, load_word, nothing_of, rank_in, size_of
from .proxy import complete
from .rendezvous import PAYLOAD, ROOM, SHARE, Flow, begin, disseminate, enter, leave, meet, part_of, rally, slots_of
from .runtime_checks import holds
from .spec_constants import pe_count, this_pe
from .strided import copy_steps, move_steps
from .teams import is_team, team_facts

# ---- synchronisation

SYNC = number("barrier_all, sync_all or team_sync")


@device_function
def synchronize(team, facts):
    """Wait for all members of a team, which all call a synchronisation."""
    if not binding.options().check:
        return lambda team, facts: disseminate(team, facts)
    call = call_word(SYNC)

    def impl(team, facts):
        slots = slots_of(team, 0)
        meet(facts, slots, begin(team), call, 0, 0)

    return impl


def _sync():
    type_checks.may_wait("sync_all")
    world = 0

    def impl():
        # The facts of the world are constants here, where ``team_sync`` loads them.
        synchronize(world, (0, 1, pe_count(), this_pe()))

    return impl


def _team_sync(team):
    type_checks.may_wait("team_sync")
    type_checks.integer("team_sync", "team", team)

    def impl(team):
        if not is_team(team):
            return -1
        synchronize(team, team_facts(team))
        return 0

    return impl


def _team_sync_work_group(team, group):
    type_checks.may_wait("team_sync_work_group")
    type_checks.integer("team_sync_work_group", "team", team)

    def impl(team, group):
        rally(group)
        result = 0 if is_team(team) else -1
        if rank_in(group) == 0:
            collectives.team_sync(team)
        rally(group)
        return result

    return impl


def _sync_work_group(group):
    type_checks.may_wait("sync_all_work_group")

    def impl(group):
        rally(group)
        if rank_in(group) == 0:
            collectives.sync_all()
        rally(group)

    return impl


def _barrier():
    type_checks.may_wait("barrier_all")

    def impl():
        complete()
        collectives.sync_all()

    return impl


def _barrier_work_group(group):
    type_checks.may_wait("barrier_all_work_group")

    def impl(group):
        rally(group)
        if rank_in(group) == 0:
            collectives.barrier_all()
        rally(group)

    return impl


device(collectives.sync_all)(_sync)
device(collectives.barrier_all)(_barrier)
device(collectives.sync_all_work_group)(_sync_work_group)
device(collectives.barrier_all_work_group)(_barrier_work_group)
device(collectives.team_sync)(_team_sync)
device(collectives.team_sync_work_group)(_team_sync_work_group)


# ---- data

FLOWS = {
    "broadcast": Flow(from_root=True),
    "fcollect": Flow(dest_blocks=True),
    "alltoall": Flow(source_blocks=True, dest_blocks=True),
    "alltoalls": Flow(source_blocks=True, dest_blocks=True),
    "gather": Flow(to_root=True, dest_blocks=True),
    "scatter": Flow(from_root=True, source_blocks=True),
}


@compiled
def exchange(sample, word, arrays, nelems, steps, flow, group, team):
    """Do a call in which all blocks have one size."""
    slots, count = enter(word, arrays, nelems, steps, flow, group, team)
    if slots > 0 and count * arrays[4] <= ROOM:
        take(team_facts(team), slots, arrays[0], arrays[4], count, steps, flow, group)
        rally(group)
    elif slots > 0:
        if flow[0] and not flow[2]:
            spread(team_facts(team), arrays, count, steps[0], group)
        else:
            move(team_facts(team), arrays, count, steps, flow, group)
        leave(group, team)
    return min(slots, 0)


@compiled
def take(facts, slots, to, item, count, steps, flow, group):
    """Copy small blocks out of the slots."""
    from_root, to_root, _source_blocks, dest_blocks, _vary = flow
    root, step, _from_step = steps
    if to_root and facts[3] != root:
        return
    for member in range(root if from_root else 0, root + 1 if from_root else facts[2]):
        mine, theirs = to + dest_blocks * member * count * step * item, slots + member * RENDEZVOUS_SLOT + PAYLOAD
        copy_steps(mine, theirs, step, 1, item, count, rank_in(group), size_of(group))


@compiled
def move(facts, arrays, count, steps, flow, group):
    """Copy large blocks from array to array."""
    start, stride, size, me = facts
    to, _to_size, origin, _origin_size, item = arrays
    root, to_step, from_step = steps
    from_root, to_root, source_blocks, dest_blocks, _vary = flow
    rank, width = rank_in(group), size_of(group)
    if from_root:  # all fetch, at once
        origin += source_blocks * me * count * from_step * item
        move_steps(0, start + root * stride, to, origin, to_step, from_step, item, count, rank, width)
        return
    to += dest_blocks * me * count * to_step * item
    for step in range(size):  # each begins with itself, so that no PE is written to by all at once
        member = me + step if me + step < size else me + step - size
        if not to_root or member == root:
            block = origin + source_blocks * member * count * from_step * item
            move_steps(1, start + member * stride, to, block, to_step, from_step, item, count, rank, width)


@compiled
def spread(facts, arrays, count, root, group):
    """Broadcast in two steps: each member fetches a part, and gives it to the others."""
    start, stride, size, me = facts
    first, end = part_of(count, arrays[4], facts)
    to, nbytes = arrays[0] + first * arrays[4], (end - first) * arrays[4]
    origin, rank, width = arrays[2] + first * arrays[4], rank_in(group), size_of(group)
    move_steps(0, start + root * stride, to, origin, 1, 1, 1, nbytes, rank, width)
    rally(group)
    for step in range(1, size):
        member = me + step if me + step < size else me + step - size
        move_steps(1, start + member * stride, to, to, 1, 1, 1, nbytes, rank, width)


@device_function
def concatenate(sample, word, arrays, nelems, steps, flow, group, team):
    """Do a call in which the block of each member has a size of its own."""
    check = binding.options().check

    def impl(sample, word, arrays, nelems, steps, flow, group, team):
        slots, _count = enter(word, arrays, nelems, steps, flow, group, team)
        if slots <= 0:
            return slots
        start, stride, size, me = team_facts(team)
        to, to_size, origin, _origin_size, item = arrays
        rank, width, place, large = rank_in(group), size_of(group), 0, False
        for member in range(size):
            share = load_word(slots + member * RENDEZVOUS_SLOT + SHARE)
            place += share
            large = large or share * item > ROOM
        if check and not holds(word & 255, to, to_size, item, place):  # on all PEs: their arrays have one size
            return 0
        place = 0
        for member in range(size):
            share = load_word(slots + member * RENDEZVOUS_SLOT + SHARE)
            if share * item <= ROOM:
                copy_bytes(to + place * item, slots + member * RENDEZVOUS_SLOT + PAYLOAD, share * item, rank, width)
            elif member == me:
                for other in range(size):
                    move_steps(1, start + other * stride, to + place * item, origin, 1, 1, item, share, rank, width)
            place += share
        if large:
            leave(group, team)
        else:
            rally(group)
        return 0

    return impl


for _name, _flow in FLOWS.items():
    _options = ("dst", "sst") if _name == "alltoalls" else ("root",) if _flow.from_root or _flow.to_root else ()
    register(_name, collectives, exchange, nothing_of, RMA_TYPES, _options, _flow)
register("collect", collectives, concatenate, nothing_of, RMA_TYPES, (), Flow(dest_blocks=True, vary=True))
