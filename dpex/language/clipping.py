"""Code of a slice ``array[start:stop]``, at the cost of one comparison if it lies in the array.

numba clips the start and the end of a slice separately, which hides from the compiler that ``x[i:i+1]`` has one
element. Both compilers of kernels use this.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils
from numba.cpython.slicing import fix_slice, get_slice_length

from ..extension import installed

_I64 = ir.IntType(64)


def clipped(builder: Any, part: Any, size: Any) -> tuple[Any, Any]:
    """Emit and return first index and number of elements of slice ``part``, with step 1, of ``size`` elements."""
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
    for phi, given, within in zip(merged, (start, length), (first, left)):
        phi.add_incoming(given, before)
        phi.add_incoming(within, after)
    return merged


def sliced(context: Any, builder: Any, signature: Any, array: Any, part: Any) -> tuple[Any, list[Any], Any]:
    """Emit and return pointer to the first element, shape and strides of ``array[start:stop]``, the slice ``part``."""
    kind, index = signature.args
    shape, strides = (cgutils.unpack_tuple(builder, value, kind.ndim) for value in (array.shape, array.strides))
    start, length = clipped(builder, context.make_helper(builder, index, value=part), shape[0])
    indices = [start] + [_I64(0)] * (kind.ndim - 1)
    data = cgutils.get_item_pointer(context, builder, kind, array, indices, wraparound=False, boundscheck=False)
    return data, [length, *shape[1:]], strides
