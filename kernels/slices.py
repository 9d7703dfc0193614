"""Slices in kernels: views as in numpy, at the cost of one comparison where the slice lies in the array.

numba clips the start and the end of a slice separately, which hides from the device's compiler that ``x[i:i+1]`` has
one element.
"""

from __future__ import annotations

import operator
from typing import Any

from numba.core import cgutils, types
from numba.core.imputils import impl_ret_borrowed
from numba.cpython.slicing import fix_slice, get_slice_length
from numba.np.arrayobj import make_array

from . import binding
from .front_end import ArrayType, make_view, registry
from .intrinsics import I64


@registry.lower(operator.getitem, ArrayType, types.slice2_type)  # type: ignore[untyped-decorator, unused-ignore]
def _slice(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Emit the view ``array[start:stop]``."""
    kind, index = signature.args
    array = make_array(kind)(context, builder, arguments[0])
    shape, strides = (cgutils.unpack_tuple(builder, value, kind.ndim) for value in (array.shape, array.strides))
    start, length = _clipped(builder, context.make_helper(builder, index, value=arguments[1]), shape[0])
    data = cgutils.get_item_pointer(
        context, builder, kind, array, [start] + [I64(0)] * (kind.ndim - 1), wraparound=False, boundscheck=False
    )
    view = make_view(context, builder, array, signature.return_type, data, [length, *shape[1:]], strides)
    return impl_ret_borrowed(context, builder, signature.return_type, view._getvalue())


def _clipped(builder: Any, part: Any, size: Any) -> tuple[Any, Any]:
    """Emit the first index and the number of the elements of a slice of step 1, of an array of ``size`` elements."""
    start, length = part.start, builder.sub(part.stop, part.start)
    # In a loop with a slice of constant length, everything but the comparison is computed once.
    past = builder.add(builder.sub(size, length), I64(1))
    past = builder.select(builder.icmp_signed("<", past, I64(0)), I64(0), past)
    inside = builder.and_(builder.icmp_signed(">=", length, I64(0)), builder.icmp_unsigned("<", start, past))
    before = builder.block
    with builder.if_then(builder.not_(inside), likely=False):
        fix_slice(builder, part, size)
        left, first = get_slice_length(builder, part), part.start
        if not _addresses_are_checked():  # the address of no element is then of any value; this one needs no code
            first = builder.select(builder.icmp_signed("==", left, I64(0)), start, first)
        after = builder.block
    merged = builder.phi(I64), builder.phi(I64)
    for phi, given, clipped in zip(merged, (start, length), (first, left)):
        phi.add_incoming(given, before)
        phi.add_incoming(clipped, after)
    return merged


def _addresses_are_checked() -> bool:
    """Return whether ``ISHMEM_CHECK`` or the proxy looks at the addresses of empty arrays."""
    bound = binding.bound()
    return bound is not None and (bound[0].check or bound[0].proxied)
