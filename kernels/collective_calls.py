"""Collective calls in kernels: their arguments, entry and exit, and the registration of routines.

A call is entered by a rendezvous. Peers write to the arrays of a PE only after it has entered the call, and, if the
call ends with a barrier, do not access them after it has left.

Arrays are passed as addresses and sizes in bytes, so this code is compiled once for all dtypes. Parameter ``group`` is
the calling work-group or sub-group, all of whose work-items call, or None for one work-item; ``team`` is a handle.
"""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any, NamedTuple

from numba.core import cgutils, types

from ishmem.common import call_id
from ishmem.common.call_id import REFUSED, dtype_number
from ishmem.common.collective_table import COLLECTIVES, Collective, Combines, Root
from ishmem.common.violations import NO_TEAM, STRIDE, argument_number, routine_number

from . import type_checks
from .barrier import team_barrier
from .combining import typed_op
from .copy import copy_bytes, put_steps
from .forms import forms, integers
from .intrinsics import (
    I64,
    IntrinsicCode,
    compiled,
    device_intrinsic,
    item_bytes,
    rank_in,
    size_in,
)
from .long_waits import record_begun_call
from .nodes import nodes_of, pe_in, spans_nodes
from .options import CHECK, LEVELS, PROXIED
from .peers import peer_delta
from .proxy import complete_before_flag, order_before_flag
from .rendezvous import (
    FROM_ALL,
    FROM_ROOT,
    LATER,
    NOTHING,
    SLOTS,
    Carried,
    block_step,
    blocks_at,
    group_broadcast,
    group_sync,
    max_payload,
    rendezvous,
    slots_of,
)
from .runtime_checks import is_team_pe, own_array_fits, report
from .small_alltoall import by_aggregators, put_to_aggregators
from .strided import extent, is_view
from .teams import TeamMembers, is_team, members_of
from .work_division import Workers, turns_of

ROOT = argument_number("root")
ALIGN_DIGITS = 6
ALIGN = 1 << ALIGN_DIGITS
"""Alignment in bytes of the parts into which a large block is divided among members."""


class Flow(NamedTuple):
    """The flow of blocks between PEs, constant for each routine. Fields are 0 or 1: kernels compute with them."""

    from_root: int = 0  # only the root sends
    to_root: int = 0  # only the root receives
    source_blocks: int = 0  # ``source`` has a block for each receiver
    dest_blocks: int = 0  # ``dest`` has a block for each sender
    vary: int = 0  # the members' blocks may differ in size


def flow_of(routine: Collective) -> Flow:
    """Return the `Flow` of a routine of the table."""
    from_root, to_root = routine.root is Root.SENDS, routine.root is Root.RECEIVES
    return Flow(*map(int, (from_root, to_root, routine.source_blocks, routine.dest_blocks, routine.own_counts)))


class CollectiveCall(NamedTuple):
    """The arguments of a collective call, as `call_of` returns them.

    Attributes:
        flow: Which blocks move.
        routine, dtype: As in ``ishmem.common.call_id``.
        dest, source: Addresses on this PE.
        dest_size, source_size: Elements of the arrays.
        itemsize: Bytes of an element.
        nelems: Elements of a block, or -1 to derive it from the array sizes.
        root: Member number of the root; 0 for routines without one.
        dst, sst: Strides of ``dest`` and ``source`` in elements.
        team: The handle.
    """

    flow: Flow
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


class EnteredCall(NamedTuple):
    """A collective call that this PE has entered.

    Attributes:
        call: Its arguments.
        members: The members of its team.
        slots: Address of this PE's slots of its rendezvous.
        count: Elements of a block; -1 if they differ: the slots then contain the number of each member.
    """

    call: CollectiveCall
    members: TeamMembers
    slots: int
    count: int  # type: ignore[assignment]  # hides a method of tuple


