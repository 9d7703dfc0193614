"""The rendezvous of the members of a team, with which each collective call in a kernel begins.

Each member writes its call number, its arguments and, for small blocks, its data into its slot on every member, then
waits until all members have done so. The rendezvous and barriers of a team share one sequence of numbers, and each
completes only after all members have begun it. So when a member begins number ``s``, all members have completed ``s -
2``, whose slots it may reuse.

In a team that spans nodes, it has two levels: on each node, then between the leaders of the nodes. The leaders follow a
table of steps that the host writes, the same as in its own rendezvous (``ishmem/core/exchange.hpp``). In each step they
exchange a digest of the calls, with ``ISHMEM_CHECK``, and the small blocks that the other nodes need (`Carried`).
Members put their blocks to their leader only, and get those that they need from it. If calls differ, the leaders
exchange the headers of all members, too, for the text of the error.

``group`` is the calling work-group, or None if a single work-item calls; ``begun`` is the `BegunRendezvous`. For
``call_id``, ``count``, ``share`` and ``carried`` see `rendezvous`.
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
    IntrinsicCode,
    compiled,
    device_intrinsic,
    from_one,
    group_barrier,
    load_word,
    rank_in,
    store_word,
)
from .memory_orders import GROUP
from .nodes import nodes_of, pe_in, place_after, run_at, spans_nodes, step_at
from .options import CHECK, LEVELS, SPANS, WIDE
from .peers import peer_delta
from .proxy import PUT, copy_by_proxy, order_before_flag, store_at, store_flag
from .runtime_checks import report
from .spec_constants import pe_count, rendezvous_bytes, rendezvous_slots, step_bytes, step_lines, team_records
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
    """Return the address of this PE's slots for rendezvous ``number`` of a team."""
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
    """Return the address of the header of a member's slot, in the slots that begin at address ``slots``."""

    def emit(code: IntrinsicCode, start, index):
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


# Model: tests/models/work_group.pml.
@compiled
def group_sync(group):
    """Synchronize the group: order its work-items' earlier memory operations before their later ones."""
    if group is not None:
        group_fence()
        group_barrier(group)


@compiled
def group_broadcast(group, held):
    """Return ``held`` of work-item 0 on all work-items of a group; True if calls are not checked (``ISHMEM_CHECK``)."""
    known = from_one(group, held and rank_in(group) == 0) if CHECK else True
    group_barrier(group)
    return known


# ---- rendezvous


# Model: tests/models/rendezvous.pml.
@compiled
def rendezvous(team, members, call_id, count, share, carried):
    """Publish this PE's call and wait for all members to enter it; return whether all made the same call.

    Args:
        team, members: The team.
        call_id, count: The fields ``call`` and ``count`` of the `RendezvousSlot`, which ``ISHMEM_CHECK`` compares.
        share: Its field ``share``; -1 if no member reads it.
        carried: The data to send between nodes, in a team that spans nodes.
    """
    if LEVELS and spans_nodes(team):
        agreed = rendezvous_of_nodes(team, members, call_id, count, share, carried)
        return calls_agree(team, members, call_id, count, agreed)
    slots, number = slots_of(team, 0), next_number(team)
    flat_rendezvous(members, slots, number, call_id, count, share)
    return calls_match(members, slots, call_id, count) if CHECK else True


@compiled
def calls_agree(team, members, call_id, count, agreed):
    """Return whether all members make the same call, with allowed arguments; True if calls are not checked.

    ``agreed`` is whether their calls were the same in the rendezvous. If not, report a violation; for its text, every
    member receives the calls of all in a second rendezvous.
    """
    if not CHECK:
        return True
    if not agreed:
        rendezvous_of_nodes(team, members, call_id, count, 0, Carried(SLOTS, 0, 0))
        slots = slots_of(team, 1)
        fetch_from_leader(team, slots, PAYLOAD * members.size, None)
        calls_match(members, slots, call_id, count)
        return False
    return call_id != REFUSED


@compiled
def fetch_from_leader(team, address, nbytes, group):
    """Copy ``nbytes`` bytes of the slots at ``address`` from this node's leader; nothing in a team on one node."""
    away = distance_to_table(team)
    if LEVELS and away:
        copy_by_group(address, address + away, nbytes, group)
        group_sync(group)


# Model: tests/models/rendezvous.pml.
@compiled
def flat_rendezvous(members, slots, number, call_id, count, share):
    """Publish this PE's call, with rendezvous ``number``, in ``slots`` of all members, and wait for theirs."""
    start, stride, size, me = members
    header = header_at(slots, me)
    for member in range(size):
        write_header(start + member * stride, header, number, call_id, count, share)
    order_before_flag()
    for step in range(1, size):
        store_flag(start + place_after(me, step, size) * stride, header, number)
    for member in range(size):
        if member != me:
            await_line(header_at(slots, member), number, start + member * stride, None)


@compiled
def write_header(pe, header, number, call_id, count, share):
    """Write this PE's header on PE ``pe``: the call with ``ISHMEM_CHECK`` only, ``share`` unless it is negative."""
    if CHECK:
        store_at(pe, header + CALL, number, call_id)
        store_at(pe, header + COUNT, number, count)
    if share >= 0:
        store_at(pe, header + SHARE, number, share)


@compiled
def calls_match(members, slots, call_id, count):
    """Return whether all members have entered call ``call_id``, not `REFUSED`, with ``count``; report a difference."""
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
"""Data that a rendezvous sends between nodes: none, the block of the root, those of all members, or their slots.

`LATER`: nodes send each other data after it, so that the rendezvous is only needed to compare the calls.
"""

AGREE = 8
"""Offset of a flag in the line by which a leader releases its node: 1 if all calls are the same, else 0."""


