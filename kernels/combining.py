"""How reductions and scans combine elements, and blocks of the members of a team.

A work-item combines at once a block of units of 16 bytes, one unit, or one element: tuples of elements in kernels. A
complex number is one unit. Floats of 16 bits are combined as float32.

The type of a `TypedOp` identifies a routine and a dtype: numba compiles a function for each type.
"""

from __future__ import annotations

from typing import Any, Callable, NamedTuple

from llvmlite import ir
from numba.core import cgutils, types

from ishmem.common.type_tables import HALVES, REDUCTIONS
from ishmem.common.violations import routine_number

from .copy import WIDEST
from .intrinsics import I32, I64, IntrinsicCode, bytes_of, compiled, device_function, device_intrinsic, literal_value
from .options import PROXIED, ROUTED
from .peers import on_peer
from .teams import TeamMembers, pe_of
from .work_division import work_item_share


class TypedOp(NamedTuple):
    """A zero of a dtype, whose type tells kernels the routine and the dtype: each reduction and scan has a subclass."""

    zero: Any


TYPED_OPS = {routine_number(name): type(name, (TypedOp,), {}) for name in REDUCTIONS}
"""The subclasses of `TypedOp` by routine number."""


@device_intrinsic
def typed_op(dest: Any, routine: Any) -> Any:
    """Return the `TypedOp` of routine number ``routine``, a literal, into an array; 0 if it is no reduction or scan."""
    made = TYPED_OPS.get(literal_value(routine))
    kind = types.NamedUniTuple(dest.dtype, 1, made) if made else types.int64
    return kind(dest, routine), lambda code, *_given: code.zero()


def _trait(of_type: Callable[[Any], bool]) -> Any:
    """Make the intrinsic that returns a boolean property of the type of a `TypedOp`, as a compile-time constant."""

    def trait(op: Any) -> Any:
        value = ir.IntType(1)(of_type(op))
        return types.boolean(op), lambda _code, _op: value

    return device_intrinsic(trait)


is_half = _trait(lambda op: _is_half(op.dtype))
"""Whether elements are floats of 16 bits."""

is_scan = _trait(lambda op: op.instance_class.__name__.endswith("scan"))
is_inclusive = _trait(lambda op: op.instance_class.__name__ == "sum_inscan")

AT_ONCE = 4
"""Units of a block: the loads from each member that are in flight at the same time."""

ELEMENT, UNIT, UNITS = 0, 1, AT_ONCE
"""Arguments of `zero_units`, in units of 16 bytes; 0 is one element, which may be less than a unit."""