@device_intrinsic
def call_of(flow, routine, dest, source, nelems, root, steps, team):
    """Return the `CollectiveCall` of these arguments; ``dest`` and ``source`` are arrays, ``routine`` is a number.

    ``steps`` is ``(dst, sst)``. ``nelems`` and ``root`` may be None, which become -1 and 0.
    """

    def emit(code: IntrinsicCode, *values):
        def number(place: int, default: int = 0) -> Any:
            kind = code.signature.args[place]
            return I64(default) if type_checks.absent(kind) else code.cast(values[place], place, types.int64)

        def array(place: int) -> tuple[Any, Any]:
            struct = code.array(code.signature.args[place], values[place])
            return code.builder.ptrtoint(struct.data, I64), struct.nitems

        dtype, item = I64(dtype_number(dest.dtype)), I64(size_in(code, dest.dtype))
        fields = [values[0], number(1), dtype, *array(2), *array(3), item, number(4, -1), number(5)]
        given = zip(cgutils.unpack_tuple(code.builder, values[6]), steps)
        fields += [code.context.cast(code.builder, step, kind, types.int64) for step, kind in given]
        return code.tuple_of([*fields, number(7)])

    kinds = [flow, *[types.int64] * (len(CollectiveCall._fields) - 1)]
    return types.NamedTuple(kinds, CollectiveCall)(flow, routine, dest, source, nelems, root, steps, team), emit


@device_intrinsic
def with_count(call, nelems):
    """Return a copy of a `CollectiveCall` with ``nelems`` elements in a block."""
    place = CollectiveCall._fields.index("nelems")
    return call(call, types.int64), lambda code, given, count: code.builder.insert_value(given, count, place)


@compiled
def tile_call(flow, routine, dest, source, root, team):
    """Return the `CollectiveCall` of two tiles, arrays of two dimensions; other arguments are its fields.

    A row is a block: ``nelems`` is its length, -1 for tiles that do not fit each other; ``dst`` and ``sst`` are the
    distances between rows in elements, and ``dest_size`` and ``source_size`` the numbers of rows.
    """
    item, (rows, columns), (high, wide) = item_bytes(dest), source.shape, dest.shape
    fits = wide == columns and (columns < 2 or (source.strides[1] == item and dest.strides[1] == item))
    step, apart, length = source.strides[0] // item, dest.strides[0] // item, columns if fits else -1
    call = call_of(flow, routine, dest, source, length, root, (apart, step), team)
    return CollectiveCall(
        flow, call.routine, call.dtype, call.dest, high, call.source, rows, item, length, call.root, apart, step,
        call.team,
    )  # fmt: skip


pack_call = compiled(call_id.pack)


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
def arguments_allowed(call, count, size):
    """Return whether a call by ``size`` members, with ``count`` elements a block, is allowed; report it if not."""
    flow = call.flow
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
def sends_by_leader(call):
    """Return whether node leaders exchange the small blocks: in teams of several nodes, if all receive the same."""
    return LEVELS and spans_nodes(call.team) and not call.flow.source_blocks and not call.flow.to_root


@compiled
def carried_by(call, nbytes):
    """Return the `Carried` of a call with blocks of ``nbytes`` bytes; only for calls with `sends_by_leader` true."""
    if call.flow.vary:
        return Carried(SLOTS, max_payload(), 0)
    if nbytes > max_payload():
        return Carried(NOTHING, 0, 0)
    return Carried(FROM_ROOT if call.flow.from_root else FROM_ALL, nbytes, call.root)


@compiled
def put_to_leader(call, to, nbytes):
    """Put this PE's block of ``nbytes`` bytes to the leader of its node; ``to`` is the address on this PE."""
    if LEVELS:
        copy_bytes(to + peer_delta(pe_in(nodes_of(call.team).near, 0)), call.source, nbytes, 0, 1)


@compiled
def put_small_blocks(members, slots, call, count, by_leader):
    """Put this PE's blocks of ``count`` elements into ``slots`` of their receivers, or (``by_leader``) its leader."""
    (start, stride, size, me), flow = members, call.flow
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
            put_steps(start + member * stride, to, block, 1, call.sst, call.itemsize, count, Workers(0, 1))
    order_before_flag()


@compiled
def count_of(call, size):
    """Return the elements in a block of ``call``: its ``nelems``, or if negative its arrays' for ``size`` members."""
    if call.nelems >= 0:
        return call.nelems
    if call.flow.source_blocks:
        return call.dest_size if call.flow.from_root else call.source_size // size
    return call.source_size


@compiled
def id_of(call, count, size):
    """Return the id of a call by ``size`` members with ``count`` elements a block; `REFUSED`, and report, if wrong."""
    if CHECK and not arguments_allowed(call, count, size):
        return REFUSED
    return pack_call(call.routine, call.dtype, call.root, call.dst, call.sst)


