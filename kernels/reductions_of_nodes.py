"""Reductions in teams that span nodes: data cross the network once per node.

Small blocks are combined on the way, as on the host. Each leader combines the blocks of its node. In a step, it sends
its result so far to another leader, and combines the result that it receives, that of the lower nodes first: so all PEs
get the same bits. Operands are in the places of blocks in the slots of a leader: its own place contains the sum of its
node; that of another leader contains what has been received there, combined with the result before the step. Nothing
is changed after it has been sent, so no step waits until a source has been read.

Of large arrays, each node first puts its result into ``dest`` of its leader. Each member then combines one part of the
results of all nodes and puts it to all leaders. Finally the members on a node copy it from their leader. All get the
same bits: elements are combined in the order of the members on each node, then of the nodes. On the host,
``ishmem/core/scans_of_nodes.cpp`` and ``ishmem/core/copies_between_nodes.cpp`` do the same.
"""

from __future__ import annotations

from typing import NamedTuple

from ishmem.common.call_id import REFUSED

from .barrier import next_number
from .collective_calls import ALIGN, end_phase, id_of, part_of, put_small_blocks
from .combining import ELEMENT, MemberBlocks, combined, load_units, reduce_blocks, store_units, zero_units
from .copy import copy_by_group, copy_bytes
from .intrinsics import bytes_of, compiled, rank_in
from .nodes import nodes_of, pe_in, step_at
from .peers import on_peer
from .proxy import GET, PUT, copy_by_proxy
from .proxy_ring import await_ticket
from .rendezvous import (
    begun_rendezvous,
    block_step,
    calls_agree,
    distance_to_table,
    exchange_with_leader,
    group_broadcast,
    group_sync,
    member_at,
    release_on_node,
    rendezvous_on_node,
    slots_of,
)
from .spec_constants import chunk_bytes, chunk_memory
from .teams import members_of
from .work_division import work_item_share, workers_of

AT_ONCE = 15
"""Nodes whose results a member combines at once, at most."""

# ---- small blocks


@compiled
def combine_two(op, to, first, second, nbytes, members, group):
    """Combine blocks of ``nbytes`` bytes at ``first`` and ``second`` into ``to``, by the work-items of a group."""
    both, one = MemberBlocks(first, second - first, 0, 0, 2), MemberBlocks(to, 0, 0, 0, 1)
    reduce_blocks(op, both, one, nbytes, workers_of(group), members)


@compiled
def combine_leaders(op, nodes, members, nbytes, begun, agreed, group):
    """Combine the results of all nodes, as the work-group of a leader; return whether all calls are the same.

    ``agreed`` is whether those on this node are. ``begun`` is the `BegunRendezvous`, ``nbytes`` the size of a block.
    """
    address, apart = nodes.steps, block_step(nbytes)
    own = begun.blocks + members.me * apart
    total = own
    for _ in range(nodes.n_steps):
        step, address = step_at(address)
        theirs = begun.blocks + member_at(members, step.partner) * apart
        group_sync(group)
        if rank_in(group) == 0:
            if step.n_runs and nbytes:
                copy_by_proxy(PUT, step.partner, own, total, nbytes)
            agreed = exchange_with_leader(step, begun, agreed)
        group_sync(group)
        if step.takes and not step.is_whole:
            first, second = (theirs, total) if step.is_second else (total, theirs)
            combine_two(op, theirs, first, second, nbytes, members, group)
        if step.takes:
            total = theirs
    return agreed


@compiled
def combine_nodes(op, nodes, members, nbytes, begun, agreed, group):
    """Combine the blocks of this node, then the results of all; arguments and result as for `combine_leaders`."""
    apart = block_step(nbytes)
    own = begun.blocks + members.me * apart
    for i in range(1, nodes.n_near):
        group_sync(group)
        other = begun.blocks + member_at(members, pe_in(nodes.near, i)) * apart
        combine_two(op, own, own, other, nbytes, members, group)
    return combine_leaders(op, nodes, members, nbytes, begun, agreed, group)


# Model: tests/models/small_reductions.pml.
@compiled
def reduce_small(op, call, count, group):
    """Run a reduction of blocks of ``count`` elements in a team of this PE that spans nodes; return 0."""
    nodes, members, nbytes, agreed = nodes_of(call.team), members_of(call.team), count * call.itemsize, True
    call_id = id_of(call, count, members.size)
    group_sync(group)
    if rank_in(group) == 0:
        if call_id != REFUSED:
            put_small_blocks(members, slots_of(call.team, 0), call, count, True)
        next_number(call.team)
    group_sync(group)
    begun = begun_rendezvous(call.team, call_id, count)
    if rank_in(group) == 0:
        agreed = rendezvous_on_node(nodes, members, begun, count)
    if nodes.index == 0:
        agreed = combine_nodes(op, nodes, members, nbytes, begun, agreed, group)
    group_sync(group)
    if rank_in(group) == 0:
        agreed = release_on_node(nodes, begun, agreed)
        agreed = calls_agree(call.team, members, call_id, count, agreed)
    if group_broadcast(group, agreed):
        total = begun.blocks + nodes.total * block_step(nbytes) + distance_to_table(call.team)
        copy_by_group(call.dest, total, nbytes, group)
    group_sync(group)
    return 0


