"""Collectives with large blocks in two levels, for teams that span nodes: data cross the network once per node.

Of a block that all members on a node need from another node, each of them fetches one part and copies it to the others.

In a reduction, each node first puts its result into ``dest`` of its leader. Each member then combines one part of the
results of all nodes and puts it to all leaders. Finally the members on a node copy it from their leader. All get the
same bits: elements are combined in the order of the members on each node, then of the nodes.

``ishmem/core/scans_of_nodes.cpp`` and ``ishmem/core/spanning.cpp`` do the same for the host.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .copy import copy_bytes, transfer
from .intrinsics import compiled, item_bytes, load, load_word, rank_in, size_of, store
from .nodes import after, nodes_of, pe_in
from .proxy import GET, PUT, copy_by_proxy, reachable
from .proxy_ring import await_ticket
from .regions import on_peer
from .rendezvous import ALIGN, await_transfers, end_phase, group_sync, part_of
from .rendezvous_slots import SHARE, header_at, max_payload
from .spec_constants import tile_bytes, tiles
from .teams import pe_of
from .work_division import work_item_share, workers_of

PIECE = 64 << 10
"""Bytes of the largest block that one member fetches whole for its node; members share larger ones."""

AT_ONCE = 15
"""Nodes whose results a member combines at once, at most."""

# ---- movement


@compiled
def own_share(nodes, nbytes, turn):
    """Return the range of bytes of block ``turn`` that this PE fetches for its node."""
    if nbytes > PIECE:
        return part_of(nbytes, nodes.n_near, nodes.index)
    return 0, nbytes if turn % nodes.n_near == nodes.index else 0


@compiled
def fetch_share(nodes, pe, to, origin, nbytes, turn, group):
    """Get this PE's share of a block that all members on its node need."""
    first, end = own_share(nodes, nbytes, turn)
    transfer(0, pe, to + first, origin + first, end - first, group)


@compiled
def spread_share(nodes, to, nbytes, turn, group):
    """Copy the share that this PE has fetched to the other members on its node."""
    first, end = own_share(nodes, nbytes, turn)
    for step in range(1, nodes.n_near):
        there = on_peer(to + first, pe_in(nodes.near, after(nodes.index, step, nodes.n_near)))
        copy_bytes(there, to + first, end - first, rank_in(group), size_of(group))


@compiled
def broadcast_by_nodes(members, call, count, group):
    """Broadcast a large block from the root."""
    nodes, nbytes = nodes_of(call.team), count * call.itemsize
    root = pe_of(members, call.root)
    fetch_share(nodes, root, call.dest, call.source, nbytes, 0, group)
    await_transfers(group)
    spread_share(nodes, call.dest, nbytes, 0, group)


@compiled
def put_near(nodes, to, origin, nbytes, group):
    """Put this PE's block to all members on its node."""
    for step in range(nodes.n_near):
        pe = pe_in(nodes.near, after(nodes.index, step, nodes.n_near))
        copy_bytes(on_peer(to, pe), origin, nbytes, rank_in(group), size_of(group))


@compiled
def large_block(slots, member, item, count):
    """Return the bytes of a member's block, twice; the first are 0 if the block came with the rendezvous."""
    nbytes = (load_word(header_at(slots, member) + SHARE) if count < 0 else count) * item
    return nbytes if nbytes > max_payload() else 0, nbytes


@compiled
def collect_by_nodes(members, slots, call, count, group):
    """Concatenate the large blocks of the members.

    They have ``count`` elements each or, if that is negative, as many as the headers in ``slots`` say.
    """
    nodes, to = nodes_of(call.team), call.dest
    for member in range(members.size):
        pe, (large, nbytes) = pe_of(members, member), large_block(slots, member, call.itemsize, count)
        if member == members.me:
            put_near(nodes, to, call.source, large, group)
        elif not reachable(pe):
            fetch_share(nodes, pe, to, call.source, large, member, group)
        to += nbytes
    await_transfers(group)
    to = call.dest
    for member in range(members.size):
        large, nbytes = large_block(slots, member, call.itemsize, count)
        if not reachable(pe_of(members, member)):
            spread_share(nodes, to, large, member, group)
        to += nbytes


# ---- reductions


class Tiles(NamedTuple):
    """The memory in which a member combines the results of nodes.

    Attributes:
        first: Address of a tile for each of some nodes.
        size: Bytes of a tile.
        result: Address of the result.
    """

    first: int
    size: int
    result: int


