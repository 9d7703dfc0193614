"""Entry to and exit from a collective call in a kernel.

On entry, each member writes its call number, its arguments and, for small blocks, its data into its slot on every
member, then waits until all members have done so: a *rendezvous*. The rendezvous and barriers of a team share one
sequence of numbers, and each completes only after all members have begun it. So a member that begins number ``s`` knows
that all members have completed ``s - 2`` and may reuse the slots of that number. Peers write to the arrays of a PE only
after it has entered the call, and, if the call ends with a barrier, do not access them after it has left.

``group`` is the calling work-group, or None if a single work-item calls. Arrays are passed as addresses and sizes in
bytes, so this code is compiled once for all dtypes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from llvmlite import ir
from numba.core import types
from numba_dpex import kernel_api as kapi

from ishmem.common import call_id
from ishmem.common.call_id import REFUSED
from ishmem.common.layout import FEW_MEMBERS, LINE, RENDEZVOUS_SLOT, RendezvousSlot, TeamRecord
from ishmem.common.violations import MISMATCH, NO_ROOT, NO_TEAM, STRIDE

from . import binding, type_checks
from .copy import transfer_steps
from .intrinsics import (
    atomic_load_word,
    compiled,
    device_function,
    device_intrinsic,
    group_sum,
    load_word,
    memory_fence,
    rank_in,
    store_word,
)
from .orders import FLAG_SEEN, GROUP
from .proxy import complete_before_flag, store_at, store_flag
from .runtime_checks import own_array_fits, report
from .spec_constants import rendezvous_bytes, rendezvous_slots, sync_bytes, sync_lines, team_records
from .strided import extent
from .teams import is_team, members_of

NUMBER, CALL, COUNT, SHARE, PAYLOAD = (RendezvousSlot.at(field) for field in RendezvousSlot._fields)
SEQUENCE, NODES = TeamRecord.at("sequence"), TeamRecord.at("nodes")
ALIGN = 64
"""Alignment in bytes of the parts into which a large block is divided among members."""

all_seen = memory_fence(FLAG_SEEN)
of_item = memory_fence(GROUP)


class Flow(NamedTuple):
    """Which blocks move between which PEs, constant for each routine. Fields are 0 or 1: kernels compute with them."""

    from_root: int = 0  # only the root sends
    to_root: int = 0  # only the root receives
    source_blocks: int = 0  # ``source`` has a block for each receiver
    dest_blocks: int = 0  # ``dest`` has a block for each sender
    vary: int = 0  # the members' blocks may differ in size


class Call(NamedTuple):
    """The arguments of a collective call, an int64 each; made by `call_of`.

    Attributes:
        routine, dtype: As in ``ishmem.common.call_id``.
        dest, source: Addresses on this PE.
        dest_size, source_size: Elements of the arrays.
        itemsize: Bytes of an element.
        nelems: Elements of a block, or -1 to derive it from the array sizes.
        root: Member number of the root; 0 for routines without one.
        dst, sst: Strides of ``dest`` and ``source`` in elements.
        team: The handle.
    """

    routine: int
    dtype: int
    dest: int
    dest_size: int
    source: int
    source_size: int
    itemsize: int
    nelems: int
    root: int
    dst: int
    sst: int
    team: int


@device_intrinsic
def call_of(_context, routine, dtype, dest, source, nelems, root, dst, sst, team):
    """Return the `Call` with these arguments; ``nelems`` and ``team`` may be left out."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kinds = dict(zip(NAMES, zip(signature.args, arguments)))

        def number(name: str, default: int = 0) -> Any:
            kind, value = kinds[name]
            if type_checks.absent(kind):
                return ir.IntType(64)(default)
            return context.cast(builder, value, kind, types.int64)

        def array(name: str) -> tuple[Any, Any]:
            kind, value = kinds[name]
            struct = context.make_array(kind)(context, builder, value)
            return builder.ptrtoint(struct.data, ir.IntType(64)), struct.nitems

        itemsize = ir.IntType(64)(context.get_abi_sizeof(context.get_data_type(dest.dtype)))
        values = [number("routine"), number("dtype"), *array("dest"), *array("source"), itemsize, number("nelems", -1)]
        values += [number(name) for name in ("root", "dst", "sst", "team")]
        return context.make_tuple(builder, signature.return_type, values)

    result = types.NamedUniTuple(types.int64, len(Call._fields), Call)
    return result(routine, dtype, dest, source, nelems, root, dst, sst, team), code


NAMES = ("routine", "dtype", "dest", "source", "nelems", "root", "dst", "sst", "team")

pack_call = compiled(call_id.pack)
routine_of = compiled(call_id.routine_of)


# ---- the calling work-group


