"""Device implementations of ``ishmem.collectives``.

Exactly one work-item of each PE calls a routine; all work-items of one work-group call the ``_work_group`` routine.
Functions have the call (`CollectiveCall`), or the `EnteredCall`, and ``group`` as in `collective_calls`.

In a team that spans nodes, data cross the network once per node: if all members on a node need a large block of another
node, each of them gets one part of it and copies this part to the others.
"""

from __future__ import annotations

from typing import Any

from ishmem import collectives
from ishmem.common.call_id import NO_DTYPE, pack
from ishmem.common.collective_table import COLLECTIVES, Combines
from ishmem.common.violations import routine_number

from .barrier import team_barrier
from .collective_calls import EnteredCall, await_transfers, end_phase, enter, part_of, register, sends_by_leader
from .copy import copy_by_group, copy_bytes, copy_steps, get_bytes, get_steps, put_bytes, put_steps
from .forms import forms, integers, no_check
from .intrinsics import compiled, load_word, rank_in
from .long_waits import record_begun_call
from .nodes import nodes_of, pe_in, place_after, spans_nodes
from .options import CHECK, LEVELS
from .peers import on_peer
from .proxy import complete_before_flag, complete_held, complete_host_puts, reachable
from .rendezvous import (
    NOTHING,
    PAYLOAD,
    SHARE,
    Carried,
    block_step,
    blocks_at,
    distance_to_table,
    fetch_from_leader,
    group_sync,
    header_at,
    max_payload,
    rendezvous,
    slots_of,
)
from .runtime_checks import own_array_fits
from .small_alltoall import by_aggregators, copy_from_aggregators, exchange_nodes
from .teams import WORLD, is_team, members_of, pe_of
from .tile_collectives import exchange_tile
from .work_division import workers_of

PIECE = 64 << 10
"""Bytes of the largest block that one member fetches whole for its node; members share larger ones."""

# ---- synchronisation

SYNC_ID = pack(routine_number("barrier_all, sync_all or team_sync"), NO_DTYPE, 0, 0, 0)


@compiled
def synchronize(team, call_site):
    """Wait until all members of a team have called a barrier or sync; with ``ISHMEM_CHECK``, compare their calls."""
    if CHECK:
        record_begun_call(call_site)
        rendezvous(team, members_of(team), SYNC_ID, 0, -1, Carried(NOTHING, 0, 0))
    else:
        team_barrier(team, members_of(team), call_site)


def _make_barrier(completes: bool) -> Any:
    """Make the body of ``barrier_all`` (``completes``: it completes the operations of this PE) or of ``sync_all``."""

    def body(group, call_site=None):
        group_sync(group)
        if rank_in(group) == 0:
            if completes:
                complete_held()
                complete_host_puts()
                complete_before_flag()
            synchronize(WORLD, call_site)
        group_sync(group)

    return body


def _team_sync(team, group, call_site=None):
    group_sync(group)
    result = 0 if is_team(team) else -1
    if result == 0 and rank_in(group) == 0:
        synchronize(team, call_site)
    group_sync(group)
    return result


forms(collectives, "sync_all", no_check, _make_barrier(False))
forms(collectives, "barrier_all", no_check, _make_barrier(True))
forms(collectives, "team_sync", integers, _team_sync)


# ---- data


@compiled
def exchange(call, group):
    """Run a collective call in which all blocks have the same size; return 0, or -1 when this PE is not in the team."""
    status, count = enter(call, group)
    if status > 0:
        move_blocks(EnteredCall(call, members_of(call.team), slots_of(call.team, 1), count), group)
    return min(status, 0)


@compiled
def move_blocks(entered, group):
    """Move the blocks of a call to ``dest``: those up to `max_payload` from the slots, larger ones between arrays."""
    call, nbytes = entered.call, entered.count * entered.call.itemsize
    if by_aggregators(call, nbytes):
        if rank_in(group) == 0:
            exchange_nodes(call, nbytes)
        group_sync(group)
        copy_from_aggregators(call, entered.slots, entered.count, group)
        group_sync(group)
    elif nbytes <= max_payload():
        copy_from_slots(entered, group)
        group_sync(group)
    else:
        move_large(entered, group)
        end_phase(group, call.team)