def _lanes(dtype: Any) -> int:
    """Return the number of elements of a dtype in a unit; 1 for a complex number."""
    return 1 if isinstance(dtype, types.Complex) else max(WIDEST * 8 // dtype.bitwidth, 1)


def _is_half(dtype: Any) -> bool:
    return str(dtype) in HALVES


def _wide(like: Any) -> Any:
    """Return the type in which a tuple of elements is combined: float32 for floats of 16 bits."""
    return types.UniTuple(types.float32, like.count) if _is_half(like.dtype) else like


def _widened(code: IntrinsicCode, dtype: Any, value: Any) -> Any:
    """Return a loaded element in the type in which elements are combined."""
    return code.context.cast(code.builder, value, dtype, types.float32) if _is_half(dtype) else value


def _narrowed(code: IntrinsicCode, dtype: Any, value: Any) -> Any:
    """Return a combined element in the type in which it is stored; a bfloat16 stays a float32 here."""
    return code.context.cast(code.builder, value, types.float32, dtype) if dtype == types.float16 else value


@device_intrinsic
def zeros(like: Any) -> Any:
    """Return a tuple of zeros, as many as ``like`` has elements, in the type in which elements are combined."""
    return _wide(like)(like), lambda code, _like: code.zero()


@device_intrinsic
def zero_units(op: Any, units: Any) -> Any:
    """Return a tuple of zeros of the dtype of ``op`` that fills a literal number of ``units``, or one for `ELEMENT`."""
    count = max(literal_value(units) * _lanes(op.dtype), 1)
    return types.UniTuple(op.dtype, count)(op, units), lambda code, *_given: code.zero()


def _pointers(code: IntrinsicCode, address: Any, step: Any, kind: Any) -> list[tuple[Any, int]]:
    """Return pointers to the units, ``step`` bytes apart, of a tuple of type ``kind``, each with its element count."""
    lanes = min(_lanes(kind.dtype), kind.count)
    element = code.context.get_data_type(kind.dtype)
    word = ir.VectorType(element, lanes) if lanes > 1 else element
    places = [code.builder.add(address, code.builder.mul(step, I64(i))) for i in range(kind.count // lanes)]
    return [(code.pointer(place, word), lanes) for place in places]


@device_intrinsic
def load_units(address: Any, step: Any, like: Any) -> Any:
    """Return as many elements as ``like`` has, loaded from ``address`` on in units that start ``step`` bytes apart."""

    def emit(code: IntrinsicCode, *given):
        values, model, builder = [], code.context.data_model_manager[like.dtype], code.builder
        for pointer, lanes in _pointers(code, given[0], given[1], like):
            if lanes == 1:
                values.append(code.context.unpack_value(builder, like.dtype, pointer))
            else:
                unit = builder.load(pointer, align=WIDEST)
                elements = (builder.extract_element(unit, I32(lane)) for lane in range(lanes))
                values += [model.from_data(builder, element) for element in elements]
        return code.tuple_of([_widened(code, like.dtype, value) for value in values])

    return _wide(like)(types.int64, types.int64, like), emit


@device_intrinsic
def store_units(address: Any, step: Any, like: Any, elements: Any) -> Any:
    """Store ``elements`` as the dtype of ``like`` to the places from which `load_units` loads them."""

    def emit(code: IntrinsicCode, *given):
        model, builder = code.context.data_model_manager[like.dtype], code.builder
        values = iter([_narrowed(code, like.dtype, value) for value in cgutils.unpack_tuple(builder, given[3])])
        for pointer, lanes in _pointers(code, given[0], given[1], like):
            if lanes == 1:
                code.context.pack_value(builder, like.dtype, next(values), pointer)
            else:
                unit = ir.Constant(pointer.type.pointee, ir.Undefined)
                for lane in range(lanes):
                    unit = builder.insert_element(unit, model.as_data(builder, next(values)), I32(lane))
                builder.store(unit, pointer, align=WIDEST)

    return types.void(types.int64, types.int64, like, elements), emit


def elementwise(combine: Any, kind: Any) -> Any:
    """Return the function that emits ``combine`` for the elements of its last two arguments, tuples of ``kind``."""

    def emit(code: IntrinsicCode, *given):
        context, builder, _signature = code
        function = context.typing_context.resolve_value_type(combine)
        call = context.typing_context.resolve_function_type(function, (kind.dtype, kind.dtype), {})
        one = context.get_function(function, call)
        for library in getattr(one, "libs", ()):
            context.active_code_library.add_linking_library(library)
        results = (one(builder, pair) for pair in zip(*(cgutils.unpack_tuple(builder, each) for each in given[-2:])))
        return code.tuple_of([context.cast(builder, each, call.return_type, kind.dtype) for each in results])

    return emit


# ``max`` and ``min`` return NaN if either operand is NaN.
_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "max": lambda a, b: a if (a >= b) | (a != a) else b,
    "min": lambda a, b: a if (a <= b) | (a != a) else b,
    "sum": lambda a, b: a + b,
    "prod": lambda a, b: a * b,
}

_COMBINE = {name: compiled(operator) for name, operator in _OPERATORS.items()}


@device_intrinsic
def combined(op: Any, a: Any, b: Any) -> Any:
    """Return the elementwise combination of tuples ``a`` and ``b`` by the operation of ``op``."""
    operation = op.instance_class.__name__.split("_")[0]
    return a(op, a, b), elementwise(_COMBINE[operation], a)


# ---- blocks of the members


class Reduction(NamedTuple):
    """A reduction or scan of arrays of all members.

    Attributes:
        op: The operation and the dtype.
        dest, source: Addresses on this PE.
        nbytes: Bytes of an array.
        team, members: The handle of the team, and its members.
    """

    op: TypedOp
    dest: int
    source: int
    nbytes: int
    team: int
    members: TeamMembers


class MemberBlocks(NamedTuple):
    """The blocks of consecutive members of a team, one of each.

    Attributes:
        at: Address of the block of member 0.
        apart: Bytes between the blocks of consecutive members; 0 for arrays of the members.
        on_peers: 1 for arrays of the members: the block of each is at ``at`` on its PE; 0 if all are on this PE.
        first, end: The members, ``end`` excluded.
    """

    at: int
    apart: int
    on_peers: int
    first: int
    end: int


@compiled
def member_arrays(address, members):
    """Return the `MemberBlocks` of the symmetric array at ``address`` on all members."""
    return MemberBlocks(address, 0, 1, 0, members.size)


@compiled
def own_block(address, members):
    """Return the `MemberBlocks` of the array at ``address`` on this PE only, which is one of ``members``."""
    return MemberBlocks(address, 0, 1, members.me, members.me + 1)


@compiled
def chunks_at(address, apart, members):
    """Return the `MemberBlocks` of chunks at ``address`` on this PE, one for each member, ``apart`` bytes apart."""
    return MemberBlocks(address, apart, 0, 0, members.size)


@compiled
def block_of(blocks, member, members):
    """Return the address at which this PE accesses a member's block."""
    if not ROUTED and blocks.on_peers:
        return on_peer(blocks.at, pe_of(members, member))
    return blocks.at + member * blocks.apart


@compiled
def result_of(blocks, member, members):
    """Return the address at which to store a member's result: `block_of` with a proxy, else in the member's array."""
    if PROXIED:
        return block_of(blocks, member, members)
    return on_peer(blocks.at, pe_of(members, member))


@device_function
def combine_at(op, like, at, step, sources, dests, members):
    """Combine as many elements as ``like`` has from each block of ``sources``, and store the results to ``dests``.

    The elements are ``at`` bytes into each block, in units ``step`` bytes apart. A reduction stores one result to all
    ``dests``; a scan stores to each member the result of the members before it, and for an inclusive scan also its own.
    """
    return _scan_at if op.instance_class.__name__.endswith("scan") else _reduce_at


def _reduce_at(op, like, at, step, sources, dests, members):
    total = load_units(block_of(sources, 0, members) + at, step, like)
    for member in range(1, sources.end):
        total = combined(op, total, load_units(block_of(sources, member, members) + at, step, like))
    for member in range(dests.first, dests.end):
        store_units(result_of(dests, member, members) + at, step, like, total)


def _scan_at(op, like, at, step, sources, dests, members):
    before = zeros(like)
    for member in range(sources.end):
        after = combined(op, before, load_units(block_of(sources, member, members) + at, step, like))
        if dests.first <= member and member < dests.end:
            store_units(result_of(dests, member, members) + at, step, like, after if is_inclusive(op) else before)
        before = after


@compiled
def reduce_blocks(op, sources, dests, nbytes, workers, members):
    """Combine this work-item's share, as one of ``workers``, of ``nbytes`` bytes of ``sources`` into ``dests``."""
    unit, item, done = bytes_of(zero_units(op, UNIT)), bytes_of(zero_units(op, ELEMENT)), 0
    if unit == item or not (sources.at | sources.apart | dests.at | dests.apart) & (unit - 1):
        done = nbytes & -unit
        first, step, end = work_item_share(done // unit, workers.rank, workers.width)
        at, step, end = first * unit, step * unit, end * unit
        while at + (UNITS - 1) * step < end:
            combine_at(op, zero_units(op, UNITS), at, step, sources, dests, members)
            at += UNITS * step
        while at < end:
            combine_at(op, zero_units(op, UNIT), at, 0, sources, dests, members)
            at += step
    if done < nbytes:
        first, step, end = work_item_share((nbytes - done) // item, workers.rank, workers.width)
        while first < end:
            combine_at(op, zero_units(op, ELEMENT), done + first * item, 0, sources, dests, members)
            first += step