# ---- large arrays


class NodeChunks(NamedTuple):
    """The memory in which a member combines the results of nodes.

    Attributes:
        first: Address of the chunks, one for each of at most `AT_ONCE` nodes.
        size: Bytes of a chunk.
        result: Address of the result.
    """

    first: int
    size: int
    result: int


@compiled
def distance_to_leader(nodes, dest):
    """Return the distance in bytes from ``dest`` of this PE to ``dest`` of this node's leader."""
    return on_peer(dest, pe_in(nodes.near, 0)) - dest


@compiled
def combine_on_node(reduction, nodes, begin, count, workers):
    """Combine ``count`` elements, from ``begin`` on, of the members on this node into ``dest`` of its leader."""
    op = reduction.op
    like, to = zero_units(op, ELEMENT), on_peer(reduction.dest, pe_in(nodes.near, 0))
    item = bytes_of(like)
    first, step, end = work_item_share(count, workers.rank, workers.width)
    for i in range(begin + first, begin + end, step):
        origin = reduction.source + i * item
        total = load_units(on_peer(origin, pe_in(nodes.near, 0)), 0, like)
        for place in range(1, nodes.n_near):
            total = combined(op, total, load_units(on_peer(origin, pe_in(nodes.near, place)), 0, like))
        store_units(to + i * item, 0, like, total)


@compiled
def add_nodes(op, first, last, own, at, chunks, nbytes, workers):
    """Combine chunks of nodes ``first`` to ``last`` (excluded) into the result; that of node ``own`` is at ``at``."""
    like, result = zero_units(op, ELEMENT), chunks.result
    item = bytes_of(like)
    begin, step, end = work_item_share(nbytes // item, workers.rank, workers.width)
    for i in range(begin, end, step):
        total = load_units(result + i * item, 0, like)
        for node in range(first, last):
            chunk = at if node == own else chunks.first + (node - first) * chunks.size
            value = load_units(chunk + i * item, 0, like)
            total = value if node == 0 else combined(op, total, value)
        store_units(result + i * item, 0, like, total)


@compiled
def combine_between_nodes(reduction, nodes, group):
    """Combine this PE's part of the results of all nodes into ``dest`` of all leaders."""
    op, dest, _source, nbytes, team, members = reduction
    workers, to_leader = workers_of(group), distance_to_leader(nodes, dest)
    many, first_chunk = min(nodes.count, AT_ONCE), chunk_memory() + chunk_bytes() * team
    size = chunk_bytes() // (many + 1) // ALIGN * ALIGN
    places = NodeChunks(first_chunk, size, first_chunk + many * size)
    low, end = part_of(nbytes, members.size, members.me)
    ticket = -1
    while low < end:
        n, at = min(size, end - low), dest + low
        for first in range(0, nodes.count, many):
            last = min(first + many, nodes.count)
            await_ticket(get_chunks(nodes, first, last, at, places, n, workers))
            await_ticket(ticket)  # the previous result has been put
            group_sync(group)
            add_nodes(op, first, last, nodes.node, at + to_leader, places, n, workers)
            group_sync(group)
        ticket = put_chunk(nodes, at, places.result, n, workers)
        copy_bytes(at + to_leader, places.result, n, workers.rank, workers.width)
        low += n


@compiled
def reduce_large(reduction, group):
    """Reduce large arrays: on each node, between the nodes by parts, then to all members of each node."""
    op, dest, _source, nbytes, team, _members = reduction
    nodes, workers, item = nodes_of(team), workers_of(group), bytes_of(zero_units(op, ELEMENT))
    first, end = part_of(nbytes, nodes.n_near, nodes.index)
    combine_on_node(reduction, nodes, first // item, (end - first) // item, workers)
    end_phase(group, team)
    combine_between_nodes(reduction, nodes, group)
    end_phase(group, team)
    at, to_leader = dest + first, distance_to_leader(nodes, dest)
    for place in range(1, nodes.n_near):
        there = on_peer(at, pe_in(nodes.near, place))
        copy_bytes(there, at + to_leader, end - first, workers.rank, workers.width)


@compiled
def get_chunks(nodes, first, last, at, chunks, nbytes, workers):
    """Request ``nbytes`` bytes at ``at`` of the leaders of nodes ``first`` to ``last`` (excluded) into their chunks.

    The work-items divide the nodes; nothing is requested from this node.

    Returns:
        The ticket of this work-item's last request; -1 without requests, with which `await_ticket` returns at once.
    """
    ticket = -1
    for node in range(first + workers.rank, last, workers.width):
        if node != nodes.node:
            here = chunks.first + (node - first) * chunks.size
            ticket = copy_by_proxy(GET, pe_in(nodes.leaders, node), at, here, nbytes)
    return ticket


@compiled
def put_chunk(nodes, at, result, nbytes, workers):
    """Request puts of ``nbytes`` bytes at ``result`` to ``at`` on other nodes' leaders; return a ticket or -1."""
    ticket = -1
    for node in range(workers.rank, nodes.count, workers.width):
        if node != nodes.node:
            ticket = copy_by_proxy(PUT, pe_in(nodes.leaders, node), at, result, nbytes)
    return ticket
