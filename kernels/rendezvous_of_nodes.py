"""The rendezvous in two levels, for teams that span nodes: on each node, then between the leaders of the nodes.

The leaders follow a table of steps that the host writes: those of its own rendezvous (ishmem/core/exchange.hpp).
"""

from __future__ import annotations

from ishmem.common.layout import LINE
from ishmem.runtime import binding

from .barrier import await_line, release
from .copy import copy_bytes
from .intrinsics import compiled, device_function, load_word, store_word
from .nodes import nodes_of, pe_in, step_at
from .peers import peer_delta
from .proxy import PUT, copy_by_proxy, reachable, store_flag
from .slots import CALL, COUNT, PAYLOAD, SHARE, max_payload, slot_at, slot_bytes
from .spec_constants import meeting_bytes, meeting_lines


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
        exchange_slots(nodes, slots, meeting_lines() + meeting_bytes() * team, number, item, root)
    release(team, nodes, number)
    if nodes.index and (item or are_compared()):
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


@device_function
def are_compared():
    """Return whether the calls of all members are compared, for which each of them needs all slots."""
    return (lambda: True) if binding.options().check else (lambda: False)


@compiled
def put_slots(leader, slots, first, count, item, root):
    """Put what is needed of the slots of consecutive members to a leader.

    Without data for all members, the payloads there are those of its own.
    """
    begin = slot_at(slots, first)
    if item and (root < 0 or are_compared()):
        copy_by_proxy(PUT, leader, begin, begin, count * slot_bytes())
    elif item and first <= root < first + count:
        begin = slot_at(slots, root)
        copy_by_proxy(PUT, leader, begin, begin, PAYLOAD + data_in(begin, root, item, root))
    elif not item and are_compared():
        for i in range(count):
            at = begin + i * slot_bytes()
            copy_by_proxy(PUT, leader, at, at, PAYLOAD)


@compiled
def exchange_slots(nodes, slots, lines, number, item, root):
    """Put the slots of members to the leaders of other nodes and receive those of all members, in a logarithm of steps.

    Requests to one PE are executed in order, so the number in the line of a step arrives after the slots.
    """
    address = nodes.steps
    for _ in range(nodes.n_steps):
        step, address = step_at(address)
        line = lines + LINE * step.line
        for run in range(step.n_runs):
            first, count = load_word(step.runs + 16 * run), load_word(step.runs + 16 * run + 8)
            put_slots(step.partner, slots, first, count, item, root)
        if step.n_runs:
            store_flag(step.partner, line, number)
        if step.takes:
            await_line(line, number, step.partner)


@compiled
def fetch_slots(members, slots, item, root, to_leader):
    """Copy the slots of members on other nodes from the leader, whose heap is ``to_leader`` bytes away.

    Short slots of consecutive members are copied together, with what is between their data.
    """
    member, end = 0, members.size
    if root >= 0 and not are_compared():
        member, end = root, root + 1
    together = item != 0 and slot_bytes() == LINE
    while member < end:
        begin, after = slot_at(slots, member) + CALL, member
        while after < end and not reachable(members.start + after * members.stride) and (together or after == member):
            after += 1
        if together and after > member:
            copy_bytes(begin, begin + to_leader, (after - member) * slot_bytes() - CALL, 0, 1)
        elif after > member:
            nbytes = PAYLOAD - CALL + data_in(begin - CALL + to_leader, member, item, root)
            copy_bytes(begin, begin + to_leader, nbytes, 0, 1)
        member = max(after, member + 1)
