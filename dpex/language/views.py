"""Views of arrays in kernels: ``a.view(dtype)``, and ``reshape`` and ``ravel`` of arrays in C order."""

from __future__ import annotations

from math import prod
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.errors import NumbaTypeError, TypingError
from numba.core.typing import signature as signature_of
from numba.core.typing.npydecl import parse_dtype
from numba.np.arrayobj import array_view, make_array, populate_array

from ..compile.spirv_calls import I64
from ..compile.target import overrides
from ..compile.types import USMNdArray
from .extending import add_method


@overrides.lower("array.reshape", USMNdArray, types.BaseTuple)  # type: ignore[untyped-decorator, unused-ignore]
def _reshape(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    shape = cgutils.unpack_tuple(builder, arguments[1], len(signature.args[1]))
    return _reshaped(context, builder, signature, arguments[0], shape)


@overrides.lower("array.reshape", USMNdArray, types.VarArg(types.Any))  # type: ignore[untyped-decorator, unused-ignore]
def _reshape_by_numbers(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    shape = [context.cast(builder, *each, types.intp) for each in zip(arguments[1:], signature.args[1:])]
    return _reshaped(context, builder, signature, arguments[0], shape)


@overrides.lower("array.ravel", USMNdArray)  # type: ignore[untyped-decorator, unused-ignore]
def _ravel(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return _reshaped(context, builder, signature, arguments[0], [I64(-1)])


def _reshaped(context: Any, builder: Any, signature: Any, value: Any, shape: list[Any]) -> Any:
    """Emit and return a view of another shape; a shape with another number of elements is an exception."""
    kind = signature.args[0]
    _check(kind, shape)
    array = make_array(kind)(context, builder, value)
    known = I64(1)
    for extent in shape:
        known = builder.mul(known, builder.select(_is_open(builder, extent), I64(1), extent))
    # Without elements, each open extent is 0.
    left = builder.sdiv(array.nitems, builder.select(builder.icmp_signed("==", known, I64(0)), I64(1), known))
    shape = [builder.select(_is_open(builder, extent), left, extent) for extent in shape]
    strides: list[Any] = []
    step = array.itemsize
    for extent in reversed(shape):
        strides.insert(0, step)
        step = builder.mul(step, extent)
    fits = builder.icmp_signed("==", step, builder.mul(array.nitems, array.itemsize))
    with builder.if_then(builder.not_(fits), likely=False):
        context.call_conv.return_user_exc(builder, ValueError, ("the new shape has another number of elements",))
    view = make_array(signature.return_type)(context, builder)
    populate_array(view, data=array.data, shape=shape, strides=strides, itemsize=array.itemsize, meminfo=None)
    return view._getvalue()


def _check(kind: Any, shape: list[Any]) -> None:
    if kind.layout != "C":
        raise NumbaTypeError(f"reshape and ravel take an array that is contiguous in C order, got {kind}")
    if sum(isinstance(extent, ir.Constant) and extent.constant < 0 for extent in shape) > 1:
        raise NumbaTypeError("reshape: one extent may be -1, which stands for what is left; got more of them")
    extents = getattr(kind, "extents", ())
    wanted = [extent.constant for extent in shape if isinstance(extent, ir.Constant) and extent.constant >= 0]
    if extents and len(wanted) == len(shape) and prod(wanted) != prod(extents):
        raise NumbaTypeError(f"reshape: an array of shape {extents} has no shape {tuple(wanted)}")


def _is_open(builder: Any, extent: Any) -> Any:
    return builder.icmp_signed("<", extent, I64(0))


def _view(array: Any, dtype: Any) -> Any:
    element = parse_dtype(dtype)
    if element is None:
        raise TypingError(f"view takes a type of elements, such as numpy.int32, or its name, got {dtype}")
    kind = array.copy(dtype=element)

    def emit(context: Any, builder: Any, arguments: Any) -> Any:
        made = signature_of(kind, array, types.NumberClass(element))
        return array_view(context, builder, made, (arguments[0], context.get_dummy_value()))

    return kind, emit


class _Array:
    """A class whose only use is the signature of its method."""

    def view(self, dtype: Any) -> Any:
        """Return a view of the array with elements of another type."""


add_method(USMNdArray, _Array.view, _view)
