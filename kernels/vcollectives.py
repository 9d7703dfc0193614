"""Collective routines in kernels whose blocks have counts and places of their own.

All members meet; then each copies its blocks from array to array, and a barrier ends the call. With ``gatherv`` and
``scatterv`` all know where every block lies. With ``alltoallv`` each member tells the others, with the rendezvous,
where their blocks go and how many elements it expects and sends.

``blocks`` is what a routine knows of the blocks of an array: address and length of the list of counts, and the same of
the list of places. That of a list left out is of length `NO_LIST`: then the blocks follow one another.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types

from ishmem import vcollectives
from ishmem.common.layout import RENDEZVOUS_SLOT
from ishmem.common.type_tables import RMA_TYPES
from ishmem.common.violations import (
    LISTS,
    NEGATIVE,
    NO_LIST,
    NO_ROOT,
    OUTSIDE,
    UNEQUAL,
    WRONG_LENGTH,
    call_word,
    number,
)

from . import binding, type_checks
from .intrinsics import (
    both,
    compiled,
    device,
    device_function,
    device_intrinsic,
    load_word,
    number_or,
    rank_in,
    size_of,
)
from .proxy import store_at
from .rendezvous import PAYLOAD, REFUSED, all_know, begin, is_member, leave, meet, rally, slots_of
from .runtime_checks import holds, report
from .strided import move_steps
from .teams import team_facts

PLACE, EXPECTED, SENT = PAYLOAD, PAYLOAD + 8, PAYLOAD + 16
"""What a member tells another, in its slot: the place of the other's block, its elements, and those it sends."""

ROOTED, DEST, SOURCE = map(LISTS.index, ("counts", "dest_counts", "source_counts"))
"""Whose lists an error is about."""

PRIME = 1099511628211  # of the FNV hash

# ---- lists of counts and places


@device_intrinsic
def blocks_of(_context, counts, places):
    """Return addresses and lengths of two lists, the second of which may have been left out."""

    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        facts = []
        for kind, array in zip(signature.args, given):
            if type_checks.absent(kind):
                facts += [ir.IntType(64)(0), ir.IntType(64)(NO_LIST)]
            else:
                struct = context.make_array(kind)(context, builder, array)
                facts += [builder.ptrtoint(struct.data, ir.IntType(64)), struct.nitems]
        return context.make_tuple(builder, signature.return_type, facts)

    return types.UniTuple(types.int64, 4)(counts, places), code


@compiled
def count_of(blocks, member):
    """Return the number of elements of the block of a member."""
    return load_word(blocks[0] + 8 * member)


@compiled
def place_of(blocks, member, place):
    """Return the first element of the block of a member: ``place`` where no places were given."""
    return place if blocks[3] == NO_LIST else load_word(blocks[2] + 8 * member)


@compiled
def find(blocks, member):
    """Return the first element of the block of a member."""
    place = 0
    if blocks[3] == NO_LIST:
        for before in range(member):
            place += count_of(blocks, before)
    return place_of(blocks, member, place)


@compiled
def digest(blocks, size):
    """Return a number that differs where counts or places do."""
    mixed, place = 0, 0
    for member in range(size):
        place = place_of(blocks, member, place)
        mixed = ((mixed ^ count_of(blocks, member)) * PRIME ^ place) * PRIME
        place += count_of(blocks, member)
    return mixed


# ---- checks


@compiled
def is_list(routine, which, numbers, length, size):
    """Return whether a list has a number for each member, none of them negative."""
    if length != size:
        report(routine, WRONG_LENGTH, which, 0, 0, length, size)
        return False
    for member in range(size):
        value = load_word(numbers + 8 * member)
        if value < 0:
            report(routine, NEGATIVE, which, 0, member, value, 0)
            return False
    return True


@compiled
def are_lists(routine, which, blocks, size):
    """Return whether counts and places are right."""
    counts, n_counts, places, n_places = blocks
    if not is_list(routine, which, counts, n_counts, size):
        return False
    return n_places == NO_LIST or is_list(routine, which + 1, places, n_places, size)


@compiled
def all_fit(routine, blocks, size, array, array_size, item):
    """Return whether an array is symmetric and has all its blocks."""
    if not holds(routine, array, array_size, item, 0):
        return False
    place = 0
    for member in range(size):
        place, count = place_of(blocks, member, place), count_of(blocks, member)
        if count > 0 and count > array_size - place:
            report(routine, OUTSIDE, -1, array, place, count, array_size)
            return False
        place += count
    return True


