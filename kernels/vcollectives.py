"""Device implementations of ``ishmem.vcollectives``: each block has its own count and displacement.

After the rendezvous each member copies its blocks directly between arrays, and a barrier ends the call. In ``gatherv``
and ``scatterv`` every PE has the counts and displacements of all blocks. In ``alltoallv`` each member publishes to each
other member the offset for its block, and the numbers of elements that it receives from it and sends to it. ``blocks``
are `CountedBlocks`, ``to_blocks`` those of ``dest``, ``from_blocks`` those of ``source``; ``call`` is a
`CollectiveCall`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from numba.core import types

from ishmem import vcollectives
from ishmem.common.call_id import REFUSED
from ishmem.common.collective_table import COLLECTIVES
from ishmem.common.type_tables import RMA_TYPES
from ishmem.common.violations import LISTS, NEGATIVE, NO_LIST, OUTSIDE, UNEQUAL, WRONG_LENGTH, routine_number

from . import type_checks
from .collective_calls import ROOT, call_of, end_phase, flow_of, is_member, pack_call
from .copy import get_bytes, put_bytes
from .forms import forms, integers
from .intrinsics import I64, IntrinsicCode, compiled, device_intrinsic, load_word, rank_in
from .nodes import place_after
from .options import CHECK
from .proxy import complete_before_flag, store_at
from .rendezvous import NOTHING, Carried, block_step, blocks_at, group_broadcast, group_sync, rendezvous, slots_of
from .runtime_checks import is_team_pe, own_array_fits, report
from .teams import members_of, pe_of

OFFSET, EXPECTED, SENT = range(0, 24, 8)
"""Fields that one member publishes to another: offset for the block, elements expected, elements sent."""

ROOTED, DEST, SOURCE = map(LISTS.index, ("counts", "dest_counts", "source_counts"))
"""Numbers of the argument lists in violation reports."""

ALLTOALLV, ALLTOALLV_FLOW = routine_number("alltoallv"), flow_of(COLLECTIVES["alltoallv"])
PRIME = 1099511628211  # of the FNV hash

# ---- lists of counts and displacements


class CountedBlocks(NamedTuple):
    """The blocks of an array: addresses and lengths of the lists of counts and displacements.

    Without displacements, ``n_displs`` is `NO_LIST` and the blocks are contiguous.
    """

    counts: int
    n_counts: int
    displs: int
    n_displs: int


@device_intrinsic
def blocks_of(counts, displs):
    """Return the `CountedBlocks` of a list of counts and a list of displacements; ``displs`` may be None."""

    def emit(code: IntrinsicCode, *given):
        fields = []
        for kind, value in zip(code.signature.args, given):
            if type_checks.absent(kind):
                fields += [I64(0), I64(NO_LIST)]
            else:
                array = code.array(kind, value)
                fields += [code.builder.ptrtoint(array.data, I64), array.nitems]
        return code.tuple_of(fields)

    return types.NamedUniTuple(types.int64, 4, CountedBlocks)(counts, displs), emit


@compiled
def count_of(blocks, member):
    """Return the number of elements of a member's block."""
    return load_word(blocks.counts + 8 * member)


@compiled
def offset_of(blocks, member, packed):
    """Return the offset in elements of a member's block: its displacement, or ``packed`` without displacements."""
    return packed if blocks.n_displs == NO_LIST else load_word(blocks.displs + 8 * member)


@compiled
def first_element_of(blocks, member):
    """Return the offset in elements of a member's block; sums the counts before it if there are no displacements."""
    offset = 0
    if blocks.n_displs == NO_LIST:
        for before in range(member):
            offset += count_of(blocks, before)
    return offset_of(blocks, member, offset)


@compiled
def hash_of(blocks, size):
    """Return a hash of counts and displacements of ``size`` members, by which they detect that their lists differ."""
    mixed, offset = 0, 0
    for member in range(size):
        offset = offset_of(blocks, member, offset)
        mixed = ((mixed ^ count_of(blocks, member)) * PRIME ^ offset) * PRIME
        offset += count_of(blocks, member)
    return mixed


# ---- checks


@compiled
def list_allowed(routine, which, numbers, length, size):
    """Return whether a list at ``numbers`` has ``length == size``, and no negative number; report ``which`` if not."""
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
def lists_allowed(routine, which, blocks, size):
    """Return whether the counts (list ``which``) and displacements of ``size`` members are allowed; report if not."""
    if not list_allowed(routine, which, blocks.counts, blocks.n_counts, size):
        return False
    return blocks.n_displs == NO_LIST or list_allowed(routine, which + 1, blocks.displs, blocks.n_displs, size)


