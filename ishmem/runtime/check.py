"""Checks of arguments that the core has declined: each raises a descriptive error or returns the checked values.

The core checks the same conditions first: see `ishmem.runtime.stubs.fast_path`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ishmem import _core
from ishmem.common import error_texts
from ishmem.common.errors import IshmemError, SymmetryError
from ishmem.common.type_tables import OPAQUE, RMA_TYPES, movable
from ishmem.environment import arrays
from ishmem.runtime import foreign, job

# For each kind of dtype, the kinds of values that can be assigned to its elements.
_TAKES = {"b": "b", "i": "biu", "u": "biu", "f": "biuf", "c": "biufc"}

_ONLY_MOVED = "; elements of this dtype only move, but reductions and scans take bfloat16"


@dataclass(frozen=True)
class View:
    """An array argument called ``name``; bit 0 of ``order`` is set if it is C-contiguous, bit 1 if Fortran-contiguous.

    ``count`` is in elements, ``itemsize`` in bytes; ``device`` is whether it is in device memory. For an array of
    another library, ``array`` is a dpnp or numpy array that shares its memory.
    """

    array: Any = field(repr=False, compare=False)
    name: str
    address: int
    count: int
    itemsize: int
    order: int
    writable: bool
    device: bool
    dtype: str

    @property
    def storage(self) -> str:
        """The numpy dtype of the stored elements: for a dtype in `OPAQUE`, the integer type that holds its bits."""
        return OPAQUE.get(self.dtype, self.dtype)

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of each axis."""
        return tuple(np.shape(self.array))

    @property
    def strides(self) -> tuple[int, ...]:
        """The strides in elements; 0 where a stride is not a multiple of the element size."""
        if arrays.on_device(self.array):
            return tuple(arrays.usm_array(self.array).strides)
        host = np.asarray(self.array)
        return tuple(0 if stride % host.itemsize else stride // host.itemsize for stride in host.strides)


def integer(value: Any, name: str) -> int:
    """Return ``value`` as an int; ``name`` is that of the argument, for the error.

    Raises:
        TypeError: It is not an integer.
    """
    try:
        if isinstance(value, bool):
            raise TypeError
        return operator.index(value)
    except TypeError:
        raise TypeError(error_texts.no_integer(name, type(value).__name__)) from None


def seconds(timeout: Any) -> float | None:
    """Check a timeout and return it in seconds, None for no limit.

    Raises:
        TypeError: It is neither a number nor ``None``.
        ValueError: It is negative or NaN.
    """
    if timeout is None:
        return None
    try:
        limit = float(timeout) if not isinstance(timeout, (str, bytes)) else None
    except (TypeError, ValueError, OverflowError):
        limit = None
    if limit is None:
        raise TypeError(f"timeout is seconds, a number, or None for no limit; got {timeout!r}")
    if not limit >= 0:
        raise ValueError(f"timeout is {limit}; allowed are seconds, at least 0, or None for no limit")
    return limit


def creation(routine: str, name: str, shape: Any, dtype: Any) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Check shape and dtype of a new array, and return them as a tuple and a numpy dtype; the names are for errors.

    Raises:
        TypeError: A dtype that ishmem does not support, or sizes that are not integers.
        ValueError: A negative size.
    """
    kind = np.dtype(dtype)
    if kind.name not in RMA_TYPES:
        raise TypeError(error_texts.refusal(routine, name, kind, RMA_TYPES))
    sizes = tuple(integer(n, "shape") for n in (shape if hasattr(shape, "__iter__") else (shape,)))
    if any(n < 0 for n in sizes):
        raise ValueError(f"shape is {sizes}; sizes must not be negative")
    return sizes, kind


def pe(value: Any) -> int:
    """Check the number of a PE and return it.

    Raises:
        TypeError: It is not an integer.
        IndexError: There is no such PE.
        PeerLost: The PE is lost, in a job that continues after losses.
    """
    number, n_pes = integer(value, "pe"), job.current().n_pes
    if not 0 <= number < n_pes:
        raise IndexError(error_texts.no_pe("pe", number, n_pes))
    job.current().losses.refuse([number])
    return number


def view(array: Any, name: str, types: tuple[str, ...] = RMA_TYPES, routine: str = "ishmem") -> View:
    """Return the `View` of array argument ``name``; ``types`` are the allowed dtypes, ``routine`` is for errors.

    Raises:
        TypeError: The argument is not an array, or its dtype is not in ``types`` (nor, for `RMA_TYPES`, in `OPAQUE`).
        SymmetryError: The array was freed.
    """
    other, array = foreign.dtype_of(array), foreign.native(array)
    facts = _core.describe(array)
    if facts is None:
        if _core.freed_of(array) >= 0:
            job.current().heap.freed.refuse(array, name)
        raise TypeError(f"{name} is a dpnp or numpy array, got {type(array).__name__}{_instead(array, name)}")
    own = np.asarray(array).dtype if isinstance(array, memoryview) else getattr(array, "dtype", "uint8")
    dtype = other or str(own)
    if dtype not in movable(types):
        raise TypeError(error_texts.refusal(routine, name, dtype, types) + (_ONLY_MOVED if dtype in OPAQUE else ""))
    address, count, itemsize, order, writable, device = facts
    return View(array, name, address, count, itemsize, order, writable, device, dtype)


def stored_types(dtype: str | None, types: tuple[str, ...]) -> tuple[str, ...]:
    """Return the dtypes of arrays that can hold elements of ``dtype``, one of ``types``; ``types`` if it is None.

    Raises:
        TypeError: ``dtype`` is not in ``types``.
    """
    if dtype is not None and dtype not in types:
        raise TypeError(f"dtype is {dtype!r}; allowed are {', '.join(types)}")
    return types if dtype is None else ("int16", "uint16", dtype) if dtype == "bfloat16" else (dtype,)


def _instead(array: Any, name: str) -> str:
    """Return advice, for an error, on how to access the memory of an array of another library; may be empty."""
    if hasattr(array, "__sycl_usm_array_interface__"):
        return f"; {arrays.tensor.__name__}.asarray({name}) is an array on its memory"
    if type(array).__module__.partition(".")[0] == "torch":
        return "; calls take tensors once ishmem.torch is imported"
    if hasattr(array, "__dlpack__"):
        return f"; ishmem.from_dlpack({name}) is an array on its memory"
    return ""


def symmetric(array: View) -> int:
    """Return the offset in bytes of a symmetric array from the start of the heap.

    Raises:
        SymmetryError: It is not on the symmetric heap, or was freed.
    """
    if not array.device:
        raise SymmetryError(
            f"{array.name} is a {type(array.array).__name__} in host memory, not on the symmetric heap; make symmetric "
            "arrays with ishmem.empty, zeros, array, ..., or a static object of host memory with ishmem.static"
        )
    offset = _core.offset_of(array.address, array.count * array.itemsize)
    if offset < 0:
        raise SymmetryError(
            f"{array.name} (at {array.address:#x}, {array.count} elements of {array.dtype}) is not on the symmetric "
            "heap, or was freed; make symmetric arrays with ishmem.empty, zeros, array, ..."
        )
    return offset


def remote(array: View, pe: int) -> int:
    """Return the address of a symmetric array on PE ``pe``: a device address, or the mapping of a static object.

    Raises:
        SymmetryError: Neither on the symmetric heap, nor a static object, nor registered.
    """
    if address := _core.address_on(pe, array.address, array.count * array.itemsize, array.device):
        return int(address)
    return job.current().heap.peers[pe] + symmetric(array)


def position(array: View, index: Any) -> int:
    """Return the position of an element in memory order; ``index`` is a tuple of indices, or this position, unchecked.

    Raises:
        IndexError: The tuple has another length than the shape, or an index out of range.
        TypeError: An index is not an integer.
    """
    if not isinstance(index, tuple):
        return integer(index, "index")
    shape, number = array.shape, 0
    numbers = [integer(each, "index") for each in index]
    if len(numbers) != len(shape) or not all(0 <= each < extent for each, extent in zip(numbers, shape)):
        raise IndexError(f"index is {index}; {array.name} has the shape {shape}")
    for each, extent in list(zip(numbers, shape))[:: 1 if array.order & 1 else -1]:
        number = number * extent + each
    return number


def element(array: View, index: Any, pe: int | None = None) -> int:
    """Return the address of an element of a symmetric array on a PE, by default this one; ``index``: see `position`.

    Raises:
        SymmetryError: Neither on the symmetric heap, nor a static object, nor registered.
        IndexError, TypeError: There is no such element, or an index is no integer.
        ValueError: The array is not contiguous.
    """
    number = position(array, index)
    contiguous(array)
    first = remote(array, job.current().pe if pe is None else pe)
    if not array.count:
        raise IndexError(f"index is {number}; {array.name} has no elements")
    if not 0 <= number < array.count:
        raise IndexError(f"index is {number}; {array.name} has the elements 0 to {array.count - 1}")
    return first + number * array.itemsize


def contiguous(*arrays: View) -> None:
    """Check that arrays are contiguous; if there are two, both in the same order.

    Raises:
        ValueError: An array is not contiguous, or the orders differ.
    """
    for array in arrays:
        if not array.order:
            raise ValueError(
                f"{array.name} is not contiguous; copy it with dpnp.ascontiguousarray, or move the elements with a "
                "contiguous slice at a time"
            )
    if len(arrays) == 2 and not arrays[0].order & arrays[1].order:
        orders = {array.name: array.order == 1 for array in arrays}
        raise ValueError(
            f"{error_texts.unlike_orders(orders)}; copy one of the arrays into the other's order, as "
            f"dpnp.asarray({arrays[1].name}, order='{'C' if arrays[0].order == 1 else 'F'}') does"
        )


def same_dtype(dest: View, source: View) -> None:
    """Raise ``TypeError`` if two arrays have different dtypes."""
    if dest.dtype != source.dtype:
        raise TypeError(error_texts.unlike_dtypes(dest.name, dest.dtype, source.name, source.dtype))


def writable(array: View) -> None:
    """Raise ``ValueError`` if an array is read-only."""
    if not array.writable:
        raise ValueError(f"{array.name} is read-only")


def count(nelems: Any, dest: View, source: View) -> int:
    """Return the number of elements to move: ``nelems``, or the size of both arrays if it is None.

    Raises:
        ValueError: The sizes differ, or ``nelems`` is negative or more than an array has.
        TypeError: ``nelems`` is not an integer.
    """
    if nelems is None:
        if dest.count != source.count:
            raise ValueError(error_texts.unequal(dest.count, source.count))
        return source.count
    number = integer(nelems, "nelems")
    if not 0 <= number <= min(dest.count, source.count):
        raise ValueError(error_texts.too_many(number, dest.count, source.count))
    return number


def run_in_core(routine: str, operation: Callable[..., Any], *arguments: Any) -> Any:
    """Run an operation of the core with checked arguments; return its result.

    Args:
        routine: The name of the public routine, for errors.
        operation: The function of the core, which has declined the program's original arguments.
        arguments: These arguments, converted to a form that the core supports.

    Raises:
        PeerLost: A PE is lost.
        IshmemError: The core does not support the arguments.
    """
    result, this = operation(*arguments), job.current()
    if result is NotImplemented:
        this.note_far()
        if this.losses.end_waits() or _core.lost_pe() >= 0 or (this.gone and not this.losses.goes_on):
            this.raise_lost(routine)
        raise IshmemError(f"{routine} cannot handle {', '.join(map(repr, arguments))}")
    return result


def is_scalar(value: Any) -> bool:
    """Return whether ``value`` is a scalar; bytes and memoryviews, which numpy counts as scalars, are not."""
    return bool(np.isscalar(value)) and not isinstance(value, (bytes, memoryview))


def as_element(dest: Any, value: Any) -> Any:
    """Return ``value`` as an array of one element of dest's dtype; ``TypeError`` or ``ValueError`` if it does not fit.

    It is a numpy array, or one of another library for the dtypes of `OPAQUE`; integers are not rounded.
    """
    job.current()
    name = view(dest, "dest").dtype
    if name in OPAQUE:
        return foreign.element(value, name)
    dtype = np.dtype(name)
    kind = "i" if isinstance(value, int) and not isinstance(value, bool) else np.asarray(value).dtype.kind
    if kind not in _TAKES[dtype.kind]:
        raise TypeError(error_texts.other_kind("value", f"{value!r} ({type(value).__name__})", dtype))
    try:
        with np.errstate(over="ignore"):
            out = np.asarray([value]).astype(dtype)
        exact = int(out[0]) == int(value) if dtype.kind in "iu" else np.isfinite(out[0]) or not np.isfinite(value)
    except OverflowError:  # an int of more bits than any dtype has
        exact = False
    if not exact:
        raise ValueError(error_texts.misfit("value", value, dtype))
    return out
