"""The types of kernel arguments and of `kernel_api` objects, and how the device represents them."""

from __future__ import annotations

import functools
import sys
from typing import Any, TypeVar

import numpy as np
from numba.core import datamodel, types
from numba.core.datamodel import models
from numba.extending import typeof_impl
from numba.np.numpy_support import from_dtype

from ..launch.kinds import ArrayKind, ItemKind, LocalKind, TupleKind

PRIVATE, GLOBAL, CONSTANT, LOCAL, GENERIC = range(5)
"""Address spaces of the SPIR-V target."""


class USMNdArray(types.Array):  # type: ignore[misc]
    """The type of an array in device memory, such as a ``usm_ndarray``.

    Attributes:
        space: The default address space of the class.
        addrspace: The address space of the elements.
    """

    space = GLOBAL

    def __init__(
        self, ndim: int, dtype: Any, layout: str = "C", addrspace: int | None = None, readonly: bool = False
    ):
        self.addrspace = addrspace = self.space if addrspace is None else addrspace
        name = f"{type(self).__name__}({dtype}, {ndim}d, {layout}, space {addrspace}{', readonly' if readonly else ''})"
        super().__init__(dtype, ndim, layout, readonly=readonly, name=name)

    def copy(self, dtype: Any = None, ndim: Any = None, layout: Any = None, readonly: Any = None) -> USMNdArray:
        """Return the type with other properties, such as that of a view; None leaves a property unchanged."""
        return type(self)(
            ndim=self.ndim if ndim is None else ndim,
            dtype=dtype or self.dtype,
            layout=layout or self.layout,
            addrspace=self.addrspace,
            readonly=(not self.mutable) if readonly is None else readonly,
        )

    @property
    def key(self) -> Any:
        """The values that identify the type."""
        return (*super().key, self.addrspace)

    @property
    def as_array(self) -> Any:
        """The type of the array for numba's own implementations: itself."""
        return self

    def unify(self, typingctx: Any, other: Any) -> Any:
        """Return the common type of this and ``other``, with layout ``A`` if theirs differ; None if there is none."""
        same = isinstance(other, USMNdArray) and (other.ndim, other.dtype) == (self.ndim, self.dtype)
        if not same or other.addrspace != self.addrspace:
            return None
        layout = self.layout if self.layout == other.layout else "A"
        return self.copy(layout=layout, readonly=not (self.mutable and other.mutable))

    def can_convert_to(self, typingctx: Any, other: Any) -> Any:
        """Return ``Conversion.safe`` to the same type, also with layout ``A`` or read-only; None to other types."""
        from numba.core.typeconv import Conversion

        if not isinstance(other, USMNdArray) or other.addrspace != self.addrspace:
            return None
        fits = (other.ndim, other.dtype) == (self.ndim, self.dtype) and other.layout in ("A", self.layout)
        return Conversion.safe if fits and (self.mutable or not other.mutable) else None


class DpnpNdArray(USMNdArray):
    """The type of a ``dpnp.ndarray``."""


class LocalAccessorType(USMNdArray):
    """The type of a `kernel_api.LocalAccessor`: an array in the local memory of a work-group."""

    space = LOCAL


class PrivateArrayType(USMNdArray):
    """The type of a `kernel_api.PrivateArray`: an array in the private memory of a work-item.

    Attributes:
        extents: The shape; empty for a view, whose shape is not determined at compile time.
    """

    space = PRIVATE

    def __init__(self, *given: Any, extents: tuple[int, ...] = (), **named: Any):
        self.extents = extents
        super().__init__(*given, **named)

    @property
    def key(self) -> Any:
        """The values that identify the type."""
        return (*super().key, self.extents)

    def can_convert_to(self, typingctx: Any, other: Any) -> Any:
        """Return ``Conversion.safe`` as for other arrays, if the other type has the same ``extents`` or none."""
        if isinstance(other, PrivateArrayType) and other.extents not in ((), self.extents):
            return None
        return super().can_convert_to(typingctx, other)


ARRAYS = (USMNdArray, DpnpNdArray, LocalAccessorType, PrivateArrayType)
"""The types of all arrays."""


class IndexSpaceType(types.Type):  # type: ignore[misc]
    """The type of a `kernel_api` object with the position of a work-item, which has no data on the device."""

    def __init__(self, ndim: int):
        self.ndim = ndim
        super().__init__(name=f"{type(self).__name__}({ndim})")


class ItemType(IndexSpaceType):
    """The type of `kernel_api.Item`."""


class NdItemType(IndexSpaceType):
    """The type of `kernel_api.NdItem`."""


class GroupType(IndexSpaceType):
    """The type of `kernel_api.Group`."""


class SubGroupType(IndexSpaceType):
    """The type of `kernel_api.SubGroup`."""


