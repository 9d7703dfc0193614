"""The rendezvous in two levels, for teams that span nodes: on each node, then between the leaders of the nodes.

The leaders follow a table of steps that the host writes: those of its own rendezvous (ishmem/core/exchange.hpp). The
same goes between them: a digest of the calls, where they are compared, and what somebody needs of small blocks
(`Carried`). Members put their blocks to their leader only, and read from it what they need. The headers of all members
follow if calls differ, for the text of the error.
"""

from __future__ import annotations

from typing import NamedTuple

from ishmem.common.call_id import DIFFERENT
from ishmem.common.layout import LINE

from .barrier import SEQUENCE, await_line, next_number, release
from .intrinsics import compiled, load_word, store_word
from .nodes import nodes_of, pe_in, run_at, spans_nodes, step_at
from .options import CHECK, LEVELS
from .peers import peer_delta
from .proxy import PUT, copy_by_proxy, store_at, store_flag
from .rendezvous_slots import CALL, COUNT, PAYLOAD, SHARE, block_step, blocks_at, header_at, slots_of
from .spec_constants import meeting_bytes, meeting_lines, team_records

NOTHING, FROM_ROOT, FROM_ALL, SLOTS, LATER = range(5)
"""What a rendezvous carries between nodes: no data, the block of the root, those of all members, or their slots.

`LATER`: all nodes send each other data after it, so that they have to meet in it only to compare their calls.
"""

SAME = 8
"""In the line by which a leader releases the members of its node: whether all calls are the same."""


class Carried(NamedTuple):
    """What a rendezvous carries between nodes.

    Attributes:
        what: `NOTHING`, `FROM_ROOT`, `FROM_ALL`, `SLOTS` or `LATER`.
        nbytes: Bytes of a block.
        root: The root, as a member.
    """

    what: int
    nbytes: int
    root: int


class Meeting(NamedTuple):
    """A rendezvous.

    Attributes:
        slots: Address of this PE's slots.
        blocks: Address of the first block in them.
        lines: Address of the lines of the steps between leaders.
        release: Address of the line by which the leader of this node releases the others.
        number: Its number.
        call_id, count: As in the `RendezvousSlot` of this PE.
    """

    slots: int
    blocks: int
    lines: int
    release: int
    number: int
    call_id: int
    count: int  # type: ignore[assignment]  # hides a method of tuple


@compiled
def meet_by_nodes(team, members, call_id, count, share, carried):
    """Meet the members of each node, and the nodes by their leaders; return whether all calls are the same.

    Without argument checks, they are taken to be.

    Model: tests/models/rendezvous_of_nodes.pml.
    """
    next_number(team)
    nodes, meeting = nodes_of(team), meeting_of(team, call_id, count)
    same = meet_near(nodes, members, meeting, share)
    if carried.what == LATER and not CHECK:
        return same
    if nodes.index == 0:
        same = exchange(nodes, meeting, carried, same)
    return release_near(nodes, meeting, same)


@compiled
def meeting_of(team, call_id, count):
    """Return the rendezvous of a team that this PE has begun."""
    number = load_word(team_records() + SEQUENCE + LINE * team)
    slots, half = slots_of(team, 1), meeting_bytes() // 2
    lines = meeting_lines() + meeting_bytes() * team + (number & 1) * half
    return Meeting(slots, blocks_at(team, slots), lines, lines + half - LINE, number, call_id, count)


# ---- on a node


@compiled
def meet_near(nodes, members, meeting, share):
    """Meet the members of this node; return whether their calls are the same."""
    same = True
    for i in range(nodes.n_near):
        announce_near(pe_in(nodes.near, i), header_at(meeting.slots, members.me), meeting, share)
    for i in range(nodes.n_near):
        pe = pe_in(nodes.near, i)
        header = header_at(meeting.slots, member_at(members, pe))
        await_line(header, meeting.number, pe, None)
        same = same and is_same(header, meeting)
    return same


@compiled
def announce_near(pe, header, meeting, share):
    """Write the header of this PE's slot on a member of this node."""
    there = header + peer_delta(pe)
    store_word(there + CALL, meeting.call_id)
    store_word(there + COUNT, meeting.count)
    store_word(there + SHARE, share)
    store_flag(pe, header, meeting.number)


@compiled
def member_at(members, pe):
    """Return the member number of a PE."""
    return (pe - members.start) // members.stride


@compiled
def is_same(line, meeting):
    """Return whether a header, or the line of a step, tells of the call of this PE."""
    return not CHECK or (load_word(line + CALL) == meeting.call_id and load_word(line + COUNT) == meeting.count)


@compiled
def release_near(nodes, meeting, same):
    """As the leader, tell the members of this node what is ``same``, and release them; return it on all of them."""
    if CHECK and nodes.index == 0:
        for i in range(1, nodes.n_near):
            store_word(meeting.release + SAME + peer_delta(pe_in(nodes.near, i)), 1 if same else 0)
    release(nodes, meeting.release, meeting.number, None)
    return load_word(meeting.release + SAME) != 0 if CHECK and nodes.index else same


@compiled
def distance_to_table(team):
    """Return how many bytes the slots of a team on the leader of this node are away from those of this PE."""
    return peer_delta(pe_in(nodes_of(team).near, 0)) if LEVELS and spans_nodes(team) else 0


# ---- between leaders


@compiled
def exchange(nodes, meeting, carried, same):
    """Exchange what is carried with the leaders of other nodes, and digests, in a logarithm of steps."""
    address = nodes.steps
    for _ in range(nodes.n_steps):
        step, address = step_at(address)
        for run in range(step.n_runs):
            first, count = run_at(step.runs, run)
            put_carried(step.partner, meeting, first, count, carried)
        same = tell_and_hear(step, meeting, same)
    return same


@compiled
def put_carried(leader, meeting, first, count, carried):
    """Put what is carried of consecutive members to a leader."""
    if carried.what == SLOTS:
        put_here(leader, header_at(meeting.slots, first), PAYLOAD * count)
    if carried.what == FROM_ROOT:
        is_root = first <= carried.root and carried.root < first + count
        first, count = carried.root, 1 if is_root else 0
    if carried.what != NOTHING and carried.what != LATER:
        apart = block_step(carried.nbytes)
        put_here(leader, meeting.blocks + first * apart, count * apart)


@compiled
def put_here(leader, address, nbytes):
    """Put memory of this PE to the same place on a leader."""
    if nbytes:
        copy_by_proxy(PUT, leader, address, address, nbytes)


@compiled
def tell_and_hear(step, meeting, same):
    """Tell the other leader of a step of what has been put to it, and wait for what it puts; both with digests.

    Requests to one PE are executed in order, so the number in the line arrives last.

    Returns:
        Whether all calls that this leader knows of are the same.
    """
    line, number = meeting.lines + LINE * step.line, meeting.number
    if step.n_runs:
        if CHECK:
            store_at(step.partner, line + CALL, number, meeting.call_id if same else DIFFERENT)
            store_at(step.partner, line + COUNT, number, meeting.count)
        store_flag(step.partner, line, number)
    if step.takes:
        await_line(line, number, step.partner, None)
        same = same and is_same(line, meeting)
    return same
