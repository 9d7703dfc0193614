"""Elements that a work-item combines at once: a block of units of 16 bytes, one unit, or one element.

In a kernel they are tuples of elements. A complex number is a unit. Floats of 16 bits are float32 from load to store.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types

from ishmem.common.type_tables import HALVES

from .copy import WIDEST
from .intrinsics import GLOBAL, I64, device_intrinsic, literal_value

AT_ONCE = 4
"""Units of a block: so many loads of each member are under way at the same time."""

ELEMENT, UNIT, BLOCK = 0, 1, AT_ONCE
"""Numbers of units, as `nothing` takes them; an element may be less than a unit."""


def _lanes(dtype: Any) -> int:
    """Return the number of elements in a unit."""
    return 1 if isinstance(dtype, types.Complex) else max(WIDEST * 8 // dtype.bitwidth, 1)


def is_half(dtype: Any) -> bool:
    """Return whether a dtype is a float of 16 bits."""
    return str(dtype) in HALVES


def _wide(like: Any) -> Any:
    """Return the type of elements as they are combined."""
    return types.UniTuple(types.float32, like.count) if is_half(like.dtype) else like


def _widened(context: Any, builder: Any, dtype: Any, value: Any) -> Any:
    """Return a loaded element as it is combined."""
    return context.cast(builder, value, dtype, types.float32) if is_half(dtype) else value


def _narrowed(context: Any, builder: Any, dtype: Any, value: Any) -> Any:
    """Return a combined element as it is stored; a bfloat16 is a float32 until then."""
    return context.cast(builder, value, types.float32, dtype) if dtype == types.float16 else value


@device_intrinsic
def zeros(_context: Any, like: Any) -> Any:
    """Return zeros as elements are combined, as many as ``like`` has."""
    return _wide(like)(like), lambda context, _builder, made, _arguments: context.get_constant_null(made.return_type)


@device_intrinsic
def nothing(_context: Any, sample: Any, units: Any) -> Any:
    """Return zeros of the dtype of ``sample``: a literal number of ``units``, or one element for `ELEMENT`."""
    number = max(literal_value(units) * _lanes(sample), 1)

    def code(context: Any, _builder: Any, signature: Any, _arguments: Any) -> Any:
        return context.get_constant_null(signature.return_type)

    return types.UniTuple(sample, number)(sample, units), code


@device_intrinsic
def bytes_of(_context: Any, elements: Any) -> Any:
    """Return the size in bytes of a tuple of elements, as a compile-time constant."""

    def code(context: Any, _builder: Any, _signature: Any, _arguments: Any) -> Any:
        return I64(elements.count * context.get_abi_sizeof(context.get_data_type(elements.dtype)))

    return types.int64(elements), code


def _pointers(context: Any, builder: Any, address: Any, step: Any, kind: Any) -> list[tuple[Any, int]]:
    """Return the addresses of the units of a block and the number of elements in each of them."""
    lanes = min(_lanes(kind.dtype), kind.count)
    element = context.get_data_type(kind.dtype)
    word = ir.VectorType(element, lanes) if lanes > 1 else element
    places = [builder.add(address, builder.mul(step, I64(i))) for i in range(kind.count // lanes)]
    return [(builder.inttoptr(place, word.as_pointer(GLOBAL)), lanes) for place in places]


@device_intrinsic
def load_units(_context: Any, address: Any, step: Any, like: Any) -> Any:
    """Return as many elements as ``like`` has, in units from ``address`` on that are ``step`` bytes apart."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        values, model = [], context.data_model_manager[like.dtype]
        for pointer, lanes in _pointers(context, builder, arguments[0], arguments[1], like):
            if lanes == 1:
                values.append(context.unpack_value(builder, like.dtype, pointer))
            else:
                unit = builder.load(pointer, align=WIDEST)
                elements = (builder.extract_element(unit, ir.IntType(32)(lane)) for lane in range(lanes))
                values += [model.from_data(builder, element) for element in elements]
        values = [_widened(context, builder, like.dtype, value) for value in values]
        return context.make_tuple(builder, signature.return_type, values)

    return _wide(like)(types.int64, types.int64, like), code


@device_intrinsic
def store_units(_context: Any, address: Any, step: Any, like: Any, elements: Any) -> Any:
    """Store combined elements where `load_units` would load them."""

    def code(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        model, wide = context.data_model_manager[like.dtype], cgutils.unpack_tuple(builder, arguments[3])
        values = iter([_narrowed(context, builder, like.dtype, value) for value in wide])
        for pointer, lanes in _pointers(context, builder, arguments[0], arguments[1], like):
            if lanes == 1:
                context.pack_value(builder, like.dtype, next(values), pointer)
            else:
                unit = ir.Constant(pointer.type.pointee, ir.Undefined)
                for lane in range(lanes):
                    unit = builder.insert_element(unit, model.as_data(builder, next(values)), ir.IntType(32)(lane))
                builder.store(unit, pointer, align=WIDEST)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, like, elements), code


def elementwise(combine: Any) -> Any:
    """Make the device function that combines two tuples of elements by ``combine``, a device function of two."""

    def typing(typing_context: Any, a: Any, b: Any) -> Any:
        function = typing_context.resolve_value_type(combine)
        call = typing_context.resolve_function_type(function, (a.dtype, a.dtype), {})

        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            one = context.get_function(function, call)
            for library in getattr(one, "libs", ()):
                context.active_code_library.add_linking_library(library)
            pairs = zip(*(cgutils.unpack_tuple(builder, each) for each in arguments))
            results = [context.cast(builder, one(builder, pair), call.return_type, a.dtype) for pair in pairs]
            return context.make_tuple(builder, signature.return_type, results)

        return a(a, b), code

    return device_intrinsic(typing)
