"""Parts of arrays in kernels: views as in numpy, at the cost of one comparison where a slice lies in the array.

numba-dpex implements single integers and slices only; ``x[i, 1:3]`` is added here. A slice such as ``x[i:i+1]`` is
lowered here because numba clips the start and the end of a slice separately, which hides from the compiler that the
view has one element.
"""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.imputils import impl_ret_borrowed
from numba.cpython.slicing import fix_slice, get_slice_length
from numba.np.arrayobj import make_array, normalize_indices
from numba_dpex.core.types import USMNdArray
from numba_dpex.kernel_api_impl.spirv.arrayobj import _getitem_array_generic, make_view
from numba_dpex.kernel_api_impl.spirv.overloads._registry import registry

from ishmem.dpex.extension import installed

_I64 = ir.IntType(64)


@registry.lower(operator.getitem, USMNdArray, types.BaseTuple)  # type: ignore[untyped-decorator, unused-ignore]
def _getitem(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Emit an element or a view."""
    kind, index = signature.args
    array = make_array(kind)(context, builder, arguments[0])
    parts = cgutils.unpack_tuple(builder, arguments[1], count=len(index))
    kinds, parts = normalize_indices(context, builder, index.types, parts)
    result = _getitem_array_generic(context, builder, signature.return_type, kind, array, kinds, parts)
    return impl_ret_borrowed(context, builder, signature.return_type, result)


@registry.lower(operator.getitem, USMNdArray, types.slice2_type)  # type: ignore[untyped-decorator, unused-ignore]
def _slice(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Emit the view ``array[start:stop]``."""
    kind, index = signature.args
    array = make_array(kind)(context, builder, arguments[0])
    shape, strides = (cgutils.unpack_tuple(builder, value, kind.ndim) for value in (array.shape, array.strides))
    start, length = _clipped(builder, context.make_helper(builder, index, value=arguments[1]), shape[0])
    data = cgutils.get_item_pointer(
        context, builder, kind, array, [start] + [_I64(0)] * (kind.ndim - 1), wraparound=False, boundscheck=False
    )
    view = make_view(context, builder, array, signature.return_type, data, [length, *shape[1:]], strides)
    return impl_ret_borrowed(context, builder, signature.return_type, view._getvalue())


def _clipped(builder: Any, part: Any, size: Any) -> tuple[Any, Any]:
    """Emit the first index and the number of the elements of a slice of step 1, of an array of ``size`` elements."""
    start, length = part.start, builder.sub(part.stop, part.start)
    # In a loop with a slice of constant length, everything but the comparison is computed once.
    past = builder.add(builder.sub(size, length), _I64(1))
    past = builder.select(builder.icmp_signed("<", past, _I64(0)), _I64(0), past)
    inside = builder.and_(builder.icmp_signed(">=", length, _I64(0)), builder.icmp_unsigned("<", start, past))
    before = builder.block
    with builder.if_then(builder.not_(inside), likely=False):
        fix_slice(builder, part, size)
        left, first = get_slice_length(builder, part), part.start
        if not installed().looks_at_empty_arrays():  # the start as given is an address, too, and needs no code
            first = builder.select(builder.icmp_signed("==", left, _I64(0)), start, first)
        after = builder.block
    merged = builder.phi(_I64), builder.phi(_I64)
    for phi, given, clipped in zip(merged, (start, length), (first, left)):
        phi.add_incoming(given, before)
        phi.add_incoming(clipped, after)
    return merged
