"""How the members of a team enter and leave a collective call in a kernel.

To enter, a member writes the number of the call into a slot of its own on every member, with what it calls and, of
small blocks, the data, and waits until all have done so: a *rendezvous*. Rendezvous and barriers of a team are counted
together, and each is passed only when all members have begun it. So who begins number ``s`` knows that all have ended
``s - 2``, and may write to the slots that it used. No PE is written to before it has entered, and with a barrier at
the end none is read from or written to after it has left.

``group`` is the work-group that calls, or None when it is a single work-item. ``facts`` are those of ``team_facts``.
Arrays are addresses here, and elements bytes, so that this is compiled once for all dtypes.
"""

from __future__ import annotations

from typing import NamedTuple

from numba_dpex import kernel_api as kapi

from ishmem.common.layout import LINE, RENDEZVOUS_SLOT, RendezvousSlot, TeamRecord
from ishmem.common.violations import MISMATCH, NO_ROOT, NO_TEAM, STRIDE

from . import binding, type_checks
from .intrinsics import (
    atomic_load_word,
    compiled,
    device_function,
    fence,
    group_rank,
    group_sum,
    load_word,
    rank_in,
    store_word,
)
from .proxy import complete, settle, store_at, store_flag
from .runtime_checks import holds, report
from .spec_constants import rendezvous_bytes, rendezvous_slots, sync_bytes, sync_lines, team_records
from .strided import extent, move_steps
from .teams import is_team, team_facts

NUMBER, CALL, COUNT, SHARE, PAYLOAD = (RendezvousSlot.at(field) for field in RendezvousSlot._fields)
SEQUENCE = TeamRecord.at("sequence")
ROOM = RENDEZVOUS_SLOT - PAYLOAD
"""Bytes of a block that goes with the rendezvous."""

ALIGN = 64
"""Bytes of which the parts that members work on are multiples."""

REFUSED = -1
"""The call of a member whose arguments are not right."""


class Flow(NamedTuple):
    """Who sends which block to whom; integers in kernels."""

    from_root: bool = False  # only the root sends
    to_root: bool = False  # only the root receives
    source_blocks: bool = False  # ``source`` has a block for each receiver
    dest_blocks: bool = False  # ``dest`` has a block for each sender
    vary: bool = False  # the blocks of members may have different sizes


@device_function
def rally(group):
    """Let what any work-item did before come before what all do after."""
    if type_checks.absent(group):
        return lambda group: None

    def impl(group):
        fence()
        kapi.group_barrier(group)

    return impl


@device_function
def all_know(group, held):
    """Return on every work-item what the first one found."""
    if type_checks.absent(group):
        return lambda group, held: held
    check = binding.options().check

    def impl(group, held):
        known = group_sum(held and group_rank() == 0) != 0 if check else True
        kapi.group_barrier(group)
        return known

    return impl


@compiled
def begin(team):
    """Return the number of the rendezvous or barrier of a team that this PE begins."""
    counter = team_records() + SEQUENCE + LINE * team
    number = load_word(counter) + 1
    store_word(counter, number)
    return number


