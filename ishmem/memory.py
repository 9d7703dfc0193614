"""Memory management: arrays and raw memory on the symmetric heap, and views of peers' memory.

The functions that allocate and ``free`` are collective: every PE calls them in the same order with the same
size, alignment and dtype, and a PE that does not makes every PE raise ``SymmetryError``. Dropping an array
never frees it. What is computed from a symmetric array (``a + 1``, a copy) is an ordinary dpnp array and not
on the heap; slices and reshaped views are on it.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable

import dpctl.memory
import dpctl.tensor
import numpy as np

from . import _core, check, job
from .allocator import ALIGNMENT, Allocation
from .errors import HeapExhausted, IshmemError, SymmetryError
from .table import RMA_TYPES, refusal

if TYPE_CHECKING:
    from dpctl.memory import MemoryUSMDevice
    from dpnp import ndarray

__all__ = [
    "addr_accessible", "align", "arange", "array", "calloc", "empty", "empty_like", "free", "free_all", "full",
    "full_like", "is_symmetric", "malloc", "ones", "ones_like", "ptr", "zeros", "zeros_like",
]  # fmt: skip


@dataclass(frozen=True)
class _Request:
    """What a collective allocation asks for."""

    nbytes: int
    alignment: int
    shape: tuple[int, ...]
    dtype: str
    order: str

    def __str__(self) -> str:
        return f"of {self.nbytes} bytes, alignment {self.alignment}, dtype {self.dtype}"


def empty(
    shape: Any, *, dtype: Any = None, order: str = "C", device: Any = None, usm_type: str = "device",
    sycl_queue: Any = None,
) -> ndarray:  # fmt: skip
    """Return a new symmetric array without setting its elements.

    Collective, blocking. Takes the arguments of ``dpnp.empty``; the heap decides device, USM type and queue, so
    these may only be left out or name the heap's own.

    Raises:
        StateError: Not between ``init`` and ``finalize``.
        SymmetryError: The PEs ask for different sizes or dtypes; on every PE.
        HeapExhausted: It does not fit; on every PE, and the heap stays usable.
        TypeError: A dtype that dpnp does not have.
        ValueError: A shape or order that is not allowed, or another device.

    Source: OpenSHMEM 1.5, 9.3.1 (shmem_malloc); ishmem_malloc.
    """
    return _array("empty", lambda: _request(shape, dtype, order, device, usm_type, sycl_queue))


def zeros(
    shape: Any, *, dtype: Any = None, order: str = "C", device: Any = None, usm_type: str = "device",
    sycl_queue: Any = None,
) -> ndarray:  # fmt: skip
    """Return a new symmetric array of zeros, set on every PE when the call returns.

    Collective, blocking. Arguments and errors as for ``empty``.

    Source: OpenSHMEM 1.5, 9.3.1 (shmem_calloc); ishmem_calloc.
    """
    return _array("zeros", lambda: _request(shape, dtype, order, device, usm_type, sycl_queue), 0)


def ones(
    shape: Any, *, dtype: Any = None, order: str = "C", device: Any = None, usm_type: str = "device",
    sycl_queue: Any = None,
) -> ndarray:  # fmt: skip
    """Return a new symmetric array of ones, set on every PE when the call returns.

    Collective, blocking. Arguments and errors as for ``empty``.
    """
    return _array("ones", lambda: _request(shape, dtype, order, device, usm_type, sycl_queue), 1)


def full(
    shape: Any, fill_value: Any, *, dtype: Any = None, order: str = "C", device: Any = None,
    usm_type: str = "device", sycl_queue: Any = None,
) -> ndarray:  # fmt: skip
    """Return a new symmetric array filled with a scalar, which may differ between PEs.

    Collective, blocking: set on every PE when the call returns. Arguments and errors as for ``empty``; without
    ``dtype`` the one that dpnp gives the fill value.
    """
    kind = dtype if dtype is not None else np.asarray(fill_value).dtype
    return _array("full", lambda: _request(shape, kind, order, device, usm_type, sycl_queue), fill_value)


def array(a: Any, dtype: Any = None, *, order: str = "K") -> ndarray:
    """Return a new symmetric array with the elements of ``a``: an array or nested sequence, of one shape on all PEs.

    Collective, blocking: set on every PE when the call returns. Errors as for ``empty``.
    """
    source = a if hasattr(a, "__sycl_usm_array_interface__") else np.asarray(a)
    kind = dtype if dtype is not None else source.dtype
    fortran = order == "F" or (order in "KA" and source.flags.fnc)
    return _array("array", lambda: _request(source.shape, kind, "F" if fortran else "C"), source)


def arange(start: Any, stop: Any = None, step: Any = 1, *, dtype: Any = None) -> ndarray:
    """Return a new symmetric array of evenly spaced values, as ``dpnp.arange`` makes them.

    Collective, blocking: set on every PE when the call returns. Errors as for ``empty``.
    """
    import dpnp

    return array(dpnp.arange(start, stop, step, dtype=dtype, sycl_queue=job.current().heap.queue))


def empty_like(a: Any, *, dtype: Any = None, order: str = "C", shape: Any = None) -> ndarray:
    """Return ``empty`` with the shape and dtype of ``a``; collective, blocking, errors as for ``empty``."""
    return empty(a.shape if shape is None else shape, dtype=dtype or a.dtype, order=order)


def zeros_like(a: Any, *, dtype: Any = None, order: str = "C", shape: Any = None) -> ndarray:
    """Return ``zeros`` with the shape and dtype of ``a``; collective, blocking, errors as for ``empty``."""
    return zeros(a.shape if shape is None else shape, dtype=dtype or a.dtype, order=order)


def ones_like(a: Any, *, dtype: Any = None, order: str = "C", shape: Any = None) -> ndarray:
    """Return ``ones`` with the shape and dtype of ``a``; collective, blocking, errors as for ``empty``."""
    return ones(a.shape if shape is None else shape, dtype=dtype or a.dtype, order=order)


def full_like(a: Any, fill_value: Any, *, dtype: Any = None, order: str = "C", shape: Any = None) -> ndarray:
    """Return ``full`` with the shape and dtype of ``a``; collective, blocking, errors as for ``empty``."""
    return full(a.shape if shape is None else shape, fill_value, dtype=dtype or a.dtype, order=order)


def malloc(nbytes: int) -> MemoryUSMDevice | None:
    """Return ``nbytes`` of symmetric memory, aligned to 64 bytes, as a dpctl memory object; ``None`` for zero.

    Collective, blocking. Errors as for ``empty``.

    Source: OpenSHMEM 1.5, 9.3.1 (shmem_malloc); ishmem_malloc.
    """
    return align(ALIGNMENT, nbytes, _routine="malloc")


def calloc(count: int, size: int) -> MemoryUSMDevice | None:
    """Return symmetric memory of ``count * size`` bytes, all zero on every PE when the call returns.

    Collective, blocking. Errors as for ``empty``.

    Source: OpenSHMEM 1.5, 9.3.1 (shmem_calloc); ishmem_calloc.
    """
    number, each = check.integer(count, "count"), check.integer(size, "size")
    nbytes = -1 if number < 0 or each < 0 else number * each
    memory = align(ALIGNMENT, nbytes, _routine="calloc")
    if memory is not None:
        memory.memset(0)
        job.current().barrier("calloc")
    return memory


def align(alignment: int, nbytes: int, *, _routine: str = "align") -> MemoryUSMDevice | None:
    """Return ``nbytes`` of symmetric memory at a multiple of ``alignment``, a power of two; ``None`` for zero bytes.

    Collective, blocking. Errors as for ``empty``.

    Source: OpenSHMEM 1.5, 9.3.1 (shmem_align); ishmem_align.
    """

    def request() -> _Request:
        size, multiple = check.integer(nbytes, "nbytes"), check.integer(alignment, "alignment")
        if size < 0:
            raise ValueError(f"{_routine}: the size is {size} bytes; it must not be negative")
        if multiple < 1 or multiple & (multiple - 1):
            raise ValueError(f"{_routine}: alignment is {multiple}; allowed are powers of two")
        return _Request(size, multiple, (size,), "uint8", "C")

    allocation = _allocate(_routine, request)
    return job.current().heap.bytes_at(allocation.offset, allocation.nbytes) if allocation else None


def free(a: ndarray | MemoryUSMDevice | None) -> None:
    """Give a symmetric array or symmetric memory back to the heap; ``None`` is ignored.

    Collective, blocking: no PE goes on before every PE has called. ``a`` is what the allocating call returned,
    not a part of it, and must not be used afterwards.

    Raises:
        StateError: Not between ``init`` and ``finalize``.
        SymmetryError: Not on the symmetric heap, freed before, or the PEs free different arrays.
        ValueError: A part of an allocation.
        TypeError: Not an array or memory.

    Source: OpenSHMEM 1.5, 9.3.1 (shmem_free); ishmem_free.
    """
    if a is None:
        return
    _release(lambda: _owned(a))


def free_all() -> None:
    """Free everything that is allocated on the symmetric heap, oldest first.

    Collective, blocking. Errors as for ``free``.
    """
    for allocation in list(job.current().heap.allocator.live.values()):
        _release(lambda allocation=allocation: allocation)  # type: ignore[misc]


def ptr(a: ndarray, pe: int) -> ndarray | None:
    """Return a dpnp array on the memory of ``a`` at a PE, or ``None`` when this PE cannot load and store there.

    The array has the shape, strides and dtype of ``a``, and kernels and dpctl take it like any other. It is valid
    until ``a`` is freed, and is not itself symmetric. Not collective.

    Raises:
        StateError: Not between ``init`` and ``finalize``.
        SymmetryError: ``a`` is not on the symmetric heap.
        IndexError: There is no such PE.

    Source: OpenSHMEM 1.5, 9.3.5 (shmem_ptr); ishmem_ptr.
    """
    number, extent = check.pe(pe), _extent(a)
    described = check.view(a, "a", routine="ptr")
    if extent is None:
        check.symmetric(described)
        raise SymmetryError(f"a reaches outside its allocation: {a!r}")
    this = job.current()
    return a if number == this.pe else this.heap.peer_array(number, *extent, described.address - this.heap.base, a)


def is_symmetric(a: Any) -> bool:
    """Return whether all elements of ``a`` are on the symmetric heap, in one live allocation; not collective.

    Raises:
        StateError: Not between ``init`` and ``finalize``.
    """
    job.current()
    return _extent(a) is not None


def addr_accessible(a: Any, pe: int) -> bool:
    """Return whether operations on this PE may name ``a`` at a PE; not collective.

    Raises:
        StateError: Not between ``init`` and ``finalize``.
        IndexError: There is no such PE.

    Source: OpenSHMEM 1.5, 9.2 (shmem_addr_accessible).
    """
    return check.pe(pe) not in job.current().gone and is_symmetric(a)


def _extent(a: Any) -> tuple[int, int] | None:
    """Return the offsets between which ``a`` lies when that is in one live allocation, else ``None``."""
    facts = _core.describe(a)
    if facts is None or not facts[5]:
        return None
    address, count, itemsize = facts[:3]
    # Unlike numpy's, the strides of dpnp and dpctl arrays count elements.
    steps = zip(getattr(a, "shape", (count,)), getattr(a, "strides", (1,)))
    reach = [(n - 1) * stride * itemsize for n, stride in steps] if count else []
    low = address + sum(step for step in reach if step < 0)
    high = address + sum(step for step in reach if step > 0) + (itemsize if count else 0)
    offset = _core.offset_of(low, high - low)
    return (offset, offset + high - low) if offset >= 0 else None


def _owned(a: Any) -> Allocation:
    """Return the live allocation that ``a`` is the whole of."""
    facts = _core.describe(a)
    if facts is None:
        raise TypeError(f"free takes a symmetric array or memory, got {type(a).__name__}")
    address, heap = facts[0], job.current().heap
    found = heap.allocator.live.get(address - heap.base)
    if found is not None and found.nbytes == a.nbytes:
        return found
    if _core.offset_of(address, 1) >= 0:
        raise ValueError(f"free takes a whole allocation, got a part of one: {a.nbytes} bytes at {address:#x}")
    raise SymmetryError(f"free: {a.nbytes} bytes at {address:#x} are not allocated on the symmetric heap; freed twice?")


def _release(find: Callable[[], Allocation]) -> None:
    this = job.current()
    allocation = _together("free", find, lambda found: f"of {found.what} at offset {found.offset}")
    this.engine.quiet()
    this.heap.allocator.release(allocation.offset)
    _core.remove_live(allocation.offset)


def _request(
    shape: Any, dtype: Any, order: str, device: Any = None, usm_type: str = "device", sycl_queue: Any = None
) -> _Request:
    """Check the arguments of an array creation."""
    import dpnp

    queue = job.current().heap.queue
    elsewhere = (device is not None and dpctl.tensor.Device.create_device(device).sycl_queue != queue) or (
        sycl_queue is not None and sycl_queue != queue
    )
    if elsewhere or usm_type != "device":
        raise ValueError(f"symmetric arrays are device memory of {queue.sycl_device.name}; leave device, usm_type and "
                         f"sycl_queue out (got {device!r}, {usm_type!r}, {sycl_queue!r})")  # fmt: skip
    if order not in ("C", "F"):
        raise ValueError(f"order is {order!r}; allowed are 'C' and 'F'")
    kind = np.dtype(dpnp.default_float_type(sycl_queue=queue) if dtype is None else dtype)
    if kind.name not in RMA_TYPES:
        raise TypeError(refusal("allocation", "the array", kind, RMA_TYPES))
    sizes = tuple(check.integer(n, "shape") for n in (shape if hasattr(shape, "__iter__") else (shape,)))
    if any(n < 0 for n in sizes):
        raise ValueError(f"shape is {sizes}; sizes must not be negative")
    return _Request(int(np.prod(sizes, dtype=object)) * kind.itemsize, ALIGNMENT, sizes, kind.name, order)


def _array(routine: str, make: Callable[[], _Request], fill: Any = None) -> ndarray:
    allocation = _allocate(routine, make, always=True)
    request = make()
    this = job.current()
    result = this.heap.array(allocation.offset, request.shape, request.dtype, request.order)
    if fill is not None:
        result[...] = fill if np.isscalar(fill) else _on_queue(fill, this.heap.queue)
        this.barrier(routine)
    return result


def _on_queue(source: Any, queue: Any) -> ndarray:
    import dpnp

    return dpnp.asarray(source, sycl_queue=queue)


def _allocate(routine: str, make: Callable[[], _Request], always: bool = False) -> Allocation | None:
    """Agree on a request and take it from the heap; ``None`` for zero bytes unless ``always``."""
    request = _together(routine, make, str)
    if not request.nbytes and not always:
        return None
    heap = job.current().heap
    what = f"{routine} {request}"
    allocation = heap.allocator.allocate(request.nbytes, request.alignment, what, _caller())
    if allocation is None:
        a = heap.allocator
        raise HeapExhausted(
            f"{what} does not fit the symmetric heap: used {a.used_bytes}, free {a.free_bytes} (largest piece "
            f"{a.largest}) of {a.size} bytes; raise ISHMEM_SYMMETRIC_SIZE or init(heap_size=)"
        )
    _core.add_live(allocation.offset, max(allocation.nbytes, 1))
    return allocation


def _together(routine: str, make: Callable[[], Any], words: Callable[[Any], str]) -> Any:
    """Check arguments on this PE and agree with the others; a PE that refuses its own makes every PE raise."""
    this = job.current()
    try:
        request = make()
        text, problem = words(request), None
    except (TypeError, ValueError, IshmemError) as error:
        text, problem = f"refused: {type(error).__name__}: {error}", error
    try:
        this.agree(routine, text)
    except SymmetryError:
        if problem is None:
            raise
    if problem is not None:
        raise problem
    return request


def _caller() -> str:
    """Return file and line of the innermost frame outside ishmem."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == "ishmem":
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"
