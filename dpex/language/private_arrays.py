"""Type rule and code of `kernel_api.PrivateArray` in kernels: an array on the stack of a work-item."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.np import numpy_support
from numba.np.arrayobj import make_array, populate_array

from ..compile.target import overrides
from ..compile.types import PrivateArrayType
from ..kernel_api import PrivateArray
from .extending import add_function


def _shape_of(kind: Any) -> tuple[int, ...]:
    """Return the shape for the type of a literal or of a tuple of literals.

    Raises:
        TypingError: An extent is not a positive literal.
    """
    parts = tuple(kind) if isinstance(kind, types.BaseTuple) else (kind,)
    extents = tuple(getattr(part, "literal_value", part) for part in parts)
    if not all(isinstance(extent, int) and extent > 0 for extent in extents):
        raise TypingError(f"PrivateArray: shape is a positive literal or a tuple of them, got {kind}")
    return extents


def _dtype_of(kind: Any) -> Any:
    if isinstance(kind, types.DTypeSpec):
        return kind.dtype
    if isinstance(kind, types.StringLiteral):
        return numpy_support.from_dtype(np.dtype(kind.literal_value))
    raise TypingError(f"PrivateArray: dtype is a type such as numpy.float32, got {kind}")


def _private_array(shape: Any, dtype: Any, fill_zeros: Any) -> Any:
    zeros = getattr(fill_zeros, "literal_value", fill_zeros)
    if not isinstance(zeros, (bool, int)):
        raise TypingError(f"PrivateArray: fill_zeros is a literal, got {fill_zeros}")
    extents = _shape_of(shape)
    kind = PrivateArrayType(len(extents), _dtype_of(dtype), extents=extents)

    def emit(context: Any, builder: Any, _arguments: Any) -> Any:
        element = context.get_data_type(kind.dtype)
        memory = cgutils.alloca_once(builder, ir.ArrayType(element, prod(extents)))
        memory.align = 16  # of the widest elements of a view
        if zeros:
            builder.store(ir.Constant(memory.type.pointee, None), memory)
        item = context.get_abi_sizeof(element)
        steps = [item * prod(extents[dim + 1 :]) for dim in range(len(extents))]
        sizes, strides = ([context.get_constant(types.intp, n) for n in each] for each in (extents, steps))
        data = builder.bitcast(memory, element.as_pointer())
        array = make_array(kind)(context, builder)
        populate_array(array, data=data, shape=sizes, strides=strides, itemsize=item, meminfo=None)
        return array._getvalue()

    return kind, emit


@overrides.lower_cast(PrivateArrayType, PrivateArrayType)  # type: ignore[untyped-decorator, unused-ignore]
def _of_unknown_shape(_context: Any, _builder: Any, _given: Any, _wanted: Any, value: Any) -> Any:
    """Return the array unchanged: its type with and without a shape have the same representation."""
    return value


add_function(PrivateArray, _private_array)