@device_function
def group_sync(group):
    """Synchronize the group: order its work-items' earlier memory operations before their later ones.

    Model: tests/models/work_group.pml.
    """
    if type_checks.absent(group):
        return lambda group: None

    def impl(group):
        of_item()
        kapi.group_barrier(group)

    return impl


@device_function
def group_broadcast(group, held):
    """Return ``held`` of work-item 0 on every work-item; True if arguments are not checked."""
    if type_checks.absent(group):
        return lambda group, held: held
    check = binding.options().check

    def impl(group, held):
        known = group_sum(held and rank_in(group) == 0) != 0 if check else True
        kapi.group_barrier(group)
        return known

    return impl


# ---- rendezvous and barrier


@compiled
def next_number(team):
    """Increment and return the sequence number of a team, for the rendezvous or barrier that this PE begins."""
    counter = team_records() + SEQUENCE + LINE * team
    number = load_word(counter) + 1
    store_word(counter, number)
    return number


@device_function
def slots_of(team, begun):
    """Return the address of this PE's slots for the current rendezvous (``begun`` 1) or for the next one (0)."""
    wide, narrow = binding.options().wide, LINE * FEW_MEMBERS

    def plain(team, begun):
        number = load_word(team_records() + SEQUENCE + LINE * team) + 1 - begun
        return rendezvous_slots() + rendezvous_bytes() * team + (number & 1) * (rendezvous_bytes() // 2)

    def large(team, begun):
        odd = (load_word(team_records() + SEQUENCE + LINE * team) + 1 - begun) & 1
        if team < wide:
            return rendezvous_slots() + rendezvous_bytes() * team + odd * (rendezvous_bytes() // 2)
        return rendezvous_slots() + rendezvous_bytes() * wide + narrow * (2 * (team - wide) + odd)

    return large if wide else plain


def _slot_bytes() -> int:
    return LINE if binding.options().wide else RENDEZVOUS_SLOT


@device_intrinsic
def slot_at(_context, slots, member):
    """Return the address of a member's slot."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        index = context.cast(builder, arguments[1], signature.args[1], types.int64)
        return builder.add(arguments[0], builder.mul(index, ir.IntType(64)(_slot_bytes())))

    return types.int64(types.int64, member), code


@device_intrinsic
def max_payload(_context):
    """Return the size in bytes of the largest block that is sent with the rendezvous, in its slot."""
    return types.int64(), lambda _context, _builder, _signature, _arguments: ir.IntType(64)(_slot_bytes() - PAYLOAD)


@device_function
def rendezvous(members, slots, number, call_id, count, share):
    """Publish this PE's call and wait for all members to enter ``number``; return whether all made the same call.

    Model: tests/models/rendezvous.pml.
    """
    check = binding.options().check

    def impl(members, slots, number, call_id, count, share):
        start, stride, size, me = members
        for step in range(1, size + 1):
            member = me + step if me + step < size else me + step - size
            pe, there = start + member * stride, slot_at(slots, me)
            store_at(pe, there + CALL, number, call_id)
            store_at(pe, there + COUNT, number, count)
            store_at(pe, there + SHARE, number, share)
            complete_before_flag()
            store_flag(pe, there, number)
        for member in range(size):
            while atomic_load_word(slot_at(slots, member)) < number:
                pass
        all_seen()
        return calls_match(members, slots, call_id, count) if check else True

    return impl


@compiled
def calls_match(members, slots, call_id, count):
    """Return whether all members have entered the same call as this PE; report a violation if not."""
    for member in range(members.size):
        slot = slot_at(slots, member)
        theirs, number = load_word(slot + CALL), load_word(slot + COUNT)
        if theirs != call_id or number != count:
            pe = members.start + member * members.stride
            report(routine_of(call_id), MISMATCH, pe, call_id, count, number, theirs)
            return False
    return call_id != REFUSED


@device_function
def team_barrier(team, members):
    """Wait for all members of a team, by the same algorithms as ``barrier`` in ``ishmem/core/barrier.cpp``."""
    if not binding.options().spans:
        return lambda team, members: flat_barrier(team, members)

    def impl(team, members):
        if load_word(team_records() + NODES + LINE * team):
            barrier_of_nodes(team)
        else:
            flat_barrier(team, members)

    return impl


@compiled
def flat_barrier(team, members):
    """Wait for all members of a team on one node.

    Model: tests/models/barrier.pml.
    """
    start, stride, size, me = members
    number, line, distance = next_number(team), sync_lines() + sync_bytes() * team, 1
    while distance < size:
        member = me + distance if me + distance < size else me + distance - size
        store_flag(start + member * stride, line, number)
        await_line(line, number)
        distance *= 2
        line += LINE


@compiled
def await_line(line, number):
    """Wait until a line of a barrier holds ``number`` or a later one."""
    while atomic_load_word(line) < number:
        pass
    all_seen()


@compiled
def barrier_of_nodes(team):
    """Wait for all members of a team that spans nodes: within each node, then between the nodes' leaders."""
    nodes, number = load_word(team_records() + NODES + LINE * team), next_number(team)
    n_near, index, n_leaders = load_word(nodes), load_word(nodes + 8), load_word(nodes + 16)
    release, near = sync_lines() + sync_bytes() * team, nodes + 40
    disseminate(near, n_near, index, release + LINE, number)
    if index:
        await_line(release, number)
        return
    node, rounds = load_word(nodes + 24), load_word(nodes + 32)
    disseminate(near + 8 * n_near, n_leaders, node, release + LINE * (1 + rounds), number)
    for i in range(1, n_near):
        store_flag(load_word(near + 8 * i), release, number)


@compiled
def disseminate(pes, size, me, line, number):
    """Run a dissemination barrier of the listed PEs, of which this is number ``me``."""
    distance = 1
    while distance < size:
        other = me + distance if me + distance < size else me + distance - size
        store_flag(load_word(pes + 8 * other), line, number)
        await_line(line, number)
        distance *= 2
        line += LINE


# ---- entering and leaving a call


@device_function
def is_member(call):
    """Return whether this PE is in the team of a call; report a violation if not."""
    if not binding.options().check:
        return lambda call: is_team(call.team)

    def impl(call):
        if not is_team(call.team):
            report(call.routine, NO_TEAM, call.team, 0, 0, 0, 0)
            return False
        return True

    return impl


@compiled
def arguments_allowed(call, count, flow, size):
    """Return whether the arguments of a call are allowed; report a violation if not."""
    if (flow.from_root or flow.to_root) and (call.root < 0 or call.root >= size):
        report(call.routine, NO_ROOT, call.root, 0, 0, 0, size)
        return False
    if call.dst < 1 or call.sst < 1:
        report(call.routine, STRIDE, 0, 0, call.dst, call.sst, 0)
        return False
    to_count = 0 if flow.vary else extent(call.dst, 1, count * (size if flow.dest_blocks else 1))
    from_count = extent(call.sst, 1, count * (size if flow.source_blocks else 1))
    return own_array_fits(call.routine, call.dest, call.dest_size, call.itemsize, to_count) and own_array_fits(
        call.routine, call.source, call.source_size, call.itemsize, from_count
    )


@compiled
def put_small_blocks(members, slots, call, count, flow):
    """Put this PE's small blocks into its slots on the members that receive them.

    Model: tests/models/rendezvous.pml.
    """
    start, stride, size, me = members
    if flow.from_root and me != call.root:
        return
    for member in range(size):
        if not flow.to_root or member == call.root:
            block = call.source + flow.source_blocks * member * count * call.sst * call.itemsize
            to = slot_at(slots, me) + PAYLOAD
            transfer_steps(1, start + member * stride, to, block, 1, call.sst, call.itemsize, count, 0, 1)


@device_function
def enter(call, flow, group):
    """Check and enter a collective call.

    Returns:
        A status and the number of elements of a block. The status is 1, or 0 if the PEs disagree and no data may be
        moved, or -1 if this PE is not in the team. ``slots_of(team, 1)`` has the slots of this call.
    """
    check = binding.options().check

    def impl(call, flow, group):
        if not is_member(call):
            return -1, 0
        members, team, count, agreed = members_of(call.team), call.team, call.nelems, True
        if count < 0:
            count = call.source_size
            if flow.source_blocks:
                count = call.dest_size if flow.from_root else call.source_size // members.size
        call_id = pack_call(call.routine, call.dtype, call.root, call.dst, call.sst)
        if check and not arguments_allowed(call, count, flow, members.size):
            call_id = REFUSED
        group_sync(group)
        if rank_in(group) == 0:
            slots = slots_of(team, 0)
            number = next_number(team)
            if count * call.itemsize <= max_payload() and call_id != REFUSED:
                put_small_blocks(members, slots, call, count, flow)
            agreed = rendezvous(members, slots, number, call_id, call.dest_size if flow.vary else count, count)
        return 1 if group_broadcast(group, agreed) else 0, count

    return impl


@compiled
def leave(group, team):
    """Complete this PE's stores and leave, by a barrier, a call that has accessed the arrays of other members.

    Model: tests/models/rendezvous.pml.
    """
    group_sync(group)
    if rank_in(group) == 0:
        complete_before_flag()
        team_barrier(team, members_of(team))
    group_sync(group)


@compiled
def part_of(count, itemsize, members):
    """Return the half-open range of elements, out of ``count``, that this PE works on."""
    size, me, unit = members.size, members.me, ALIGN // itemsize
    part = (count + size * unit - 1) // (size * unit) * unit
    return min(me * part, count), min((me + 1) * part, count)