class Carried(NamedTuple):
    """The data that a rendezvous sends between nodes.

    Attributes:
        what: `NOTHING`, `FROM_ROOT`, `FROM_ALL`, `SLOTS` or `LATER`.
        nbytes: Bytes of a block.
        root: Member number of the root.
    """

    what: int
    nbytes: int
    root: int


class BegunRendezvous(NamedTuple):
    """A rendezvous of a team that spans nodes, which this PE has begun.

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


# Model: tests/models/rendezvous_of_nodes.pml.
@compiled
def rendezvous_of_nodes(team, members, call_id, count, share, carried):
    """Run `rendezvous` on each node, then of the leaders; return whether all calls are the same; True if unchecked."""
    next_number(team)
    nodes, begun = nodes_of(team), begun_rendezvous(team, call_id, count)
    agreed = rendezvous_on_node(nodes, members, begun, share)
    if carried.what == LATER and not CHECK:
        return agreed
    if nodes.index == 0:
        agreed = exchange_carried(nodes, begun, carried, agreed)
    return release_on_node(nodes, begun, agreed)


@compiled
def begun_rendezvous(team, call_id, count):
    """Return the `BegunRendezvous` of the current rendezvous of a team; ``call_id`` and ``count`` are its fields."""
    number = load_word(team_records() + SEQUENCE + LINE * team)
    slots, half = slots_of(team, 1), step_bytes() // 2
    lines = step_lines() + step_bytes() * team + (number & 1) * half
    return BegunRendezvous(slots, blocks_at(team, slots), lines, lines + half - LINE, number, call_id, count)


# ---- on a node


@compiled
def rendezvous_on_node(nodes, members, begun, share):
    """Publish this PE's call on its node and wait for the others there; return whether the calls are the same."""
    agreed = True
    for i in range(nodes.n_near):
        write_header_near(pe_in(nodes.near, i), header_at(begun.slots, members.me), begun, share)
    for i in range(nodes.n_near):
        pe = pe_in(nodes.near, i)
        header = header_at(begun.slots, member_at(members, pe))
        await_line(header, begun.number, pe, None)
        agreed = agreed and is_own_call(header, begun)
    return agreed


@compiled
def write_header_near(pe, header, begun, share):
    """Write the header of this PE's slot on PE ``pe`` of this node."""
    there = header + peer_delta(pe)
    store_word(there + CALL, begun.call_id)
    store_word(there + COUNT, begun.count)
    store_word(there + SHARE, share)
    store_flag(pe, header, begun.number)


@compiled
def member_at(members, pe):
    """Return the member number of a PE."""
    return (pe - members.start) // members.stride


@compiled
def is_own_call(line, begun):
    """Return whether a header, or the line of a step, contains the call of this PE; True without ISHMEM_CHECK."""
    return not CHECK or (load_word(line + CALL) == begun.call_id and load_word(line + COUNT) == begun.count)


@compiled
def release_on_node(nodes, begun, agreed):
    """Release the members of this node; return the leader's ``agreed`` (whether all calls are the same) on each."""
    if CHECK and nodes.index == 0:
        for i in range(1, nodes.n_near):
            store_word(begun.release + AGREE + peer_delta(pe_in(nodes.near, i)), 1 if agreed else 0)
    release(nodes, begun.release, begun.number, None)
    return load_word(begun.release + AGREE) != 0 if CHECK and nodes.index else agreed


@compiled
def distance_to_table(team):
    """Return the distance in bytes from this PE's slots to those of its node's leader; 0 for a team on one node."""
    return peer_delta(pe_in(nodes_of(team).near, 0)) if LEVELS and spans_nodes(team) else 0


# ---- between leaders


@compiled
def exchange_carried(nodes, begun, carried, agreed):
    """Exchange small blocks and digests with the leaders of other nodes, in a logarithm of steps.

    Returns:
        Whether ``agreed`` was true and the calls in all digests received are the same.
    """
    address = nodes.steps
    for _ in range(nodes.n_steps):
        step, address = step_at(address)
        for run in range(step.n_runs):
            first, count = run_at(step.runs, run)
            put_carried_blocks(step.partner, begun, first, count, carried)
        agreed = exchange_with_leader(step, begun, agreed)
    return agreed


@compiled
def put_carried_blocks(leader, begun, first, count, carried):
    """Put the small blocks, or the slots, of ``count`` members from ``first`` on to a leader, as ``carried`` states."""
    if carried.what == SLOTS:
        put_to_same_place(leader, header_at(begun.slots, first), PAYLOAD * count)
    if carried.what == FROM_ROOT:
        is_root = first <= carried.root and carried.root < first + count
        first, count = carried.root, 1 if is_root else 0
    if carried.what != NOTHING and carried.what != LATER:
        apart = block_step(carried.nbytes)
        put_to_same_place(leader, begun.blocks + first * apart, count * apart)


@compiled
def put_to_same_place(leader, address, nbytes):
    """Put ``nbytes`` bytes at ``address`` to the same symmetric address on a leader."""
    if nbytes:
        copy_by_proxy(PUT, leader, address, address, nbytes)


@compiled
def exchange_with_leader(step, begun, agreed):
    """Put a flag and a digest to the partner of a step, after the blocks, and wait for those from it.

    Requests to one PE are executed in order, so the number in the line arrives last.

    Returns:
        As `exchange_carried`.
    """
    line, number = begun.lines + LINE * step.line, begun.number
    if step.n_runs:
        if CHECK:
            store_at(step.partner, line + CALL, number, begun.call_id if agreed else DIFFERENT)
            store_at(step.partner, line + COUNT, number, begun.count)
        store_flag(step.partner, line, number)
    if step.takes:
        await_line(line, number, step.partner, None)
        agreed = agreed and is_own_call(line, begun)
    return agreed
