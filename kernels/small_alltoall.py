"""Alltoalls of small blocks in teams that span nodes: each node sends one message to each other node.

The members of a node are its *aggregators* in turn, one for each node (``ishmem.common.layout.NodeExchange``). A member
puts its blocks for the members of a node into the slots of the aggregator for that node. After the rendezvous the
aggregators of two nodes put to each other the blocks received. Then each member copies the blocks for it from the
aggregators of its own node. Without aggregators, each PE would send one message to each other PE.
"""

from __future__ import annotations

from ishmem.common.layout import LINE

from .barrier import await_line, disseminate
from .copy import copy_steps
from .intrinsics import compiled, rank_in, size_of
from .nodes import exchange_with, nodes_of, pe_in, run_at, spans_nodes
from .options import LEVELS
from .peers import peer_delta
from .proxy import PUT, copy_by_proxy, store_flag
from .rendezvous import begun_rendezvous, blocks_at, header_at, max_payload, member_at
from .teams import members_of
from .work_division import Workers


@compiled
def by_aggregators(call, nbytes):
    """Return whether a call is an alltoall between nodes whose blocks of ``nbytes`` bytes fit in aggregators' slots."""
    team, is_alltoall = call.team, call.flow.source_blocks and call.flow.dest_blocks
    if not (LEVELS and is_alltoall and spans_nodes(team)) or nbytes > max_payload():
        return False
    return 2 * nodes_of(team).widest * nbytes <= members_of(team).size * max_payload()


@compiled
def put_to_aggregators(call, slots, count, group):
    """Put this PE's blocks of ``count`` elements to the aggregators of its node. Work-items divide the nodes."""
    if not LEVELS:
        return
    nodes, nbytes, origin = nodes_of(call.team), count * call.itemsize, blocks_at(call.team, slots)
    for distance in range(rank_in(group), nodes.count, size_of(group)):
        exchange = exchange_with(nodes, distance)
        to = origin + (exchange.place + nodes.index * exchange.size) * nbytes + to_aggregator(nodes, distance)
        for run in range(exchange.n_runs):
            first, members = run_at(exchange.runs, run)
            block = call.source + first * count * call.sst * call.itemsize
            copy_steps(to, block, 1, call.sst, call.itemsize, members * count, Workers(0, 1))
            to += members * nbytes


@compiled
def to_aggregator(nodes, distance):
    """Return the distance in bytes to the slots of the aggregator for the node ``distance`` nodes after this one."""
    return peer_delta(pe_in(nodes.near, distance % nodes.n_near))


# Model: tests/models/small_alltoall.pml.
@compiled
def exchange_nodes(call, nbytes):
    """Exchange the aggregators' blocks, of ``nbytes`` bytes, with the other nodes; wait for those of this node's."""
    if not LEVELS:
        return
    nodes, begun, members = nodes_of(call.team), begun_rendezvous(call.team, 0, 0), members_of(call.team)
    first = nodes.index if nodes.index else nodes.n_near  # not the exchange of this node with itself
    for distance in range(first, nodes.count, nodes.n_near):
        put_to_partner(exchange_with(nodes, distance), nodes, begun, members, nbytes)
    for distance in range(first, nodes.count, nodes.n_near):
        partner = exchange_with(nodes, distance).partner
        await_line(header_at(begun.slots, member_at(members, partner)), begun.number, partner, None)
    line = begun.release - LINE * nodes.rounds
    disseminate(nodes.near, nodes.n_near, nodes.index, line, begun.number, None)


@compiled
def put_to_partner(exchange, nodes, begun, members, nbytes):
    """Put the blocks of an exchange, then the number of the rendezvous as a flag, to the other node's aggregator.

    Requests to one PE are executed in order, so the flag arrives last. It is in the header of this PE there.
    """
    origin = begun.blocks + exchange.place * nbytes
    to = begun.blocks + (nodes.widest + exchange.partner_place) * nbytes
    if nbytes:
        copy_by_proxy(PUT, exchange.partner, to, origin, nodes.n_near * exchange.size * nbytes)
    store_flag(exchange.partner, header_at(begun.slots, members.me), begun.number)


@compiled
def copy_from_aggregators(call, slots, count, group):
    """Copy the blocks of ``count`` elements for this PE to ``dest`` from aggregators. Work-items divide the nodes."""
    if not LEVELS:
        return
    nodes, nbytes, origin = nodes_of(call.team), count * call.itemsize, blocks_at(call.team, slots)
    for distance in range(rank_in(group), nodes.count, size_of(group)):
        exchange = exchange_with(nodes, distance)
        place = exchange.place + nodes.index + (nodes.widest if distance else 0)
        block = origin + place * nbytes + to_aggregator(nodes, distance)
        for run in range(exchange.n_runs):
            first, members = run_at(exchange.runs, run)
            for member in range(first, first + members):
                to = call.dest + member * count * call.dst * call.itemsize
                copy_steps(to, block, call.dst, 1, call.itemsize, count, Workers(0, 1))
                block += nodes.n_near * nbytes
