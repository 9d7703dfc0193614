"""Assignment of an array to a part of an array in kernels, such as ``a[i, 1:4] = b``.

numba copies the source first where both may overlap, in memory that kernels do not have. Here elements are copied in
the order of their addresses, downwards if the source comes first. That is right for two parts of one array with the
same strides.
"""

from __future__ import annotations

from typing import Any

from numba.core import cgutils, types
from numba.core.errors import NumbaTypeError
from numba.np.arrayobj import basic_indexing, load_item, make_array, normalize_indices, store_item

from .spirv_calls import I1, I64


def assign(context: Any, builder: Any, signature: Any, arguments: Any) -> None:
    """Emit the loops of the copy."""
    kind, index, source_kind = signature.args
    target, source = (make_array(its)(context, builder, arguments[at]) for at, its in ((0, kind), (2, source_kind)))
    data, extents, strides = _part(context, builder, kind, target, index, arguments[1])
    if source_kind.ndim > len(extents):
        raise NumbaTypeError(
            f"an array of {source_kind.ndim} dimensions cannot be assigned to a part of {len(extents)} dimensions"
        )
    steps = _broadcast(context, builder, source, source_kind.ndim, extents)
    down = I1(0)
    if source_kind.addrspace == kind.addrspace:
        down = builder.icmp_unsigned("<", *(builder.ptrtoint(each, I64) for each in (source.data, data)))
    with cgutils.loop_nest(builder, extents, I64) as counts:
        places = [_place(builder, down, *each) for each in zip(counts, extents)]
        value = load_item(context, builder, source_kind, _element(builder, source.data, places, steps))
        value = context.cast(builder, value, source_kind.dtype, kind.dtype)
        store_item(context, builder, kind, value, _element(builder, data, places, strides))


def _part(context: Any, builder: Any, kind: Any, array: Any, index: Any, value: Any) -> tuple[Any, Any, Any]:
    """Return pointer, extents and strides of the part that an index denotes."""
    kinds, values = (index,), (value,)
    if isinstance(index, types.BaseTuple):
        kinds, values = tuple(index), cgutils.unpack_tuple(builder, value, len(index))
    kinds, values = normalize_indices(context, builder, kinds, values)
    return basic_indexing(context, builder, kind, array, kinds, values)  # type: ignore[no-any-return]


def _broadcast(context: Any, builder: Any, source: Any, ndim: int, extents: Any) -> list[Any]:
    """Return the strides of the source in the dimensions of the target; other extents than 1 must be equal."""
    shape, strides = (cgutils.unpack_tuple(builder, each, ndim) for each in (source.shape, source.strides))
    steps = [I64(0)] * (len(extents) - ndim)
    for extent, step, wanted in zip(shape, strides, extents[len(extents) - ndim :]):
        is_one = builder.icmp_signed("==", extent, I64(1))
        fits = builder.or_(is_one, builder.icmp_signed("==", extent, wanted))
        with builder.if_then(builder.not_(fits), likely=False):
            context.call_conv.return_user_exc(builder, ValueError, ("cannot assign an array of another shape",))
        steps.append(builder.select(is_one, I64(0), step))
    return steps


def _place(builder: Any, down: Any, count: Any, extent: Any) -> Any:
    return builder.select(down, builder.sub(builder.sub(extent, I64(1)), count), count)


def _element(builder: Any, data: Any, places: Any, strides: Any) -> Any:
    offset = I64(0)
    for place, stride in zip(places, strides):
        offset = builder.add(offset, builder.mul(place, stride))
    return cgutils.pointer_add(builder, data, offset)
