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

from numba.core import cgutils, types

from ishmem.common import call_id
from ishmem.common.call_id import REFUSED, dtype_number
from ishmem.common.collective_table import Collective, Root
from ishmem.common.violations import MISMATCH, NO_TEAM, STRIDE, argument_number

from . import type_checks
from .barrier import await_line, next_number, team_barrier
from .copy import copy_bytes, transfer_steps
from .intrinsics import (
    I64,
    compiled,
    device_function,
    device_intrinsic,
    from_one,
    group_barrier,
    load_word,
    memory_fence,
    rank_in,
    size_of,
)
from .memory_orders import GROUP
from .nodes import after, nodes_of, pe_in, spans_nodes
from .options import CHECK, LEVELS, PROXIED
from .peers import peer_delta
from .proxy import complete_before_flag, order_before_flag, store_at, store_flag
from .rendezvous_of_nodes import FROM_ALL, FROM_ROOT, LATER, NOTHING, SLOTS, Carried, distance_to_table, meet_by_nodes
from .rendezvous_slots import CALL, COUNT, PAYLOAD, SHARE, block_step, blocks_at, header_at, max_payload, slots_of
from .runtime_checks import is_team_pe, own_array_fits, report
from .small_alltoall import by_aggregators, put_to_aggregators
from .strided import extent
from .teams import is_team, members_of, pe_of
from .work_division import turns_of

ROOT = argument_number("root")
ALIGN_DIGITS = 6
ALIGN = 1 << ALIGN_DIGITS
"""Alignment in bytes of the parts into which a large block is divided among members."""

of_item = memory_fence(GROUP)


class Flow(NamedTuple):
    """Which blocks move between which PEs, constant for each routine. Fields are 0 or 1: kernels compute with them."""

    from_root: int = 0  # only the root sends
    to_root: int = 0  # only the root receives
    source_blocks: int = 0  # ``source`` has a block for each receiver
    dest_blocks: int = 0  # ``dest`` has a block for each sender
    vary: int = 0  # the members' blocks may differ in size


def flow_of(routine: Collective) -> Flow:
    """Return the flow of a routine of the table."""
    from_root, to_root = routine.root is Root.SENDS, routine.root is Root.RECEIVES
    return Flow(*map(int, (from_root, to_root, routine.source_blocks, routine.dest_blocks, routine.own_counts)))


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
def call_of(_context, routine, dest, source, nelems, root, steps, team):
    """Return the `Call` with these arguments: ``steps`` are ``dst`` and ``sst``; None is left out."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def number(place: int, default: int = 0) -> Any:
            kind, value = signature.args[place], arguments[place]
            return I64(default) if type_checks.absent(kind) else context.cast(builder, value, kind, types.int64)

        def array(place: int) -> tuple[Any, Any]:
            struct = context.make_array(signature.args[place])(context, builder, arguments[place])
            return builder.ptrtoint(struct.data, I64), struct.nitems

        dtype, itemsize = dtype_number(dest.dtype), context.get_abi_sizeof(context.get_data_type(dest.dtype))
        values = [number(0), I64(dtype), *array(1), *array(2), I64(itemsize), number(3, -1), number(4)]
        given = zip(cgutils.unpack_tuple(builder, arguments[5]), steps)
        values += [*(context.cast(builder, step, kind, types.int64) for step, kind in given), number(6)]
        return context.make_tuple(builder, signature.return_type, values)

    result = types.NamedUniTuple(types.int64, len(Call._fields), Call)
    return result(routine, dest, source, nelems, root, steps, team), code


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
        group_barrier(group)

    return impl


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
        copy_bytes(address, address + away, nbytes, rank_in(group), size_of(group))
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


# ---- entering and leaving a call


@compiled
def is_member(call):
    """Return whether this PE is in the team of a call; report a violation if not."""
    if is_team(call.team):
        return True
    if CHECK:
        report(call.routine, NO_TEAM, call.team, 0, 0, 0, 0)
    return False


@compiled
def arguments_allowed(call, count, flow, size):
    """Return whether the arguments of a call are allowed; report a violation if not."""
    if (flow.from_root or flow.to_root) and not is_team_pe(call.routine, ROOT, call.root, size):
        return False
    if call.dst < 1 or call.sst < 1:
        report(call.routine, STRIDE, 0, 0, call.dst, call.sst, 1)
        return False
    to_count = 0 if flow.vary else extent(call.dst, 1, count * (size if flow.dest_blocks else 1))
    from_count = extent(call.sst, 1, count * (size if flow.source_blocks else 1))
    return own_array_fits(call.routine, call.dest, call.dest_size, call.itemsize, to_count) and own_array_fits(
        call.routine, call.source, call.source_size, call.itemsize, from_count
    )


@compiled
def sends_by_leader(team, flow):
    """Return whether the leaders of the nodes send the data in the slots: all members receive the same data."""
    return LEVELS and spans_nodes(team) and not flow.source_blocks and not flow.to_root


@compiled
def carried_by(call, count, flow):
    """Return what the leaders send of the blocks of a call, if they do."""
    nbytes = count * call.itemsize
    if flow.vary:
        return Carried(SLOTS, max_payload(), 0)
    if nbytes > max_payload():
        return Carried(NOTHING, 0, 0)
    return Carried(FROM_ROOT if flow.from_root else FROM_ALL, nbytes, call.root)


@compiled
def put_to_leader(call, to, nbytes):
    """Put this PE's block to the leader of its node."""
    if LEVELS:
        copy_bytes(to + peer_delta(pe_in(nodes_of(call.team).near, 0)), call.source, nbytes, 0, 1)