@compiled
def distance_to_leader(nodes, call):
    """Return how many bytes ``dest`` of this node's leader is away from that of this PE."""
    return on_peer(call.dest, pe_in(nodes.near, 0)) - call.dest


def _make_on_node(combine: Any) -> Any:
    @compiled
    def on_node(sample, call, nodes, begin, count, rank, width):
        """Combine ``count`` elements of the members on this node; the leader gets the result."""
        item, to = call.itemsize, on_peer(call.dest, pe_in(nodes.near, 0))
        first, step, end = work_item_share(count, rank, width)
        for i in range(begin + first, begin + end, step):
            origin = call.source + i * item
            total = load(on_peer(origin, pe_in(nodes.near, 0)), sample)
            for place in range(1, nodes.n_near):
                total = combine(total, load(on_peer(origin, pe_in(nodes.near, place)), sample))
            store(to + i * item, sample, total)

    return on_node


def _make_between(combine: Any) -> Any:
    @compiled
    def add_nodes(sample, first, last, own, at, tiles, nbytes, workers):
        """Combine tiles of nodes ``first`` to ``last`` onto the result; node ``own`` has its tile at ``at``."""
        item, result = item_bytes(sample), tiles.result
        begin, step, end = work_item_share(nbytes // item, workers.rank, workers.width)
        for i in range(begin, end, step):
            total = load(result + i * item, sample)
            for node in range(first, last):
                value = load((at if node == own else tiles.first + (node - first) * tiles.size) + i * item, sample)
                total = value if node == 0 else combine(total, value)
            store(result + i * item, sample, total)

    @compiled
    def between(sample, call, nbytes, nodes, members, group):
        """Combine this PE's part of the results of all nodes; the leaders get the result."""
        workers, to_leader = workers_of(group), distance_to_leader(nodes, call)
        many, first_tile = min(nodes.count, AT_ONCE), tiles() + tile_bytes() * call.team
        size = tile_bytes() // (many + 1) // ALIGN * ALIGN
        places = Tiles(first_tile, size, first_tile + many * size)
        low, end = part_of(nbytes, members.size, members.me)
        ticket = -1
        while low < end:
            n, at = min(size, end - low), call.dest + low
            for first in range(0, nodes.count, many):
                last = min(first + many, nodes.count)
                await_ticket(get_tiles(nodes, first, last, at, places, n, workers))
                await_ticket(ticket)  # the previous result has been put
                group_sync(group)
                add_nodes(sample, first, last, nodes.node, at + to_leader, places, n, workers)
                group_sync(group)
            ticket = put_tile(nodes, at, places.result, n, workers)
            copy_bytes(at + to_leader, places.result, n, workers.rank, workers.width)
            low += n

    return between


def make_reduction(combine: Any) -> Any:
    """Make the reduction of large arrays; ``combine`` combines two elements."""
    on_node, between = _make_on_node(combine), _make_between(combine)

    @compiled
    def by_nodes(sample, call, nbytes, members, group):
        """Reduce large arrays of a team that spans nodes."""
        nodes, rank, width = nodes_of(call.team), rank_in(group), size_of(group)
        item = call.itemsize
        first, end = part_of(nbytes, nodes.n_near, nodes.index)
        on_node(sample, call, nodes, first // item, (end - first) // item, rank, width)
        end_phase(group, call.team)
        between(sample, call, nbytes, nodes, members, group)
        end_phase(group, call.team)
        at, to_leader = call.dest + first, distance_to_leader(nodes, call)
        for place in range(1, nodes.n_near):
            copy_bytes(on_peer(at, pe_in(nodes.near, place)), at + to_leader, end - first, rank, width)

    return by_nodes


@compiled
def get_tiles(nodes, first, last, at, tiles, nbytes, workers):
    """Get the tiles of nodes ``first`` to ``last`` from their leaders; the nodes are divided among the work-items.

    Returns:
        The ticket of this work-item's last request, or -1, for which `await_ticket` does not wait.
    """
    ticket = -1
    for node in range(first + workers.rank, last, workers.width):
        if node != nodes.node:
            here = tiles.first + (node - first) * tiles.size
            ticket = copy_by_proxy(GET, pe_in(nodes.leaders, node), at, here, nbytes)
    return ticket


@compiled
def put_tile(nodes, at, result, nbytes, workers):
    """Put a result to the leaders of the other nodes; return a ticket as `get_tiles` does."""
    ticket = -1
    for node in range(workers.rank, nodes.count, workers.width):
        if node != nodes.node:
            ticket = copy_by_proxy(PUT, pe_in(nodes.leaders, node), at, result, nbytes)
    return ticket