@compiled
def blocks_fit(routine, blocks, size, array, array_size, itemsize):
    """Return whether ``array`` is symmetric and its ``array_size`` elements hold all ``size`` blocks; report if not."""
    if not own_array_fits(routine, array, array_size, itemsize, 0):
        return False
    offset = 0
    for member in range(size):
        offset, count = offset_of(blocks, member, offset), count_of(blocks, member)
        if count > 0 and count > array_size - offset:
            report(routine, OUTSIDE, -1, array, offset, count, array_size)
            return False
        offset += count
    return True


@compiled
def rooted_arguments_allowed(call, blocks, gathers, members):
    """Return whether the arguments of ``gatherv`` or ``scatterv`` are allowed; report a violation if not."""
    routine, size, item = call.routine, members.size, call.itemsize
    if not is_team_pe(routine, ROOT, call.root, size):
        return False
    if not lists_allowed(routine, ROOTED, blocks, size):
        return False
    count = count_of(blocks, members.me)
    whole, length, part, part_length = call.source, call.source_size, call.dest, call.dest_size
    if gathers:
        whole, length, part, part_length = part, part_length, whole, length
    fit = blocks_fit(routine, blocks, size, whole, length, item)
    return fit and own_array_fits(routine, part, part_length, item, count)


@compiled
def alltoallv_arguments_allowed(call, to_blocks, from_blocks, size):
    """Return whether the arguments of ``alltoallv`` are allowed; report a violation if not."""
    routine = call.routine
    if not lists_allowed(routine, DEST, to_blocks, size) or not lists_allowed(routine, SOURCE, from_blocks, size):
        return False
    return blocks_fit(routine, to_blocks, size, call.dest, call.dest_size, call.itemsize) and blocks_fit(
        routine, from_blocks, size, call.source, call.source_size, call.itemsize
    )


@compiled
def counts_match(routine, team, members, slots, to_blocks, from_blocks):
    """Return whether this PE's counts match those that members published in ``slots``; report a violation if not."""
    start, stride, size, me = members
    this = start + me * stride
    for member in range(size):
        published, other = published_at(team, slots, member), start + member * stride
        sent, expected = count_of(from_blocks, member), load_word(published + EXPECTED)
        if sent != expected:
            report(routine, UNEQUAL, other, this, 0, sent, expected)
            return False
        sent, expected = load_word(published + SENT), count_of(to_blocks, member)
        if sent != expected:
            report(routine, UNEQUAL, this, other, 0, sent, expected)
            return False
    return True


# ---- gatherv and scatterv


@compiled
def exchange_rooted(call, blocks, gathers, group):
    """Run ``gatherv`` (``gathers`` is 1) or ``scatterv`` (0); return 0, or -1 when this PE is not in the team."""
    if not is_member(call):
        return -1
    members, agreed = members_of(call.team), True
    group_sync(group)
    if rank_in(group) == 0:
        call_id, lists = pack_call(call.routine, call.dtype, call.root, 0, 0), 0
        if CHECK and rooted_arguments_allowed(call, blocks, gathers, members):
            lists = hash_of(blocks, members.size)
        elif CHECK:
            call_id = REFUSED
        agreed = rendezvous(call.team, members, call_id, lists, 0, Carried(NOTHING, 0, 0))
    if group_broadcast(group, agreed):
        transfer_own_block(members, call, blocks, gathers, group)
        end_phase(group, call.team)
    return 0


@compiled
def transfer_own_block(members, call, blocks, gathers, group):
    """Put this PE's block to the root (``gathers``), or get it from the root."""
    offset, count = first_element_of(blocks, members.me) * call.itemsize, count_of(blocks, members.me)
    root, nbytes = pe_of(members, call.root), count * call.itemsize
    if gathers:
        put_bytes(root, call.dest + offset, call.source, nbytes, group)
    else:
        get_bytes(root, call.dest, call.source + offset, nbytes, group)


# ---- alltoallv


@compiled
def exchange_all(call, to_blocks, from_blocks, group):
    """Run ``alltoallv``; return 0, or -1 when this PE is not in the team."""
    if not is_member(call):
        return -1
    members, agreed = members_of(call.team), True
    group_sync(group)
    if rank_in(group) == 0:
        agreed = publish_and_meet(call, members, to_blocks, from_blocks)
    if group_broadcast(group, agreed):
        # With argument checks, a second rendezvous has begun and uses the other half of the slots.
        put_blocks(members, slots_of(call.team, 0 if CHECK else 1), call, from_blocks, group)
        end_phase(group, call.team)
    return 0


