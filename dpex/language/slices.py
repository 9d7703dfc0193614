"""The slice ``array[start:stop]`` in kernels."""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.imputils import impl_ret_borrowed
from numba.np.arrayobj import make_array, make_view

from ..compile.target import registry
from ..compile.types import USMNdArray
from .clipping import clipped

_I64 = ir.IntType(64)


@registry.lower(operator.getitem, USMNdArray, types.slice2_type)  # type: ignore[untyped-decorator, unused-ignore]
def _slice(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Emit the view."""
    kind, index = signature.args
    array = make_array(kind)(context, builder, arguments[0])
    shape, strides = (cgutils.unpack_tuple(builder, value, kind.ndim) for value in (array.shape, array.strides))
    start, length = clipped(builder, context.make_helper(builder, index, value=arguments[1]), shape[0])
    indices = [start] + [_I64(0)] * (kind.ndim - 1)
    data = cgutils.get_item_pointer(context, builder, kind, array, indices, wraparound=False, boundscheck=False)
    view = make_view(context, builder, kind, array, signature.return_type, data, [length, *shape[1:]], strides)
    return impl_ret_borrowed(context, builder, signature.return_type, view._getvalue())
