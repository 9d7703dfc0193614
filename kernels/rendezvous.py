"""The rendezvous of the members of a team, by which a collective call in a kernel begins.

Each member writes its call number, its arguments and, for small blocks, its data into its slot on every member, then
waits until all members have done so. The rendezvous and barriers of a team share one sequence of numbers, and each
completes only after all members have begun it. So a member that begins number ``s`` knows that all members have
completed ``s - 2`` and may reuse the slots of that number.

In a team that spans nodes, it has two levels: on each node, then between the leaders of the nodes. These follow a table
of steps that the host writes: those of its own rendezvous (ishmem/core/exchange.hpp). The same goes between them: a
digest of the calls, where they are compared, and what somebody needs of small blocks (`Carried`). Members put their
blocks to their leader only, and read from it what they need. The headers of all members follow if calls differ, for the
text of the error.

``group`` is the calling work-group, or None if a single work-item calls.
"""

from __future__ import annotations

from typing import NamedTuple

from numba.core import types

from ishmem.common import call_id
from ishmem.common.call_id import DIFFERENT, REFUSED
from ishmem.common.layout import FEW_MEMBERS, LINE, RENDEZVOUS_SLOT, RendezvousSlot
from ishmem.common.violations import MISMATCH

from .atomic_instructions import memory_fence
from .barrier import SEQUENCE, await_line, next_number, release
from .copy import copy_by_group
from .intrinsics import (
    I64,
    Code,
    compiled,
    device_intrinsic,
    from_one,
    group_barrier,
    load_word,
    rank_in,
    store_word,
)
from .memory_orders import GROUP
from .nodes import after, nodes_of, pe_in, run_at, spans_nodes, step_at
from .options import CHECK, LEVELS, SPANS, WIDE
from .peers import peer_delta
from .proxy import PUT, copy_by_proxy, order_before_flag, store_at, store_flag
from .runtime_checks import report
from .spec_constants import meeting_bytes, meeting_lines, pe_count, rendezvous_bytes, rendezvous_slots, team_records
from .teams import pe_of

# ---- slots: see ``RendezvousSlot`` of ``ishmem.common.layout``


NUMBER, CALL, COUNT, SHARE, PAYLOAD = (RendezvousSlot.at(field) for field in RendezvousSlot._fields)


NARROW = LINE * FEW_MEMBERS


@compiled
def slots_of(team, begun):
    """Return the address of this PE's slots for the current rendezvous (``begun`` 1) or for the next one (0)."""
    return slots_of_number(team, load_word(team_records() + SEQUENCE + LINE * team) + 1 - begun)