class AtomicRefType(types.Type):  # type: ignore[misc]
    """The type of `kernel_api.AtomicRef`."""

    def __init__(self, dtype: Any, memory_order: int, memory_scope: int, address_space: int):
        self.dtype, self.address_space = dtype, address_space
        self.memory_order, self.memory_scope = memory_order, memory_scope
        super().__init__(name=f"AtomicRef({dtype}, {memory_order}, {memory_scope}, {address_space})")


def numba_type(kind: Any) -> Any:
    """Return the numba type of a kernel argument of a kind; see `dpex.launch.kinds`."""
    if isinstance(kind, ItemKind):
        return (NdItemType if kind.has_groups else ItemType)(kind.ndim)
    if isinstance(kind, ArrayKind):
        family = DpnpNdArray if kind.is_dpnp else USMNdArray
        return family(kind.ndim, numba_type(kind.dtype), kind.layout, readonly=not kind.writable)
    if isinstance(kind, LocalKind):
        return LocalAccessorType(kind.ndim, numba_type(kind.dtype))
    if isinstance(kind, TupleKind):
        return types.Tuple([numba_type(part) for part in kind.parts])
    return from_dtype(np.dtype(kind)) if isinstance(kind, str) else kind


class _PointerModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, dmm: Any, fe_type: Any):
        pointee = dmm.lookup(fe_type.dtype).get_data_type()
        super().__init__(dmm, fe_type, pointee.as_pointer(fe_type.addrspace or 0))


class _ArrayModel(models.StructModel):  # type: ignore[misc]
    """The members of numba's arrays, for its own implementations; ``meminfo`` and ``parent`` are null."""

    def __init__(self, dmm: Any, fe_type: Any):
        extents = types.UniTuple(types.intp, fe_type.ndim)
        members = [
            ("meminfo", types.MemInfoPointer(fe_type.dtype)),
            ("parent", types.pyobject),
            ("nitems", types.intp),
            ("itemsize", types.intp),
            ("data", types.CPointer(fe_type.dtype, addrspace=fe_type.addrspace)),
            ("shape", extents),
            ("strides", extents),
        ]
        super().__init__(dmm, fe_type, members)


class _FlatIteratorModel(models.StructModel):  # type: ignore[misc]
    """The members of numba's ``a.flat`` of an array that is not contiguous, with pointers in its address space."""

    def __init__(self, dmm: Any, fe_type: Any):
        array = fe_type.array_type
        pointer = types.CPointer(array.dtype, addrspace=getattr(array, "addrspace", 0))
        members = [
            ("array", array),
            ("pointers", types.EphemeralArray(pointer, array.ndim)),
            ("indices", types.EphemeralArray(types.intp, array.ndim)),
            ("exhausted", types.EphemeralPointer(types.boolean)),
        ]
        super().__init__(dmm, fe_type, members)


def _flat_iterator(dmm: Any, fe_type: Any) -> Any:
    if fe_type.array_type.layout == "C":
        return models.CContiguousFlatIter(dmm, fe_type, need_indices=False)
    return _FlatIteratorModel(dmm, fe_type)


class _EmptyModel(models.StructModel):  # type: ignore[misc]
    def __init__(self, dmm: Any, fe_type: Any):
        super().__init__(dmm, fe_type, [])


class _AtomicRefModel(models.StructModel):  # type: ignore[misc]
    def __init__(self, dmm: Any, fe_type: Any):
        pointer = types.CPointer(fe_type.dtype, addrspace=fe_type.address_space)
        super().__init__(dmm, fe_type, [("ref", pointer), ("fits", types.boolean)])


def device_models() -> Any:
    """Return numba's manager of data models with those of the device's types."""
    manager = datamodel.default_manager.copy()
    manager.register(types.CPointer, _PointerModel)
    for kind in ARRAYS:
        manager.register(kind, _ArrayModel)
    manager.register(types.NumpyFlatType, _flat_iterator)
    for space in (ItemType, NdItemType, GroupType, SubGroupType):
        manager.register(space, _EmptyModel)
    manager.register(AtomicRefType, _AtomicRefModel)
    return manager


Kind = TypeVar("Kind", bound=USMNdArray)


def register_arrays() -> None:
    """Register the types of arrays with numba if the program has imported dpnp; the import itself would be slow."""
    if "dpnp" in sys.modules:
        _register()


@functools.cache
def _register() -> None:
    import dpnp

    @typeof_impl.register(dpnp.ndarray)  # type: ignore[untyped-decorator, unused-ignore]
    def _of_dpnp(array: Any, _context: Any) -> DpnpNdArray:
        return _type(array.get_array(), DpnpNdArray)

    @typeof_impl.register(dpnp.tensor.usm_ndarray)  # type: ignore[untyped-decorator, unused-ignore]
    def _of_usm(array: Any, _context: Any) -> USMNdArray:
        return _type(array, USMNdArray)


def _type(array: Any, family: type[Kind]) -> Kind:
    layout = "C" if array.flags.c_contiguous else "F" if array.flags.f_contiguous else "A"
    dtype = from_dtype(array.dtype)
    return family(array.ndim, dtype, layout, readonly=not array.flags.writable)


register_arrays()
