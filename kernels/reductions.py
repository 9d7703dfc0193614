"""Reductions and scans inside kernels: the device forms of ``ishmem.reductions``.

One work-item or one work-group of each PE calls, as in ``ishmem.kernels.collectives``. Small arrays are sent to all
members as payload of the rendezvous, and each member combines all of them. Of large arrays, each member combines one
part and puts the result to all members, directly or by chunks. In teams that span nodes, reductions are those of
``ishmem.kernels.reductions_of_nodes``. Elements are combined in one order, so all PEs get the same bits. Floats of 16
bits are combined in float32 and rounded once: in teams that span nodes all blocks go to the PE that combines them, as
in scans. ``sample`` is a `Sample`, ``call`` a `CollectiveCall`, ``reduction`` a `Reduction`.
"""

from __future__ import annotations

from ishmem import reductions
from ishmem.common.type_tables import REDUCTIONS

from .barrier import await_line, next_number
from .collective_calls import ALIGN, count_of, end_phase, enter, part_of, register, with_count
from .combining import (
    ELEMENT,
    Reduction,
    chunks_at,
    combined,
    is_half,
    is_scan,
    load_units,
    member_arrays,
    own_block,
    reduce_blocks,
    store_units,
    zero_units,
)
from .copy import copy_bytes
from .intrinsics import compiled, opaque, rank_in
from .long_waits import record_begun_call
from .nodes import place_after, spans_nodes
from .options import CHECK, COPIES_BY_PROXY, LEVELS, PROXIED
from .peers import on_peer, peer_delta
from .proxy import GET, PUT, copy_by_proxy, reachable, store_flag
from .proxy_ring import await_ticket
from .reductions_of_nodes import reduce_large, reduce_small
from .rendezvous import (
    block_step,
    blocks_at,
    fetch_from_leader,
    group_sync,
    header_at,
    max_payload,
    slots_of,
    slots_of_number,
)
from .spec_constants import chunk_bytes, chunk_memory
from .teams import is_team, members_of, pe_of
from .tile_collectives import enter_tile, row_of, shares_of
from .work_division import workers_of

# ---- large arrays


@compiled
def chunks_of(team, size):
    """Return address, bytes between starts, and capacity in bytes of ``size`` chunks of memory of a team.

    They are the tiles of ``ishmem.common.layout``, or the data of the rendezvous slots, unused in this call, if those
    are larger.
    """
    apart = chunk_bytes() // size // ALIGN * ALIGN
    if apart > max_payload():
        return chunk_memory() + chunk_bytes() * team, apart, apart
    return blocks_at(team, slots_of(team, 1)), block_step(max_payload()), max_payload()


@compiled
def move_chunks(kind, members, chunks, address, nbytes, workers):
    """Get (``GET``) ``nbytes`` bytes at ``address`` of each member into its chunk, or put (``PUT``) them back.

    The members are divided among the workers; each returns when its chunks have arrived or may be overwritten.
    """
    ticket = -1
    for member in range(workers.rank, members.size, workers.width):
        pe, here = pe_of(members, member), chunks.at + member * chunks.apart
        if not reachable(pe):
            ticket = copy_by_proxy(kind, pe, address, here, nbytes)
        elif kind == GET:
            copy_bytes(here, on_peer(address, pe), nbytes, 0, 1)
        else:
            copy_bytes(on_peer(address, pe), here, nbytes, 0, 1)
    if ticket >= 0:
        await_ticket(ticket)


@compiled
def reduce_directly(reduction, group):
    """Combine this PE's part of large arrays by direct loads and stores."""
    op, dest, source, nbytes, _team, members = reduction
    first, end = part_of(nbytes, members.size, members.me)
    sources, dests = member_arrays(source + first, members), member_arrays(dest + first, members)
    reduce_blocks(op, sources, dests, end - first, workers_of(group), members)


@compiled
def reduce_by_chunks(reduction, group):
    """Combine this PE's part of large arrays in chunks; the proxy moves those of PEs that are not reachable."""
    op, dest, source, nbytes, team, members = reduction
    first, end = part_of(nbytes, members.size, members.me)
    at, apart, room = chunks_of(team, members.size)
    chunks, workers = chunks_at(at, apart, members), workers_of(group)
    for low in range(first, end, room):
        n = min(room, end - low)
        move_chunks(GET, members, chunks, source + low, n, workers)
        group_sync(group)
        reduce_blocks(op, chunks, chunks, n, workers, members)
        group_sync(group)
        move_chunks(PUT, members, chunks, dest + low, n, workers)


