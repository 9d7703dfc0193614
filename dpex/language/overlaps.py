"""Assignment between parts of one array in kernels, with the result as if the source were copied first.

Kernels have no memory for a copy, so the elements are copied in an order in which each is read before it is written.

With equal strides, that is the order of the addresses, upwards or downwards. With different strides in one dimension,
let element ``i`` of the target have the address of element ``f(i)`` of the source. ``f`` has one fixed point, and
scales the distance from it by the ratio of the strides. So the elements are copied in the order of their distance from
the fixed point, the farthest first if the ratio exceeds 1. Of two elements with equal distance, both are read before
one is written.
"""

from __future__ import annotations

from typing import Any

from numba.core import types
from numba.core.typing import signature
from numba.np.arrayobj import compute_memory_extents, extents_may_overlap, make_array, populate_array

from ..compile.spirv_calls import I1, I64


def may_overlap(context: Any, builder: Any, data: Any, source_data: Any, dims: Any) -> Any:
    """Emit and return whether parts at two pointers overlap; ``dims``: extent and both strides of each dimension."""
    bounds = [
        _bounds(context, builder, data, [(extent, stride) for extent, stride, _ in dims]),
        _bounds(context, builder, source_data, [(extent, step) for extent, _, step in dims]),
    ]
    some = extents_may_overlap(context, builder, *bounds[0], *bounds[1])
    for extent, _, _ in dims:
        some = builder.and_(some, builder.icmp_signed(">", extent, I64(0)))
    return some


def _bounds(context: Any, builder: Any, data: Any, dims: Any) -> Any:
    lower: Any = I64(0)
    upper: Any = I64(context.get_abi_sizeof(data.type.pointee))
    for extent, stride in dims:
        last = builder.mul(builder.sub(extent, I64(1)), stride)
        is_back = builder.icmp_signed("<", last, I64(0))
        lower = builder.select(is_back, builder.add(lower, last), lower)
        upper = builder.select(is_back, upper, builder.add(upper, last))
    return compute_memory_extents(context, builder, lower, upper, data)


def equal_strides(builder: Any, dims: Any) -> Any:
    """Emit and return whether two parts have equal strides in all dimensions of more than one element."""
    equal: Any = I1(1)
    for extent, stride, step in dims:
        alone = builder.icmp_signed("<=", extent, I64(1))
        equal = builder.and_(equal, builder.or_(alone, builder.icmp_signed("==", stride, step)))
    return equal


def by_address(builder: Any, dims: Any) -> Any:
    """Emit and return ``dims`` sorted by the magnitude of the target's stride, the largest first."""
    dims = list(dims)
    for end in range(len(dims) - 1, 0, -1):
        for at in range(end):
            first, second = dims[at : at + 2]
            sizes = [_size(builder, stride) for _, stride, _ in (first, second)]
            swap = builder.icmp_signed("<", *sizes)
            pairs = list(zip(first, second))
            dims[at] = tuple(builder.select(swap, b, a) for a, b in pairs)
            dims[at + 1] = tuple(builder.select(swap, a, b) for a, b in pairs)
    return dims


def _size(builder: Any, number: Any) -> Any:
    return builder.select(builder.icmp_signed("<", number, I64(0)), builder.neg(number), number)


def copy_line(context: Any, builder: Any, kinds: Any, pointers: Any, dims: Any) -> None:
    """Emit the copy in one dimension between parts with different strides and elements of equal size.

    ``kinds`` and ``pointers`` are types and first elements of target and source; ``dims`` as for `may_overlap`.
    """
    extent, stride, step = dims[0]
    lines = []
    for kind, data, distance in zip(kinds, pointers, (stride, step)):
        line = kind.copy(ndim=1, layout="A", readonly=False)
        array = make_array(line)(context, builder)
        item = I64(context.get_abi_sizeof(data.type.pointee))
        populate_array(array, data=data, shape=[extent], strides=[distance], itemsize=item, meminfo=None)
        lines.append((line, array._getvalue()))
    apart = builder.sub(*(builder.ptrtoint(data, I64) for data in pointers))
    made = signature(types.none, *(kind for kind, _ in lines), types.int64)
    context.compile_internal(builder, _copy_by_distance, made, [*(value for _, value in lines), apart])


def _copy_by_distance(target: Any, source: Any, apart: int) -> None:
    """Copy elements in the order of their distance from the index with the same address in both parts.

    Args:
        target: The target, one-dimensional.
        source: The source, with another stride.
        apart: Bytes from the first element of the source to that of the target.
    """
    count, stride, step = target.shape[0], target.strides[0], source.strides[0]
    fixed = apart // (step - stride)
    is_element = fixed * (step - stride) == apart
    below, above = fixed - is_element, fixed + 1
    nearest, farthest = max(below - count + 1, -above, 0), max(below, count - 1 - above)
    for number in range(farthest - nearest + 1):
        distance = farthest - number if abs(stride) > abs(step) else nearest + number
        low, high = below - distance, above + distance
        has_low, has_high = 0 <= low < count, 0 <= high < count
        at_low, at_high = source[low if has_low else 0], source[high if has_high else 0]
        if has_low:
            target[low] = at_low
        if has_high:
            target[high] = at_high
    if is_element and 0 <= fixed < count:
        target[fixed] = source[fixed]


def place(builder: Any, down: Any, count: Any, dim: Any) -> Any:
    """Emit and return the index in ``dim`` that is copied in iteration ``count``, upwards or ``down`` in memory."""
    extent, stride, _ = dim
    is_back = builder.xor(down, builder.icmp_signed("<", stride, I64(0)))
    return builder.select(is_back, builder.sub(builder.sub(extent, I64(1)), count), count)