@compiled
def move_large(entered, group):
    """Move large blocks between the arrays of the members."""
    flow = entered.call.flow
    by_nodes = LEVELS and not flow.source_blocks and not flow.to_root and spans_nodes(entered.call.team)
    if flow.from_root and not flow.source_blocks:
        if by_nodes:
            broadcast_by_nodes(entered, group)
        else:
            broadcast_large(entered, group)
    elif by_nodes:
        collect_by_nodes(entered, group)
    else:
        transfer_blocks(entered, group)


# Model: tests/models/rendezvous.pml.
@compiled
def copy_from_slots(entered, group):
    """Copy the small blocks of a call from the slots into ``dest``; if only the root receives, nothing elsewhere."""
    call, members, slots, count = entered
    slots += distance_to_table(call.team) if sends_by_leader(call) else 0
    flow, root, step, item = call.flow, call.root, call.dst, call.itemsize
    if flow.to_root and members.me != root:
        return
    first, end = root if flow.from_root else 0, root + 1 if flow.from_root else members.size
    apart = block_step(count * item)
    origin, workers = blocks_at(call.team, slots) + first * apart, workers_of(group)
    if step == 1 and apart == count * item:
        copy_bytes(call.dest, origin, (end - first) * apart, workers.rank, workers.width)
        return
    for member in range(first, end):
        to = call.dest + flow.dest_blocks * member * count * step * item
        copy_steps(to, origin + (member - first) * apart, step, 1, item, count, workers)


@compiled
def transfer_blocks(entered, group):
    """Put or get large blocks directly between the arrays of the members."""
    call, (start, stride, size, me), _slots, count = entered
    flow, to, origin, item, root = call.flow, call.dest, call.source, call.itemsize, call.root
    workers = workers_of(group)
    if flow.from_root:  # all members get at the same time
        origin += flow.source_blocks * me * count * call.sst * item
        get_steps(start + root * stride, to, origin, call.dst, call.sst, item, count, workers)
        return
    to += flow.dest_blocks * me * count * call.dst * item
    for step in range(size):  # each PE starts with itself, which spreads the puts over all PEs
        member = place_after(me, step, size)
        if not flow.to_root or member == root:
            block = origin + flow.source_blocks * member * count * call.sst * item
            put_steps(start + member * stride, to, block, call.dst, call.sst, item, count, workers)


@compiled
def broadcast_large(entered, group):
    """Broadcast in two steps: each member gets one part from the root, then puts that part to the other members."""
    call, (start, stride, size, me), _slots, count = entered
    first, end = part_of(count * call.itemsize, size, me)
    to, nbytes = call.dest + first, end - first
    get_bytes(start + call.root * stride, to, call.source + first, nbytes, group)
    await_transfers(group)
    for step in range(1, size):
        put_bytes(start + place_after(me, step, size) * stride, to, to, nbytes, group)


@compiled
def concatenate(call, group):
    """Run a call whose members' blocks differ in size; return 0, or -1 when this PE is not in the team."""
    status, _count = enter(call, group)
    if status <= 0:
        return status
    slots, members, item = slots_of(call.team, 1), members_of(call.team), call.itemsize
    fetch_from_leader(call.team, slots, PAYLOAD * members.size, group)
    total, large = 0, False
    for member in range(members.size):
        share = load_word(header_at(slots, member) + SHARE)
        total += share
        large = large or share * item > max_payload()
    # All PEs get the same result here: ``dest`` has the same size on each.
    if CHECK and not own_array_fits(call.routine, call.dest, call.dest_size, item, total):
        return 0
    entered = EnteredCall(call, members, slots, -1)
    collect_from_slots(entered, group)
    if large:
        if LEVELS and spans_nodes(call.team):
            collect_by_nodes(entered, group)
        else:
            put_own_block(entered, group)
        end_phase(group, call.team)
    else:
        group_sync(group)
    return 0


@compiled
def collect_from_slots(entered, group):
    """Copy the small blocks of a concatenation from the slots into ``dest``."""
    call, members, slots, _count = entered
    to, origin = call.dest, blocks_at(call.team, slots) + distance_to_table(call.team)
    for member in range(members.size):
        nbytes = load_word(header_at(slots, member) + SHARE) * call.itemsize
        if nbytes <= max_payload():
            copy_by_group(to, origin + member * block_step(max_payload()), nbytes, group)
        to += nbytes


