"""Elements and parts of arrays in kernels, such as ``a[i, 1:]``, with bounds checks where these are enabled.

It uses numba's implementations. An access with an index out of bounds is reported and skipped: a load returns 0, a part
is empty, a store does nothing. Slices are never out of bounds, as in numpy.
"""

from __future__ import annotations

import operator
from typing import Any

from llvmlite.ir.instructions import InsertValue
from numba.core import cgutils, types
from numba.core.errors import NumbaTypeError
from numba.core.imputils import impl_ret_borrowed
from numba.np.arrayobj import (
    getitem_array_tuple,
    getitem_arraynd_intp,
    iternext_numpy_getitem,
    iternext_numpy_getitem_any,
    make_array,
    make_array_flat_cls,
    make_view,
    normalize_indices,
    setitem_array,
)

from ..compile import failures
from ..compile.spirv_calls import I1, I64
from ..compile.target import overrides, registry
from ..compile.types import USMNdArray
from . import assignments
from .clipping import sliced


@overrides.lower(operator.getitem, USMNdArray, types.Integer)  # type: ignore[untyped-decorator, unused-ignore]
def _element(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return _loaded(getitem_arraynd_intp, context, builder, signature, arguments)


@overrides.lower(operator.getitem, USMNdArray, types.BaseTuple)  # type: ignore[untyped-decorator, unused-ignore]
def _part(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return _loaded(getitem_array_tuple, context, builder, signature, arguments)


@registry.lower(operator.getitem, USMNdArray, types.slice2_type)  # type: ignore[untyped-decorator, unused-ignore]
def _slice(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Emit and return the view ``array[start:stop]``."""
    kind = signature.args[0]
    array = make_array(kind)(context, builder, arguments[0])
    part = sliced(context, builder, signature, array, arguments[1])
    view = make_view(context, builder, kind, array, signature.return_type, *part)
    return impl_ret_borrowed(context, builder, signature.return_type, view._getvalue())


@overrides.lower(operator.setitem, USMNdArray, types.Any, types.Any)  # type: ignore[untyped-decorator, unused-ignore]
def _store(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    of_array = isinstance(signature.args[2], USMNdArray)
    code = assignments.assign if of_array else setitem_array
    _refuse_constants(builder, signature.args, arguments)
    if not context.checks_bounds:
        return code(context, builder, signature, arguments)
    with builder.if_then(_inside(context, builder, signature.args, arguments)):
        code(context, builder, signature, arguments)
    return context.get_dummy_value()


def _refuse_constants(builder: Any, kinds: Any, values: Any) -> None:
    """Check constant indices of a `PrivateArray`.

    Raises:
        NumbaTypeError: One is out of bounds.
    """
    extents = getattr(kinds[0], "extents", ())
    if not extents:
        return
    for axis, part, number in _by_axis(len(extents), *_indices(builder, kinds[1], values[1])):
        index = getattr(part, "literal_value", getattr(number, "constant", None))
        if isinstance(part, types.Integer) and isinstance(index, int) and not -extents[axis] <= index < extents[axis]:
            raise NumbaTypeError(f"index {index} is out of bounds for axis {axis} of an array of shape {extents}")


def _indices(builder: Any, kind: Any, value: Any) -> tuple[Any, Any]:
    """Return the types and the values of the parts of an index; one of each if it is not a tuple."""
    if isinstance(kind, types.BaseTuple):
        return tuple(kind), [_member(builder, value, place) for place in range(len(kind))]
    return (kind,), (value,)


def _member(builder: Any, value: Any, place: int) -> Any:
    """Return element ``place`` of a tuple; the inserted value itself, such as a constant, if its insertion is found."""
    made = value
    while isinstance(made, InsertValue):
        made, inserted = made.operands[0], made
        if list(inserted.indices) == [place]:
            return inserted.operands[1]
    return builder.extract_value(value, place)


def _loaded(code: Any, context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Emit and return an element or a view by numba's ``code``, with a check of the indices if it is enabled."""
    _refuse_constants(builder, signature.args, arguments)
    if not context.checks_bounds:
        return code(context, builder, signature, arguments)
    is_inside = _inside(context, builder, signature.args, arguments)
    kind = signature.return_type
    if isinstance(kind, types.Array):
        return _empty_unless(context, builder, is_inside, kind, code(context, builder, signature, arguments))
    return value_if(context, builder, is_inside, kind, lambda: code(context, builder, signature, arguments))


def value_if(context: Any, builder: Any, condition: Any, kind: Any, emit: Any) -> Any:
    """Emit the code of ``emit`` under a condition; return its value of type ``kind``, else 0; None for ``void``."""
    if kind == types.void:
        with builder.if_then(condition):
            emit()
        return None
    found = cgutils.alloca_once(builder, context.get_value_type(kind))
    builder.store(context.get_constant_null(kind), found)
    with builder.if_then(condition):
        builder.store(emit(), found)
    return builder.load(found)


def _empty_unless(context: Any, builder: Any, condition: Any, kind: Any, value: Any) -> Any:
    view = make_array(kind)(context, builder, value)
    extents = cgutils.unpack_tuple(builder, view.shape, kind.ndim)
    view.shape = cgutils.pack_array(builder, [builder.select(condition, each, I64(0)) for each in extents])
    view.nitems = builder.select(condition, view.nitems, I64(0))
    return view._getvalue()


def _inside(context: Any, builder: Any, kinds: Any, values: Any) -> Any:
    """Emit and return whether the index of a ``getitem`` or ``setitem``, with these arguments, is in bounds."""
    parts, numbers = normalize_indices(context, builder, *_indices(builder, kinds[1], values[1]))
    return all_inside(context, builder, kinds[0], values[0], parts, numbers)


def all_inside(context: Any, builder: Any, kind: Any, array: Any, parts: Any, numbers: Any) -> Any:
    """Emit and return whether all indices are in bounds; also emit the report of the first that is not.

    Args:
        context: The target context.
        builder: The builder.
        kind: The type of the array.
        array: The LLVM value of the array.
        parts: The types of the indices.
        numbers: The LLVM values of the indices.
    """
    view = make_array(kind)(context, builder, array)
    shape = cgutils.unpack_tuple(builder, view.shape, kind.ndim)
    fine: Any = I1(1)
    if not kind.ndim:  # no index can be wrong, but `ishmem.ptr` may have given an array without memory
        fine = builder.icmp_unsigned("!=", view.data, view.data.type(None))
        with builder.if_then(builder.not_(fine), likely=False):
            failures.report_index(context, builder, I64(0), 0, ())
    for axis, part, number in _by_axis(kind.ndim, parts, numbers):
        if isinstance(part, types.Integer):
            fits, given = _fits(context, builder, part, number, shape[axis])
            with builder.if_then(builder.and_(fine, builder.not_(fits)), likely=False):
                failures.report_index(context, builder, given, axis, tuple(shape))
            fine = builder.and_(fine, fits)
    return fine


def _by_axis(ndim: int, parts: Any, numbers: Any) -> list[tuple[int, Any, Any]]:
    """Return dimension, type and value of each index other than an ellipsis or ``None``."""
    used = sum(part is not types.ellipsis and not _is_new(part) for part in parts)
    found, axis = [], 0
    for part, number in zip(parts, numbers):
        if part is types.ellipsis:
            axis += ndim - used
        elif not _is_new(part):
            found.append((axis, part, number))
            axis += 1
    return found


def _is_new(part: Any) -> bool:
    return isinstance(part, types.NoneType) or (isinstance(part, types.Omitted) and part.value is None)


def _fits(context: Any, builder: Any, kind: Any, number: Any, extent: Any) -> tuple[Any, Any]:
    """Emit and return whether an index of type ``kind`` is in bounds of ``extent``, and the index in 64 bits."""
    if not kind.signed:
        index = context.cast(builder, number, kind, types.uint64)
        return builder.icmp_unsigned("<", index, extent), index
    index = context.cast(builder, number, kind, types.int64)
    least = builder.icmp_signed(">=", index, builder.neg(extent))
    return builder.and_(least, builder.icmp_signed("<", index, extent)), index


@overrides.lower(operator.getitem, types.NumpyFlatType, types.Integer)  # type: ignore[untyped-decorator, unused-ignore]
def _flat_element(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    kind = signature.return_type
    fits, made, values = _in_flat(context, builder, signature, arguments)

    def load() -> Any:
        return iternext_numpy_getitem(context, builder, made, values)

    return value_if(context, builder, fits, kind, load) if context.checks_bounds else load()


@overrides.lower(operator.setitem, types.NumpyFlatType, types.Integer, types.Any)  # type: ignore[untyped-decorator, unused-ignore]
def _store_flat(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    fits, made, values = _in_flat(context, builder, signature, arguments)
    with builder.if_then(fits if context.checks_bounds else I1(1)):
        iternext_numpy_getitem_any(context, builder, made, values)
    return context.get_dummy_value()


def _in_flat(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Emit and return whether an index of ``a.flat`` is in bounds, and signature and arguments with it nonnegative."""
    kind, part = signature.args[:2]
    flat = make_array_flat_cls(kind)(context, builder, value=arguments[0])
    size = make_array(kind.array_type)(context, builder, flat.array).nitems
    fits, given = _fits(context, builder, part, arguments[1], size)
    if context.checks_bounds:
        with builder.if_then(builder.not_(fits), likely=False):
            failures.report_index(context, builder, given, 0, (size,))
    index = builder.select(builder.icmp_signed("<", given, I64(0)), builder.add(given, size), given)
    made = signature.replace(args=(kind, types.int64, *signature.args[2:]))
    return fits, made, (arguments[0], index, *arguments[2:])