@compiled
def enter(call, group):
    """Check the arguments of a call and enter it, as ``group``, by a rendezvous, which also sends small blocks.

    Returns:
        A status and the number of elements of a block. The status is 1, or 0 if the PEs disagree and no data may be
        moved, or -1 if this PE is not in the team. ``slots_of(team, 1)`` has the slots of this call.
    """
    if not is_member(call):
        return -1, 0
    members, team, agreed = members_of(call.team), call.team, True
    count = count_of(call, members.size)
    call_id, nbytes = id_of(call, count, members.size), count * call.itemsize
    aggregated = by_aggregators(call, nbytes)
    if aggregated and call_id != REFUSED:
        put_to_aggregators(call, slots_of(team, 0), count, group)
    group_sync(group)
    if rank_in(group) == 0:
        by_leader, vary = sends_by_leader(call), call.flow.vary
        if nbytes <= max_payload() and not aggregated and call_id != REFUSED:
            put_small_blocks(members, slots_of(team, 0), call, count, by_leader)
        share = count if vary else -1
        carried = carried_by(call, nbytes) if by_leader else Carried(LATER if aggregated else NOTHING, 0, 0)
        agreed = rendezvous(team, members, call_id, call.dest_size if vary else count, share, carried)
    return 1 if group_broadcast(group, agreed) else 0, count


@compiled
def await_transfers(group):
    """Wait for all transfers that work-items of this PE have started by `put_steps` and `get_steps`."""
    group_sync(group)
    if PROXIED:
        if rank_in(group) == 0:
            complete_before_flag()
        group_sync(group)


@compiled
def end_phase(group, team):
    """Complete this PE's accesses to the arrays of other members, and wait until all members have completed theirs."""
    group_sync(group)
    if rank_in(group) == 0:
        complete_before_flag()
        team_barrier(team, members_of(team), None)
    group_sync(group)


@compiled
def part_of(nbytes, size, me):
    """Return begin and end, in bytes, of the part of ``nbytes`` bytes that PE ``me`` of ``size`` PEs processes."""
    part = turns_of((nbytes + ALIGN - 1) >> ALIGN_DIGITS, size) << ALIGN_DIGITS
    return min(me * part, nbytes), min((me + 1) * part, nbytes)


# ---- registration: for a work-item and for a group


def _check(traits: Collective, name: str, dest: Any, source: Any, nelems: Any = None, **others: Any) -> bool:
    """Check the argument types of a call at compile time; return whether its arrays are tiles."""
    has_tiles = traits.tiles and (is_view(dest) or is_view(source))
    for argument, kind in (("dest", dest), ("source", source)):
        type_checks.element_type(name, argument, kind, traits.types)
    if has_tiles:
        type_checks.tiles(name, nelems, dest=dest, source=source)
    else:
        type_checks.contiguous(name, dest=dest, source=source)
    type_checks.same_dtype(dest, source)
    integers(name, **others)
    if not type_checks.absent(nelems):
        type_checks.integer(name, "nelems", nelems)
    return has_tiles


def register(name: str, module: ModuleType, run: Any, run_tiles: Any = None) -> None:
    """Register a routine ``name`` and its ``name_work_group``, with the parameters that the table states for it.

    Args:
        name: Name of the routine in ``module``.
        module: The host module.
        run: The implementation, which returns 0, or -1 when this PE is not in the team: ``run(call, group)`` or, of a
            reduction or scan, ``run(op, call, group, call_site)`` with a `TypedOp` of ``ishmem.kernels.combining``.
        run_tiles: For 2-D tiles: ``run_tiles(call, group)`` or, of a reduction, ``run_tiles(op, call, group)``.
    """
    routine, traits = routine_number(name), COLLECTIVES[name]
    flow, combines = flow_of(traits), traits.combines is not Combines.NOTHING

    def of_arrays(dest, source, root, group, team=0, nelems=None, call_site=None):
        call = call_of(flow, routine, dest, source, nelems, root, (1, 1), team)
        if combines:
            return run(typed_op(dest, routine), call, group, call_site)
        record_begun_call(call_site)
        return run(call, group)

    def of_tiles(dest, source, root, group, team=0, nelems=None, call_site=None):
        record_begun_call(call_site)
        call = tile_call(flow, routine, dest, source, root, team)
        if combines:
            return run_tiles(typed_op(dest, routine), call, group)
        return run_tiles(call, group)

    def strided(dest, source, dst, sst, nelems, group, team=0, call_site=None):
        record_begun_call(call_site)
        return run(call_of(flow, routine, dest, source, nelems, None, (dst, sst), team), group)

    bodies = (strided,) if traits.strided else (of_arrays, of_tiles)
    forms(module, name, functools.partial(_check, traits), *bodies)