@compiled
def put_own_block(entered, group):
    """Put this PE's block of a concatenation, if it is large, to all members."""
    call, members, slots, _count = entered
    to, own = call.dest, load_word(header_at(slots, members.me) + SHARE) * call.itemsize
    for member in range(members.me):
        to += load_word(header_at(slots, member) + SHARE) * call.itemsize
    if own > max_payload():
        for step in range(members.size):
            pe = pe_of(members, place_after(members.me, step, members.size))
            put_bytes(pe, to, call.source, own, group)


# ---- large blocks, in two levels


@compiled
def own_share(nodes, nbytes, turn):
    """Return begin and end, in bytes, of the part of a block of ``nbytes`` bytes that this PE gets for its node.

    The members on the node divide a block above `PIECE`. Of smaller ones, member ``turn`` modulo their number gets the
    whole block number ``turn``, and the others nothing.
    """
    if nbytes > PIECE:
        return part_of(nbytes, nodes.n_near, nodes.index)
    return 0, nbytes if turn % nodes.n_near == nodes.index else 0


@compiled
def fetch_share(nodes, pe, to, origin, nbytes, turn, group):
    """Get this PE's share (`own_share`) of block ``turn``, ``nbytes`` bytes at ``origin`` on PE ``pe``, into ``to``."""
    first, end = own_share(nodes, nbytes, turn)
    get_bytes(pe, to + first, origin + first, end - first, group)


@compiled
def spread_share(nodes, to, nbytes, turn, group):
    """Copy this PE's share of block ``turn``, of ``nbytes`` bytes at ``to``, to the other members on its node."""
    first, end = own_share(nodes, nbytes, turn)
    for step in range(1, nodes.n_near):
        there = on_peer(to + first, pe_in(nodes.near, place_after(nodes.index, step, nodes.n_near)))
        copy_by_group(there, to + first, end - first, group)


@compiled
def broadcast_by_nodes(entered, group):
    """Broadcast a large block: the members on each node get it in shares, and copy their shares to each other."""
    call, members, _slots, count = entered
    nodes, nbytes, root = nodes_of(call.team), count * call.itemsize, pe_of(members, call.root)
    fetch_share(nodes, root, call.dest, call.source, nbytes, 0, group)
    await_transfers(group)
    spread_share(nodes, call.dest, nbytes, 0, group)


@compiled
def put_near(nodes, to, origin, nbytes, group):
    """Put ``nbytes`` bytes from ``origin`` to symmetric address ``to`` on all members on this node, by a work-group."""
    for step in range(nodes.n_near):
        pe = pe_in(nodes.near, place_after(nodes.index, step, nodes.n_near))
        copy_by_group(on_peer(to, pe), origin, nbytes, group)


@compiled
def large_block(entered, member):
    """Return the bytes of a member's block that are still to be moved, 0 for a small block, and the block's size."""
    count = entered.count
    if count < 0:
        count = load_word(header_at(entered.slots, member) + SHARE)
    nbytes = count * entered.call.itemsize
    return nbytes if nbytes > max_payload() else 0, nbytes


@compiled
def collect_by_nodes(entered, group):
    """Concatenate the large blocks of the members; blocks of other nodes in shares, as in `broadcast_by_nodes`."""
    call, members, _slots, _count = entered
    nodes, to = nodes_of(call.team), call.dest
    for member in range(members.size):
        pe, (large, nbytes) = pe_of(members, member), large_block(entered, member)
        if member == members.me:
            put_near(nodes, to, call.source, large, group)
        elif not reachable(pe):
            fetch_share(nodes, pe, to, call.source, large, member, group)
        to += nbytes
    await_transfers(group)
    to = call.dest
    for member in range(members.size):
        large, nbytes = large_block(entered, member)
        if not reachable(pe_of(members, member)):
            spread_share(nodes, to, large, member, group)
        to += nbytes


for _name, _routine in COLLECTIVES.items():
    if not _routine.counted and _routine.combines is Combines.NOTHING:
        register(_name, collectives, concatenate if _routine.own_counts else exchange, exchange_tile)