@compiled
def slots_of(team, begun):
    """Return the address of this PE's slots for the rendezvous to begin next, or for that begun."""
    number = load_word(team_records() + SEQUENCE + LINE * team) + 1 - begun
    return rendezvous_slots() + rendezvous_bytes() * team + (number & 1) * (rendezvous_bytes() // 2)


@device_function
def is_member(word, team):
    """Return whether there is such a team, and write it down when not."""
    if not binding.options().check:
        return lambda word, team: is_team(team)

    def impl(word, team):
        if not is_team(team):
            report(word & 255, NO_TEAM, team, 0, 0, 0, 0)
            return False
        return True

    return impl


@device_function
def meet(facts, slots, number, call, count, share):
    """Enter a collective call: wait for all members, return whether all call the same."""
    check = binding.options().check

    def impl(facts, slots, number, call, count, share):
        start, stride, size, me = facts
        for step in range(1, size + 1):
            member = me + step if me + step < size else me + step - size
            pe, there = start + member * stride, slots + me * RENDEZVOUS_SLOT
            store_at(pe, there + CALL, number, call)
            store_at(pe, there + COUNT, number, count)
            store_at(pe, there + SHARE, number, share)
            settle()
            store_flag(pe, there, number)
        for member in range(size):
            while atomic_load_word(slots + member * RENDEZVOUS_SLOT) < number:
                pass
        return all_call(facts, slots, call, count) if check else True

    return impl


@compiled
def all_call(facts, slots, call, count):
    """Return whether all members have entered the same call as this PE."""
    start, stride, size, _me = facts
    for member in range(size):
        slot = slots + member * RENDEZVOUS_SLOT
        theirs, number = load_word(slot + CALL), load_word(slot + COUNT)
        if theirs != call or number != count:
            report(call & 255, MISMATCH, start + member * stride, call, count, number, theirs)
            return False
    return call != REFUSED


@compiled
def disseminate(team, facts):
    """Wait for all members of a team: see ``barrier`` in ``ishmem/core/barrier.cpp``."""
    start, stride, size, me = facts
    number, line, distance = begin(team), sync_lines() + sync_bytes() * team, 1
    while distance < size:
        member = me + distance if me + distance < size else me + distance - size
        store_flag(start + member * stride, line, number)
        while atomic_load_word(line) < number:
            pass
        distance *= 2
        line += LINE


@compiled
def post(facts, slots, origin, item, count, steps, flow):
    """Write small blocks into the slots of those that they are for."""
    start, stride, size, me = facts
    root, _to_step, step = steps
    from_root, to_root, source_blocks, _dest_blocks, _vary = flow
    if from_root and me != root:
        return
    for member in range(size):
        if not to_root or member == root:
            block = origin + source_blocks * member * count * step * item
            to = slots + me * RENDEZVOUS_SLOT + PAYLOAD
            move_steps(1, start + member * stride, to, block, 1, step, item, count, 0, 1)


@compiled
def part_of(count, item, facts):
    """Return the first element, and the one after the last, of the part that this PE works on."""
    size, me, unit = facts[2], facts[3], ALIGN // item
    part = (count + size * unit - 1) // (size * unit) * unit
    return min(me * part, count), min((me + 1) * part, count)


@compiled
def right(word, arrays, count, steps, flow, size):
    """Return whether the arguments of a call are right, and write down what is not."""
    dest, dest_size, source, source_size, item = arrays
    root, to_step, from_step = steps
    from_root, to_root, source_blocks, dest_blocks, vary = flow
    routine = word & 255
    if (from_root or to_root) and (root < 0 or root >= size):
        report(routine, NO_ROOT, root, 0, 0, 0, size)
        return False
    if to_step < 1 or from_step < 1:
        report(routine, STRIDE, 0, 0, to_step, from_step, 0)
        return False
    to_count = 0 if vary else extent(to_step, 1, count * (size if dest_blocks else 1))
    from_count = extent(from_step, 1, count * (size if source_blocks else 1))
    return holds(routine, dest, dest_size, item, to_count) and holds(routine, source, source_size, item, from_count)


@device_function
def enter(word, arrays, nelems, steps, flow, group, team):
    """Check and enter a collective call.

    Args:
        word: What is called, from ``ishmem.common.violations.call_word``.
        arrays: Address and number of elements of ``dest``, the same of ``source``, and bytes of an element.
        nelems: Elements of a block, or -1: what the arrays tell.
        steps: The root, and elements from one to the next in ``dest`` and in ``source``.
        flow: A `Flow`.

    Returns:
        The address of the slots, 0 when there is nothing to move as the PEs do not agree, or -1 when there is no such
        team; and the number of elements of a block.
    """
    check = binding.options().check

    def impl(word, arrays, nelems, steps, flow, group, team):
        if not is_member(word, team):
            return -1, 0
        facts = team_facts(team)
        from_root, _to_root, source_blocks, _dest_blocks, vary = flow
        _dest, dest_size, source, source_size, item = arrays
        count, agreed = nelems, True
        if nelems < 0:
            count = source_size if not source_blocks else dest_size if from_root else source_size // facts[2]
        call = word + (((steps[0] << 24) + (steps[1] << 12) + steps[2]) << 16)
        if check and not right(word, arrays, count, steps, flow, facts[2]):
            call = REFUSED
        rally(group)
        if rank_in(group) == 0:
            slots = slots_of(team, 0)
            number = begin(team)
            if count * item <= ROOM and call != REFUSED:
                post(facts, slots, source, item, count, steps, flow)
            agreed = meet(facts, slots, number, call, dest_size if vary else count, count)
        return slots_of(team, 1) if all_know(group, agreed) else 0, count

    return impl


@compiled
def leave(group, team):
    """End a collective call that has read or written the memory of other members."""
    rally(group)
    if rank_in(group) == 0:
        complete()
        disseminate(team, team_facts(team))
    rally(group)
