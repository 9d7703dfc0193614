"""Assignment of an array to a part of an array in kernels, such as ``a[i, 1:4] = b``."""

from __future__ import annotations

from typing import Any

from numba.core import cgutils, types
from numba.core.errors import NumbaTypeError
from numba.np.arrayobj import basic_indexing, load_item, make_array, normalize_indices, store_item

from ..compile.spirv_calls import I64
from . import overlaps


def assign(context: Any, builder: Any, signature: Any, arguments: Any) -> None:
    """Emit the assignment of an array to a part of an array, with numpy's result if they overlap."""
    kind, index, source_kind = signature.args
    target, source = (make_array(its)(context, builder, arguments[at]) for at, its in ((0, kind), (2, source_kind)))
    data, extents, strides = _part(context, builder, kind, target, index, arguments[1])
    if source_kind.ndim > len(extents):
        raise NumbaTypeError(
            f"an array of {source_kind.ndim} dimensions cannot be assigned to a part of {len(extents)} dimensions"
        )
    steps = _broadcast(context, builder, source, source_kind.ndim, extents)
    copy = _Copy(context, builder, (kind, source_kind), (data, source.data))
    dims = list(zip(extents, strides, steps))
    if source_kind.addrspace != kind.addrspace:
        copy.in_order(dims)
        return
    overlap = overlaps.may_overlap(context, builder, data, source.data, dims)
    with builder.if_else(overlap, likely=False) as (together, apart):
        with together:
            copy.overlapping(dims)
        with apart:
            copy.in_order(dims)


class _Copy:
    """Emits copies from a source to a target.

    Args:
        context: The target context.
        builder: The builder.
        kinds: The types of target and source.
        pointers: Pointers to their first elements.

    The argument ``dims`` of the methods contains extent, target stride and source stride for each dimension.
    """

    def __init__(self, context: Any, builder: Any, kinds: Any, pointers: Any) -> None:
        self.context, self.builder, self.kinds, self.pointers = context, builder, kinds, pointers

    def in_order(self, dims: Any) -> None:
        """Emit the copy of all elements in C order."""
        with cgutils.loop_nest(self.builder, [extent for extent, _, _ in dims], I64) as counts:
            self._element(dims, counts)

    def overlapping(self, dims: Any) -> None:
        """Emit the copy between overlapping parts of an array; an exception if no order of the elements is right."""
        context, builder = self.context, self.builder
        sizes = {context.get_abi_sizeof(data.type.pointee) for data in self.pointers}
        with builder.if_else(overlaps.equal_strides(builder, dims)) as (equal, different):
            with equal:
                self._by_address(overlaps.by_address(builder, dims))
            with different:
                if len(dims) == 1 and len(sizes) == 1:
                    overlaps.copy_line(context, builder, self.kinds, self.pointers, dims)
                else:
                    text = "the parts of the array overlap and have other strides; assign their elements in a loop"
                    context.call_conv.return_user_exc(builder, ValueError, (text,))
                    builder.position_at_end(builder.append_basic_block("never"))

    def _by_address(self, dims: Any) -> None:
        target, source = (self.builder.ptrtoint(data, I64) for data in self.pointers)
        down = self.builder.icmp_unsigned("<", source, target)
        with cgutils.loop_nest(self.builder, [extent for extent, _, _ in dims], I64) as counts:
            self._element(dims, [overlaps.place(self.builder, down, *each) for each in zip(counts, dims)])

    def _element(self, dims: Any, places: Any) -> None:
        (kind, source_kind), (data, source) = self.kinds, self.pointers
        to, of = ([dim[number] for dim in dims] for number in (1, 2))
        value = load_item(self.context, self.builder, source_kind, _pointer(self.builder, source, places, of))
        value = self.context.cast(self.builder, value, source_kind.dtype, kind.dtype)
        store_item(self.context, self.builder, kind, value, _pointer(self.builder, data, places, to))


def _part(context: Any, builder: Any, kind: Any, array: Any, index: Any, value: Any) -> tuple[Any, Any, Any]:
    """Return pointer, extents and strides of the part of an array that an index selects."""
    kinds, values = (index,), (value,)
    if isinstance(index, types.BaseTuple):
        kinds, values = tuple(index), cgutils.unpack_tuple(builder, value, len(index))
    kinds, values = normalize_indices(context, builder, kinds, values)
    return basic_indexing(context, builder, kind, array, kinds, values)  # type: ignore[no-any-return]


def _broadcast(context: Any, builder: Any, source: Any, ndim: int, extents: Any) -> list[Any]:
    """Return the source's strides in the target's dimensions; emit an exception if the shapes cannot be broadcast."""
    shape, strides = (cgutils.unpack_tuple(builder, each, ndim) for each in (source.shape, source.strides))
    steps = [I64(0)] * (len(extents) - ndim)
    for extent, step, wanted in zip(shape, strides, extents[len(extents) - ndim :]):
        is_one = builder.icmp_signed("==", extent, I64(1))
        fits = builder.or_(is_one, builder.icmp_signed("==", extent, wanted))
        with builder.if_then(builder.not_(fits), likely=False):
            context.call_conv.return_user_exc(builder, ValueError, ("cannot assign an array of another shape",))
        steps.append(builder.select(is_one, I64(0), step))
    return steps


def _pointer(builder: Any, data: Any, places: Any, strides: Any) -> Any:
    offset = I64(0)
    for place, stride in zip(places, strides):
        offset = builder.add(offset, builder.mul(place, stride))
    return cgutils.pointer_add(builder, data, offset)