@compiled
def are_right(routine, arrays, blocks, root, gathers, facts):
    """Return whether the arguments of ``gatherv`` or ``scatterv`` are right."""
    dest, dest_size, source, source_size, item = arrays
    size, me = facts[2], facts[3]
    if root < 0 or root >= size:
        report(routine, NO_ROOT, root, 0, 0, 0, size)
        return False
    if not are_lists(routine, ROOTED, blocks, size):
        return False
    count = count_of(blocks, me)
    if gathers:
        return all_fit(routine, blocks, size, dest, dest_size, item) and holds(
            routine, source, source_size, item, count
        )
    return all_fit(routine, blocks, size, source, source_size, item) and holds(routine, dest, dest_size, item, count)


@compiled
def sides_are_right(routine, arrays, to_blocks, from_blocks, size):
    """Return whether the arguments of ``alltoallv`` are right."""
    dest, dest_size, source, source_size, item = arrays
    if not are_lists(routine, DEST, to_blocks, size) or not are_lists(routine, SOURCE, from_blocks, size):
        return False
    return all_fit(routine, to_blocks, size, dest, dest_size, item) and all_fit(
        routine, from_blocks, size, source, source_size, item
    )


@compiled
def all_match(routine, facts, slots, to_blocks, from_blocks):
    """Return whether this PE sends and receives as many elements as the others expect and send."""
    start, stride, size, me = facts
    this = start + me * stride
    for member in range(size):
        slot, other = slots + member * RENDEZVOUS_SLOT, start + member * stride
        sent, expected = count_of(from_blocks, member), load_word(slot + EXPECTED)
        if sent != expected:
            report(routine, UNEQUAL, other, this, 0, sent, expected)
            return False
        sent, expected = load_word(slot + SENT), count_of(to_blocks, member)
        if sent != expected:
            report(routine, UNEQUAL, this, other, 0, sent, expected)
            return False
    return True


# ---- gatherv and scatterv


@device_function
def exchange_rooted(word, arrays, blocks, root, gathers, group, team):
    """Do ``gatherv``, or ``scatterv``."""
    check = binding.options().check

    def impl(word, arrays, blocks, root, gathers, group, team):
        if not is_member(word, team):
            return -1
        facts, agreed = team_facts(team), True
        rally(group)
        if rank_in(group) == 0:
            call, lists = word + (root << 40), 0
            if check and are_right(word & 255, arrays, blocks, root, gathers, facts):
                lists = digest(blocks, facts[2])
            elif check:
                call = REFUSED
            slots = slots_of(team, 0)
            agreed = meet(facts, slots, begin(team), call, lists, 0)
        if all_know(group, agreed):
            move_own(facts, arrays, blocks, root, gathers, group)
            leave(group, team)
        return 0

    return impl


@compiled
def move_own(facts, arrays, blocks, root, gathers, group):
    """Put this PE's block to the root, or get it from there."""
    start, stride, _size, me = facts
    to, _to_size, origin, _origin_size, item = arrays
    place, count = find(blocks, me) * item, count_of(blocks, me)
    to, origin = to + gathers * place, origin + (1 - gathers) * place
    move_steps(gathers, start + root * stride, to, origin, 1, 1, item, count, rank_in(group), size_of(group))


# ---- alltoallv


@device_function
def exchange_all(word, arrays, to_blocks, from_blocks, group, team):
    """Do ``alltoallv``."""
    # Where arguments are checked, a second rendezvous follows that in which the members tell; it uses the other slots.
    begun = 0 if binding.options().check else 1

    def impl(word, arrays, to_blocks, from_blocks, group, team):
        if not is_member(word, team):
            return -1
        facts, agreed = team_facts(team), True
        rally(group)
        if rank_in(group) == 0:
            agreed = meet_all(word, facts, arrays, to_blocks, from_blocks, team)
        if all_know(group, agreed):
            push_all(facts, slots_of(team, begun), arrays, from_blocks, group)
            leave(group, team)
        return 0

    return impl


@device_function
def meet_all(word, facts, arrays, to_blocks, from_blocks, team):
    """Tell the others what they need to know, and meet; return whether all agree."""

    def plain(word, facts, arrays, to_blocks, from_blocks, team):
        slots = slots_of(team, 0)
        tell(facts, slots, to_blocks, from_blocks)
        return meet(facts, slots, begin(team), word, 0, 0)

    def checked(word, facts, arrays, to_blocks, from_blocks, team):
        slots, right = slots_of(team, 0), sides_are_right(word & 255, arrays, to_blocks, from_blocks, facts[2])
        if right:
            tell(facts, slots, to_blocks, from_blocks)
        if not meet(facts, slots, begin(team), word if right else REFUSED, 0, 0):
            return False
        # All have been told; whether it is what they expect, they say when they meet again.
        matches, slots = all_match(word & 255, facts, slots, to_blocks, from_blocks), slots_of(team, 0)
        return meet(facts, slots, begin(team), word if matches else REFUSED, 0, 0)

    return checked if binding.options().check else plain