@compiled
def put_small_blocks(members, slots, call, count, flow, by_leader):
    """Put this PE's small blocks into its slots on the members that receive them, or on the leader of its node only.

    Model: tests/models/rendezvous.pml.
    """
    start, stride, size, me = members
    if flow.from_root and me != call.root:
        return
    nbytes = count * call.itemsize
    to = blocks_at(call.team, slots) + me * block_step(max_payload() if flow.vary else nbytes)
    if by_leader:
        put_to_leader(call, to, nbytes)
        return
    for member in range(size):
        if not flow.to_root or member == call.root:
            block = call.source + flow.source_blocks * member * count * call.sst * call.itemsize
            transfer_steps(1, start + member * stride, to, block, 1, call.sst, call.itemsize, count, 0, 1)
    order_before_flag()


@compiled
def count_of(call, flow, size):
    """Return the number of elements of a block."""
    if call.nelems >= 0:
        return call.nelems
    if flow.source_blocks:
        return call.dest_size if flow.from_root else call.source_size // size
    return call.source_size


@compiled
def id_of(call, count, flow, size):
    """Return the id of a call; `REFUSED`, and report a violation, if its arguments are not allowed."""
    if CHECK and not arguments_allowed(call, count, flow, size):
        return REFUSED
    return pack_call(call.routine, call.dtype, call.root, call.dst, call.sst)


@compiled
def enter(call, flow, group):
    """Check and enter a collective call.

    Returns:
        A status and the number of elements of a block. The status is 1, or 0 if the PEs disagree and no data may be
        moved, or -1 if this PE is not in the team. ``slots_of(team, 1)`` has the slots of this call.
    """
    if not is_member(call):
        return -1, 0
    members, team, agreed = members_of(call.team), call.team, True
    count = count_of(call, flow, members.size)
    call_id, nbytes = id_of(call, count, flow, members.size), count * call.itemsize
    aggregated = by_aggregators(team, flow, nbytes)
    if aggregated and call_id != REFUSED:
        put_to_aggregators(call, slots_of(team, 0), count, group)
    group_sync(group)
    if rank_in(group) == 0:
        by_leader = sends_by_leader(team, flow)
        if nbytes <= max_payload() and not aggregated and call_id != REFUSED:
            put_small_blocks(members, slots_of(team, 0), call, count, flow, by_leader)
        share = count if flow.vary else -1
        carried = carried_by(call, count, flow) if by_leader else Carried(LATER if aggregated else NOTHING, 0, 0)
        agreed = rendezvous(team, members, call_id, call.dest_size if flow.vary else count, share, carried)
    return 1 if group_broadcast(group, agreed) else 0, count


@compiled
def await_transfers(group):
    """Wait for the transfers that the work-items of this PE have started by `transfer_steps`."""
    group_sync(group)
    if PROXIED:
        if rank_in(group) == 0:
            complete_before_flag()
        group_sync(group)


@compiled
def end_phase(group, team):
    """Complete this PE's accesses to the arrays of other members, and wait until all members have completed theirs.

    Model: tests/models/rendezvous.pml.
    """
    group_sync(group)
    if rank_in(group) == 0:
        complete_before_flag()
        team_barrier(team, members_of(team), None)
    group_sync(group)


@compiled
def part_of(nbytes, size, me):
    """Return the half-open range of bytes, out of ``nbytes``, that PE number ``me`` of ``size`` processes."""
    part = turns_of((nbytes + ALIGN - 1) >> ALIGN_DIGITS, size) << ALIGN_DIGITS
    return min(me * part, nbytes), min((me + 1) * part, nbytes)