@compiled
def reduce_flat(reduction, group):
    """Combine this PE's part of large arrays, and put the results to all members, without regard to nodes."""
    if PROXIED and (not LEVELS or spans_nodes(reduction.team)):
        reduce_by_chunks(reduction, group)
    else:
        reduce_directly(reduction, group)


# ---- tiles


@compiled
def reduce_rows(op, call, rows, members, group):
    """Combine ``rows`` rows of tiles of ``members``: each combines some rows, or with a proxy a part of each row."""
    nbytes = call.nelems * call.itemsize
    if PROXIED:
        for row in range(rows):
            to, origin = row_of(call, row, row)
            reduce_flat(Reduction(op, to, origin, nbytes, call.team, members), group)
            group_sync(group)
    else:
        first, step, end, workers = shares_of(rows, nbytes, workers_of(group))
        for row in range(members.me + first * members.size, end, step * members.size):
            to, origin = row_of(call, row, row)
            reduce_blocks(op, member_arrays(origin, members), member_arrays(to, members), nbytes, workers, members)


@compiled
def reduce_tile(op, call, group):
    """Run a reduction of 2-D tiles (``ishmem.tiles``); return 0, or -1 when this PE is not in the team."""
    status, rows = enter_tile(call, group)
    if status > 0:
        reduce_rows(op, call, rows, members_of(call.team), group)
        end_phase(group, call.team)
    return min(status, 0)


# ---- one element, and arrays


@compiled
def reduce_element(op, call, members, call_site):
    """Reduce one element of each member, by one work-item, for PEs that reach each other.

    It writes the slots of the rendezvous as larger reductions do, without their loops over elements and alignments.
    """
    start, stride, size, me = members
    number = next_number(call.team)
    slots = slots_of_number(call.team, number)
    header, blocks, apart = header_at(slots, me), blocks_at(call.team, slots), block_step(call.itemsize)
    like = zero_units(op, ELEMENT)
    mine = load_units(call.source, 0, like)
    for step in range(1, size):
        pe = start + place_after(me, step, size) * stride
        store_units(blocks + me * apart + peer_delta(pe), 0, like, mine)
        store_flag(pe, header, number)
    total = mine
    for member in range(size):
        theirs = mine
        if member != me:
            await_line(header_at(slots, member), number, start + member * stride, call_site)
            theirs = load_units(blocks + member * apart, 0, like)
        total = combined(op, total, theirs) if member else theirs
    store_units(call.dest, 0, like, total)


@compiled
def reduce(op, call, group, call_site):
    """Run a reduction or scan, by ``group`` or one work-item; return 0, or -1 when this PE is not in the team."""
    if not CHECK and not COPIES_BY_PROXY and not is_scan(op) and is_team(call.team):
        members = members_of(call.team)
        count = count_of(call, members.size)
        if count == 1:
            group_sync(group)
            if rank_in(group) == 0:
                reduce_element(op, call, members, call_site)
            group_sync(group)
            return 0
        call = with_count(call, opaque(count))
    record_begun_call(call_site)
    by_nodes = LEVELS and not is_scan(op) and not is_half(op) and is_team(call.team) and spans_nodes(call.team)
    if LEVELS and by_nodes:
        count = count_of(call, members_of(call.team).size)
        if count * call.itemsize <= max_payload():
            return reduce_small(op, call, count, group)
    status, count = enter(call, group)
    if status > 0:
        nbytes = count * call.itemsize
        reduction = Reduction(op, call.dest, call.source, nbytes, call.team, members_of(call.team))
        if nbytes <= max_payload():
            reduce_slots(reduction, group)
        elif LEVELS and by_nodes:
            reduce_large(reduction, group)
        else:
            reduce_flat(reduction, group)
        if nbytes > max_payload():
            end_phase(group, call.team)
    return min(status, 0)


@compiled
def reduce_slots(reduction, group):
    """Combine the blocks in the slots of the rendezvous into ``dest`` of this PE."""
    op, dest, _source, nbytes, team, members = reduction
    slots = slots_of(team, 1)
    needed = (members.me + 1 if is_scan(op) else members.size) * nbytes
    fetch_from_leader(team, blocks_at(team, slots), needed, group)
    sources = chunks_at(blocks_at(team, slots), block_step(nbytes), members)
    reduce_blocks(op, sources, own_block(dest, members), nbytes, workers_of(group), members)
    group_sync(group)


for _name in REDUCTIONS:
    register(_name, reductions, reduce, None if _name.endswith("scan") else reduce_tile)
