"""The rendezvous in two levels, for teams that span nodes: on each node, then between the leaders of the nodes."""

from __future__ import annotations

from .barrier import await_line, release
from .copy import copy_bytes
from .intrinsics import compiled, load_word, store_word
from .nodes import after, nodes_of, pe_in
from .peers import peer_delta
from .proxy import PUT, copy_by_proxy, reachable, store_flag
from .slots import CALL, COUNT, PAYLOAD, SHARE, max_payload, slot_at


@compiled
def meet_by_nodes(team, members, slots, number, call_id, count, share, item, root):
    """Meet the members of each node, and the nodes by their leaders, which exchange the slots of their nodes.

    The other members of a node then copy from their leader the slots that it has received.

    Model: tests/models/rendezvous_of_nodes.pml.
    """
    nodes = nodes_of(team)
    for i in range(nodes.n_near):
        announce_near(pe_in(nodes.near, i), slot_at(slots, members.me), number, call_id, count, share)
    for i in range(nodes.n_near):
        await_line(slot_at(slots, member_at(members, nodes.near, i)), number, pe_in(nodes.near, i))
    if nodes.index == 0:
        exchange_slots(members, nodes, slots, number, item, root)
    release(team, nodes, number)
    if nodes.index:
        fetch_slots(members, slots, item, root, peer_delta(pe_in(nodes.near, 0)))


@compiled
def announce_near(pe, slot, number, call_id, count, share):
    """Write the header of this PE's slot on a member of this node."""
    there = slot + peer_delta(pe)
    store_word(there + CALL, call_id)
    store_word(there + COUNT, count)
    store_word(there + SHARE, share)
    store_flag(pe, slot, number)


@compiled
def member_at(members, pes, place):
    """Return the member number of the PE at a place of a list."""
    return (pe_in(pes, place) - members.start) // members.stride


@compiled
def data_in(slot, member, item, root):
    """Return the number of bytes of data in a member's slot that are for all members."""
    nbytes = load_word(slot + SHARE) * item
    return nbytes if 0 <= nbytes <= max_payload() and (root < 0 or member == root) else 0


@compiled
def exchange_slots(members, nodes, slots, number, item, root):
    """Put the slots of this node's members to the leaders of the other nodes, and wait for theirs.

    Requests to one PE are executed in order, so the number in the leader's own slot arrives after everything else.
    """
    for step in range(1, nodes.count):
        leader = pe_in(nodes.leaders, after(nodes.node, step, nodes.count))
        for i in range(nodes.n_near):
            member = member_at(members, nodes.near, i)
            begin = slot_at(slots, member) + CALL
            nbytes = PAYLOAD - CALL + data_in(slot_at(slots, member), member, item, root)
            copy_by_proxy(PUT, leader, begin, begin, nbytes)
        store_flag(leader, slot_at(slots, members.me), number)
    for node in range(nodes.count):
        await_line(slot_at(slots, member_at(members, nodes.leaders, node)), number, pe_in(nodes.leaders, node))


@compiled
def fetch_slots(members, slots, item, root, to_leader):
    """Copy the slots of members on other nodes from the leader, whose heap is ``to_leader`` bytes away."""
    for member in range(members.size):
        if not reachable(members.start + member * members.stride):
            slot = slot_at(slots, member)
            nbytes = PAYLOAD - CALL + data_in(slot + to_leader, member, item, root)
            copy_bytes(slot + CALL, slot + CALL + to_leader, nbytes, 0, 1)
