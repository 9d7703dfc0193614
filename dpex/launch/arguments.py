"""Kernel arguments: their types, their parameters in the kernel's signature, and their values at a launch.

An array is passed as pointer, shape and, unless it is contiguous in C order, strides. What follows from these, the
number of elements and the strides of contiguous arrays, is computed in the kernel, where the compiler sees how it
follows.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.np.arrayobj import make_array, populate_array

from ..compile.types import IndexSpaceType, USMNdArray

I64 = ir.IntType(64)


def parameters(context: Any, kind: Any) -> list[Any]:
    """Return the LLVM types of the kernel parameters of an argument."""
    if isinstance(kind, IndexSpaceType):
        return []
    if isinstance(kind, USMNdArray):
        pointer = context.get_data_type(kind.dtype).as_pointer(kind.addrspace)
        return [pointer] + [I64] * (kind.ndim * (1 if kind.layout == "C" else 2))
    if isinstance(kind, types.Complex):
        return [context.get_data_type(kind.underlying_float)] * 2
    if isinstance(kind, types.BaseTuple):
        return [each for part in kind for each in parameters(context, part)]
    return [context.get_data_type(kind)]


def value(context: Any, builder: Any, kind: Any, given: Any) -> Any:
    """Emit the value of an argument from its parameters, which ``given`` iterates over."""
    if isinstance(kind, IndexSpaceType):
        return context.get_constant_null(kind)
    if isinstance(kind, USMNdArray):
        return _array(context, builder, kind, given)
    if isinstance(kind, types.Complex):
        number = context.make_complex(builder, kind)
        number.real, number.imag = next(given), next(given)
        return number._getvalue()
    if isinstance(kind, types.BaseTuple):
        parts = [value(context, builder, part, given) for part in kind]
        return context.make_tuple(builder, kind, parts)
    return context.data_model_manager[kind].from_data(builder, next(given))


def _array(context: Any, builder: Any, kind: Any, given: Any) -> Any:
    data = next(given)
    item = I64(context.get_abi_sizeof(context.get_data_type(kind.dtype)))
    shape = [next(given) for _ in range(kind.ndim)]
    if kind.layout == "C":
        strides: list[Any] = []
        step = item
        for extent in reversed(shape):
            strides.insert(0, step)
            step = builder.mul(step, extent)
    else:
        strides = [next(given) for _ in range(kind.ndim)]
    array = make_array(kind)(context, builder)
    populate_array(array, data=data, shape=shape, strides=strides, itemsize=item, meminfo=None)
    return array._getvalue()