@compiled
def tell(facts, slots, to_blocks, from_blocks):
    """Tell each member where its block goes, and how many elements this PE expects from it and sends to it."""
    start, stride, size, me = facts
    slot, place = slots + me * RENDEZVOUS_SLOT, 0
    for member in range(size):
        pe, place, expected = start + member * stride, place_of(to_blocks, member, place), count_of(to_blocks, member)
        store_at(pe, slot + PLACE, size, place)
        store_at(pe, slot + EXPECTED, size, expected)
        store_at(pe, slot + SENT, size, count_of(from_blocks, member))
        place += expected


@compiled
def push_all(facts, slots, arrays, blocks, group):
    """Put the blocks of this PE where the others have told it to; not those whose sizes differ from what it told."""
    start, stride, size, me = facts
    to, _to_size, origin, _origin_size, item = arrays
    rank, width, place = rank_in(group), size_of(group), find(blocks, me)
    for step in range(size):  # each begins with itself, so that no PE is written to by all at once
        member = me + step if me + step < size else me + step - size
        place, count = place_of(blocks, member, place if member > 0 else 0), count_of(blocks, member)
        slot = slots + member * RENDEZVOUS_SLOT
        if load_word(slot + EXPECTED) == count:
            there = to + load_word(slot + PLACE) * item
            move_steps(1, start + member * stride, there, origin + place * item, 1, 1, item, count, rank, width)
        place += count


# ---- the forms of a work-item and of a work-group


def _check(name: str, routine: int, dest: Any, source: Any, team: Any, root: Any = 0, **lists: Any) -> int:
    """Check the types of a call while its kernel compiles; return the word that stands for the call."""
    type_checks.may_wait(name)
    for argument, kind in (("dest", dest), ("source", source)):
        type_checks.array(name, argument, kind, RMA_TYPES)
    type_checks.contiguous(name, dest=dest, source=source)
    type_checks.same_dtype(dest, source)
    for argument, kind in lists.items():
        type_checks.numbers(name, argument, kind, optional=argument.endswith("displs"))
    type_checks.integer(name, "root", root)
    type_checks.integer(name, "team", team)
    return call_word(routine, dest.dtype)


def _register_rooted(name: str, gathers: int) -> None:
    routine = number(name)

    @device(getattr(vcollectives, name))
    def _single(dest, source, counts, root, displs=None, team=0):
        word = _check(name, routine, dest, source, team, root, counts=counts, displs=displs)
        return lambda dest, source, counts, root, displs=None, team=0: exchange_rooted(
            word, both(dest, source), blocks_of(counts, displs), root, gathers, None, number_or(team, 0)
        )

    @device(getattr(vcollectives, f"{name}_work_group"))
    def _grouped(dest, source, counts, root, group, displs=None, team=0):
        word = _check(name, routine, dest, source, team, root, counts=counts, displs=displs)
        return lambda dest, source, counts, root, group, displs=None, team=0: exchange_rooted(
            word, both(dest, source), blocks_of(counts, displs), root, gathers, group, number_or(team, 0)
        )


_register_rooted("gatherv", 1)
_register_rooted("scatterv", 0)
_ALLTOALLV = number("alltoallv")


def _check_sides(dest: Any, source: Any, to: Any, origin: Any, to_places: Any, origin_places: Any, team: Any) -> int:
    lists = {"dest_counts": to, "source_counts": origin, "dest_displs": to_places, "source_displs": origin_places}
    return _check("alltoallv", _ALLTOALLV, dest, source, team, **lists)


@device(vcollectives.alltoallv)
def _alltoallv(dest, source, dest_counts, source_counts, dest_displs=None, source_displs=None, team=0):
    word = _check_sides(dest, source, dest_counts, source_counts, dest_displs, source_displs, team)

    def impl(dest, source, dest_counts, source_counts, dest_displs=None, source_displs=None, team=0):
        to, origin = blocks_of(dest_counts, dest_displs), blocks_of(source_counts, source_displs)
        return exchange_all(word, both(dest, source), to, origin, None, number_or(team, 0))

    return impl


@device(vcollectives.alltoallv_work_group)
def _alltoallv_group(dest, source, dest_counts, source_counts, group, dest_displs=None, source_displs=None, team=0):
    word = _check_sides(dest, source, dest_counts, source_counts, dest_displs, source_displs, team)

    def impl(dest, source, dest_counts, source_counts, group, dest_displs=None, source_displs=None, team=0):
        to, origin = blocks_of(dest_counts, dest_displs), blocks_of(source_counts, source_displs)
        return exchange_all(word, both(dest, source), to, origin, group, number_or(team, 0))

    return impl