@compiled
def slots_of_number(team, number):
    """Return the address of this PE's slots for the rendezvous of a number."""
    odd = number & 1
    if WIDE and team >= WIDE:
        return rendezvous_slots() + rendezvous_bytes() * WIDE + NARROW * (2 * (team - WIDE) + odd)
    return rendezvous_slots() + rendezvous_bytes() * team + odd * (rendezvous_bytes() // 2)


def _slot_bytes() -> int:
    return LINE if WIDE else RENDEZVOUS_SLOT


def _header_bytes() -> int:
    return PAYLOAD if SPANS else _slot_bytes()


@device_intrinsic
def header_at(slots, member):
    """Return the address of a member's header."""

    def emit(code: Code, start, index):
        distance = code.builder.mul(code.cast(index, 1, types.int64), I64(_header_bytes()))
        return code.builder.add(start, distance)

    return types.int64(types.int64, member), emit


@compiled
def blocks_at(team, slots):
    """Return the address of the block of member 0 in slots of a team.

    It does not depend on the size of the team, since numbers in headers must not be overwritten by blocks: a later team
    may have this handle.
    """
    if not SPANS:
        return slots + PAYLOAD
    if WIDE and team >= WIDE:
        return slots + PAYLOAD * FEW_MEMBERS
    return slots + PAYLOAD * pe_count()


@compiled
def block_step(nbytes):
    """Return the bytes between the starts of consecutive blocks of ``nbytes`` bytes."""
    return nbytes if SPANS else PAYLOAD + max_payload()


@device_intrinsic
def max_payload():
    """Return the size in bytes of the largest block that is sent with the rendezvous, in its slot."""
    return types.int64(), lambda _code: I64(_slot_bytes() - PAYLOAD)


group_fence = memory_fence(GROUP)
routine_of = compiled(call_id.routine_of)


# ---- the calling work-group


@compiled
def group_sync(group):
    """Synchronize the group: order its work-items' earlier memory operations before their later ones.

    Model: tests/models/work_group.pml.
    """
    if group is not None:
        group_fence()
        group_barrier(group)


@compiled
def group_broadcast(group, held):
    """Return ``held`` of work-item 0 on every work-item; True if arguments are not checked."""
    known = from_one(group, held and rank_in(group) == 0) if CHECK else True
    group_barrier(group)
    return known


# ---- rendezvous


@compiled
def rendezvous(team, members, call_id, count, share, carried):
    """Publish this PE's call and wait for all members to enter it; return whether all made the same call.

    Args:
        team, members: The team.
        call_id, count: The fields ``call`` and ``count`` of the `RendezvousSlot`, which ``ISHMEM_CHECK`` compares.
        share: Its field ``share``; -1 if no member reads it.
        carried: The data that are for all members, in a team that spans nodes.

    Model: tests/models/rendezvous.pml.
    """
    if LEVELS and spans_nodes(team):
        same = meet_by_nodes(team, members, call_id, count, share, carried)
        return may_go_on(team, members, call_id, count, same)
    slots, number = slots_of(team, 0), next_number(team)
    meet(members, slots, number, call_id, count, share)
    return calls_match(members, slots, call_id, count) if CHECK else True


@compiled
def may_go_on(team, members, call_id, count, same):
    """Return whether all members make one call, which is allowed.

    If not all calls are the ``same``, report a violation, for which a second rendezvous tells every member all calls.
    """
    if not CHECK:
        return True
    if not same:
        meet_by_nodes(team, members, call_id, count, 0, Carried(SLOTS, 0, 0))
        slots = slots_of(team, 1)
        fetch_from_leader(team, slots, PAYLOAD * members.size, None)
        calls_match(members, slots, call_id, count)
        return False
    return call_id != REFUSED


@compiled
def fetch_from_leader(team, address, nbytes, group):
    """Copy a part of the slots from the leader of this node to the same place, in a team that spans nodes."""
    away = distance_to_table(team)
    if LEVELS and away:
        copy_by_group(address, address + away, nbytes, group)
        group_sync(group)


@compiled
def meet(members, slots, number, call_id, count, share):
    """Publish this PE's call to all members and wait for theirs.

    Model: tests/models/rendezvous.pml.
    """
    start, stride, size, me = members
    header = header_at(slots, me)
    for member in range(size):
        write_header(start + member * stride, header, number, call_id, count, share)
    order_before_flag()
    for step in range(1, size):
        store_flag(start + after(me, step, size) * stride, header, number)
    for member in range(size):
        if member != me:
            await_line(header_at(slots, member), number, start + member * stride, None)


@compiled
def write_header(pe, header, number, call_id, count, share):
    """Write the header of this PE's slot on a member, as far as that reads it."""
    if CHECK:
        store_at(pe, header + CALL, number, call_id)
        store_at(pe, header + COUNT, number, count)
    if share >= 0:
        store_at(pe, header + SHARE, number, share)


@compiled
def calls_match(members, slots, call_id, count):
    """Return whether all members have entered the same call as this PE; report a violation if not."""
    for member in range(members.size):
        header = header_at(slots, member)
        theirs, number = load_word(header + CALL), load_word(header + COUNT)
        if theirs != call_id or number != count:
            pe = pe_of(members, member)
            report(routine_of(call_id), MISMATCH, pe, call_id, count, number, theirs)
            return False
    return call_id != REFUSED


# ---- teams that span nodes


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
        same = exchange_with_nodes(step, meeting, same)
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
def exchange_with_nodes(step, meeting, same):
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