@compiled
def publish_and_meet(call, members, to_blocks, from_blocks):
    """Publish this PE's offsets and counts and enter the call; return whether the arguments of all PEs match."""
    slots, call_id = slots_of(call.team, 0), pack_call(call.routine, call.dtype, 0, 0, 0)
    nothing, fine = Carried(NOTHING, 0, 0), True
    if CHECK:
        fine = alltoallv_arguments_allowed(call, to_blocks, from_blocks, members.size)
    if fine:
        publish_blocks(call.team, members, slots, to_blocks, from_blocks)
    agreed = rendezvous(call.team, members, call_id if fine else REFUSED, 0, 0, nothing)
    if CHECK and agreed:
        # Each PE compares the published counts; the second rendezvous distributes the result.
        fine = counts_match(call.routine, call.team, members, slots, to_blocks, from_blocks)
        agreed = rendezvous(call.team, members, call_id if fine else REFUSED, 0, 0, nothing)
    return agreed


@compiled
def published_at(team, slots, member):
    """Return the address in ``slots`` of the fields (offset, elements expected, sent) that a member publishes here."""
    return blocks_at(team, slots) + member * block_step(SENT + 8)


@compiled
def publish_blocks(team, members, slots, to_blocks, from_blocks):
    """Publish to each member the offset for its block, and the counts that this PE receives from it and sends to it."""
    start, stride, size, me = members
    published, offset = published_at(team, slots, me), 0
    for member in range(size):
        pe, offset = start + member * stride, offset_of(to_blocks, member, offset)
        expected = count_of(to_blocks, member)
        store_at(pe, published + OFFSET, size, offset)
        store_at(pe, published + EXPECTED, size, expected)
        store_at(pe, published + SENT, size, count_of(from_blocks, member))
        offset += expected
    complete_before_flag()


@compiled
def put_blocks(members, slots, call, blocks, group):
    """Put this PE's blocks at the offsets that the members published; skip a block whose count does not match."""
    start, stride, size, me = members
    to, origin, item, offset = call.dest, call.source, call.itemsize, first_element_of(blocks, me)
    for step in range(size):  # each PE starts with itself, which spreads the puts over all PEs
        member = place_after(me, step, size)
        offset, count = offset_of(blocks, member, offset if member > 0 else 0), count_of(blocks, member)
        published = published_at(call.team, slots, member)
        if load_word(published + EXPECTED) == count:
            there = to + load_word(published + OFFSET) * item
            put_bytes(start + member * stride, there, origin + offset * item, count * item, group)
        offset += count


# ---- registration: for a work-item and for a group


def _check(name: str, dest: Any, source: Any, team: Any, root: Any = 0, **lists: Any) -> None:
    """Check the argument types of a call at compile time."""
    type_checks.may_wait(name)
    for argument, kind in (("dest", dest), ("source", source)):
        type_checks.array(name, argument, kind, RMA_TYPES)
    type_checks.contiguous(name, dest=dest, source=source)
    type_checks.same_dtype(dest, source)
    for argument, kind in lists.items():
        type_checks.numbers(name, argument, kind, optional=argument.endswith("displs"))
    integers(name, root=root, team=team)


def _make_rooted(name: str, gathers: int) -> Any:
    routine, flow = routine_number(name), flow_of(COLLECTIVES[name])

    def rooted(dest, source, counts, root, group, displs=None, team=0):
        call = call_of(flow, routine, dest, source, None, root, (1, 1), team)
        return exchange_rooted(call, blocks_of(counts, displs), gathers, group)

    return rooted


def _alltoallv(dest, source, dest_counts, source_counts, group, dest_displs=None, source_displs=None, team=0):
    call = call_of(ALLTOALLV_FLOW, ALLTOALLV, dest, source, None, None, (1, 1), team)
    return exchange_all(call, blocks_of(dest_counts, dest_displs), blocks_of(source_counts, source_displs), group)


forms(vcollectives, "gatherv", _check, _make_rooted("gatherv", 1))
forms(vcollectives, "scatterv", _check, _make_rooted("scatterv", 0))
forms(vcollectives, "alltoallv", _check, _alltoallv)
