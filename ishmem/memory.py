"""Memory management: arrays and raw memory on the symmetric heap.

The functions that allocate and ``free`` are collective: every PE calls them in the same order with the same size,
alignment and dtype; if one differs, every PE raises ``SymmetryError``. Only ``free``, ``free_all``, ``realloc`` and
``finalize`` release an array, not the end of its last reference. Slices and reshaped views of a symmetric array are
symmetric; copies and results of computations (``a + 1``) are private dpnp arrays outside the heap.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Callable, TypeVar

import dpctl
import dpctl.memory
import numpy as np

from ishmem import _core
from ishmem.common import callsite, error_texts
from ishmem.common.constants import Hint
from ishmem.common.errors import HeapExhausted, SymmetryError
from ishmem.common.routines import exported
from ishmem.common.type_tables import RMA_TYPES
from ishmem.environment import arrays
from ishmem.runtime import agreement, check, docstrings, foreign, job
from ishmem.runtime.allocator import ALIGNMENT, Allocation
from ishmem.runtime.stubs import named

if TYPE_CHECKING:
    from dpctl.memory import MemoryUSMDevice
    from dpnp import ndarray

T = TypeVar("T")


__all__ = exported(__name__)


@dataclass(frozen=True)
class _Request:
    """Checked arguments of an allocation; ``stands_for`` names another library's dtype with the bits of ``dtype``."""

    nbytes: int
    alignment: int
    shape: tuple[int, ...]
    dtype: str
    order: str
    stands_for: str = ""

    def __str__(self) -> str:
        return f"of {self.nbytes} bytes, alignment {self.alignment}, dtype {self.stands_for or self.dtype}"


def empty(
    shape: Any, *, dtype: Any = None, order: str = "C", device: Any = None, usm_type: str = "device",
    sycl_queue: Any = None,
) -> ndarray:  # fmt: skip
    """Return a new symmetric array of uninitialised elements.

    Collective, blocking.

    Args:
        shape: A number of elements, or a tuple of them.
        dtype: Any dtype of dpnp, or its name; by default the device's default floating-point dtype.
        order: Layout in memory, ``"C"`` or ``"F"``.
        device: The device of the heap, which is the default; others raise ``ValueError``.
        usm_type: ``"device"``, the only kind of memory of symmetric arrays.
        sycl_queue: The queue of the heap, which is the default; others raise ``ValueError``.

    Raises:
        StateError: Not between ``init`` and ``finalize``.
        SymmetryError: The PEs pass different sizes or dtypes, or the arguments of another PE are invalid.
        HeapExhausted: The heap has no room; on every PE, and the heap stays usable.
        TypeError: A dtype that dpnp does not have, or sizes that are not integers.
        ValueError: A negative size, an order that is not allowed, or another device, kind of memory or queue.
        PeerLost: A PE died, or finalised without this call.

    Example:
        >>> a = ishmem.empty((2, 3), dtype="f4")

    Source: OpenSHMEM 1.5, 9.3.1 (shmem_malloc); ishmem_malloc.
    """
    return _array("empty", lambda: _request(shape, dtype, order, device, usm_type, sycl_queue))


def _filled(name: str, value: int, example: str, source: str) -> Callable[..., ndarray]:
    """Return the public routine ``name``, which allocates a symmetric array filled with ``value``."""

    def make(
        shape: Any, *, dtype: Any = None, order: str = "C", device: Any = None, usm_type: str = "device",
        sycl_queue: Any = None,
    ) -> ndarray:  # fmt: skip
        return _array(name, lambda: _request(shape, dtype, order, device, usm_type, sycl_queue), lambda: value)

    text = f"Return a new symmetric array of {name}.\n\n{_INITIALISED} Arguments and errors as for ``empty``.\n\n"
    text += docstrings.sections(make, docstrings.arguments(empty), f">>> {example}")
    return named(make, name, __name__, text, source)


def _like(kind: str, elements: str, example: str, value: int | None = None) -> Callable[..., ndarray]:
    """Make the public routine ``<kind>_like``; its arrays are filled with ``value``, uninitialised if that is None."""
    name = f"{kind}_like"

    def make(a: Any, *, dtype: Any = None, order: str = "C", shape: Any = None) -> ndarray:
        fill = None if value is None else lambda: value
        return _array(name, lambda: _request_like(a, dtype, order, shape), fill)

    text = f"Return a new symmetric array of {elements}, with the shape and dtype of ``a``.\n\n"
    text += "Collective, blocking. Errors as for ``empty``.\n\n"
    text += docstrings.sections(make, _OF_LIKE, f">>> b = ishmem.{name}({example})")
    return named(make, name, __name__, text, f"dpnp.{name}")


_INITIALISED = "Collective, blocking: initialised on every PE when the call returns."
_OF_LIKE = {
    "a": "An array, symmetric or private, whose shape and dtype are the defaults; its elements are not read.",
    "dtype": "Another dtype.",
    "order": 'Layout in memory, ``"C"`` or ``"F"``.',
    "shape": "Another shape: a number of elements, or a tuple of them.",
}
_FILL_VALUE = "A scalar, which may differ between PEs."
_CALLOC = "OpenSHMEM 1.5, 9.3.3 (shmem_calloc); ishmem_calloc"
zeros = _filled("zeros", 0, 'counters = ishmem.zeros(n, dtype="i8")', _CALLOC)
ones = _filled("ones", 1, "weights = ishmem.ones((4, 4))", "dpnp.ones")
empty_like = _like("empty", "uninitialised elements", "np.zeros((2, 3))")
zeros_like = _like("zeros", "zeros", "np.ones(4)", 0)
ones_like = _like("ones", "ones", 'np.zeros(4), dtype="i4"', 1)


@docstrings.arguments_of(
    empty, fill_value=_FILL_VALUE, dtype="Any dtype of dpnp; by default the one that dpnp gives the fill value."
)
def full(
    shape: Any, fill_value: Any, *, dtype: Any = None, order: str = "C", device: Any = None,
    usm_type: str = "device", sycl_queue: Any = None,
) -> ndarray:  # fmt: skip
    """Return a new symmetric array filled with a scalar, which may differ between PEs.

    Collective, blocking: initialised on every PE when the call returns. Errors as for ``empty``.

    Example:
        >>> mine = ishmem.full(8, me, dtype="i4")
    """

    def make() -> _Request:
        kind = dtype if dtype is not None else np.asarray(fill_value).dtype
        return _request(shape, kind, order, device, usm_type, sycl_queue)

    return _array("full", make, lambda: _scalar(fill_value))


def array(a: Any, dtype: Any = None, *, order: str = "K") -> ndarray:
    """Return a new symmetric array with the elements of ``a``, whose shape is the same on all PEs.

    Collective, blocking: initialised on every PE when the call returns. Errors as for ``empty``.

    Args:
        a: An array of dpnp, dpctl or numpy, or a nested sequence; of one shape on all PEs. Its elements may differ.
        dtype: Any dtype of dpnp; by default that of ``a``.
        order: Layout in memory: ``"C"``, ``"F"``, or ``"A"`` or ``"K"``: Fortran order if ``a`` is in it alone, else C.

    Example:
        >>> a = ishmem.array([[1, 2], [3, 4]], dtype="f8")
    """

    def make() -> Any:
        given = foreign.native(a)
        usable = hasattr(type(given), "__sycl_usm_array_interface__") and hasattr(given, "flags")  # memory has none
        return given if usable else np.asarray(given, None if isinstance(given, np.ndarray) else dtype)

    return _copied("array", make, dtype, order)


def arange(start: Any, stop: Any = None, step: Any = 1, *, dtype: Any = None) -> ndarray:
    """Return a new symmetric array of evenly spaced values, as ``dpnp.arange``.

    Collective, blocking: initialised on every PE when the call returns. Errors as for ``empty``.

    Args:
        start: The first value; the end, if ``stop`` is left out.
        stop: The end, exclusive.
        step: The spacing between values; 0 raises ``ValueError``.
        dtype: Any dtype of dpnp; by default that of the arguments.

    Example:
        >>> a = ishmem.arange(10)
    """
    import dpnp

    queue = job.current().heap.queue

    def make() -> Any:
        if step == 0:
            raise ValueError("step is 0; it must not be zero")
        try:
            return dpnp.arange(start, stop, step, dtype=dtype, sycl_queue=queue)
        except OverflowError as error:
            raise ValueError(f"arange from {start} to {stop} by {step}: {error}") from None
        except dpctl.memory.USMAllocationError as error:
            raise HeapExhausted(f"arange from {start} to {stop} by {step}: {error}") from None

    return _copied("arange", make, dtype)


@docstrings.arguments_of(empty_like, fill_value=_FILL_VALUE)
def full_like(a: Any, fill_value: Any, *, dtype: Any = None, order: str = "C", shape: Any = None) -> ndarray:
    """Return a new symmetric array filled with a scalar, with the shape and dtype of ``a``.

    Collective, blocking. Errors as for ``empty``.

    Example:
        >>> b = ishmem.full_like(np.zeros(4), 7)
    """
    return _array("full_like", lambda: _request_like(a, dtype, order, shape), lambda: _scalar(fill_value))


def malloc(nbytes: int) -> MemoryUSMDevice | None:
    """Allocate ``nbytes`` of symmetric memory, aligned to 64 bytes; return a dpctl memory object, ``None`` for 0 bytes.

    The bytes are uninitialised. Collective, blocking. Errors as for ``empty``.

    Args:
        nbytes: Size in bytes, the same on every PE.

    Example:
        >>> memory = ishmem.malloc(4096)
        >>> a = dpnp.asarray(memory)  # its bytes
        >>> ishmem.is_symmetric(a)
        True

    Source: OpenSHMEM 1.5, 9.3.1 (shmem_malloc); ishmem_malloc.
    """
    return align(ALIGNMENT, nbytes, _routine="malloc")


def calloc(count: int, size: int) -> MemoryUSMDevice | None:
    """Allocate ``count * size`` bytes of zeros in symmetric memory; return a dpctl memory object, ``None`` for 0 bytes.

    Collective, blocking: zero on every PE when the call returns. Errors as for ``empty``.

    Args:
        count: Number of elements; ``count * size`` is the same on every PE.
        size: Size of an element in bytes.

    Example:
        >>> memory = ishmem.calloc(1024, 4)

    Source: OpenSHMEM 1.5, 9.3.3 (shmem_calloc); ishmem_calloc.
    """

    def request() -> _Request:
        number, each = check.integer(count, "count"), check.integer(size, "size")
        return _bytes_request("calloc", -1 if number < 0 or each < 0 else number * each)

    memory = _memory("calloc", _together("calloc", request, str))
    if memory is not None:
        cleared = memory
        _together("calloc", lambda: cleared.memset(0), lambda _: "cleared")
    return memory


def align(alignment: int, nbytes: int, *, _routine: str = "align") -> MemoryUSMDevice | None:
    """Allocate ``nbytes`` of symmetric memory at a multiple of ``alignment``; return a dpctl memory object.

    ``None`` for 0 bytes. Collective, blocking. Errors as for ``empty``.

    Args:
        alignment: In bytes, the same on every PE: a power of two; other numbers raise ``ValueError``.
        nbytes: Size in bytes, the same on every PE.

    Example:
        >>> memory = ishmem.align(4096, 100)

    Source: OpenSHMEM 1.5, 9.3.1 (shmem_align); ishmem_align.
    """

    def request() -> _Request:
        multiple = check.integer(alignment, "alignment")
        if multiple < 1 or multiple & (multiple - 1):
            raise ValueError(f"{_routine}: alignment is {multiple}; allowed are powers of two")
        return _bytes_request(_routine, nbytes, multiple)

    return _memory(_routine, _together(_routine, request, str))


def malloc_with_hints(nbytes: int, hints: int) -> MemoryUSMDevice | None:
    """Allocate ``nbytes`` of symmetric memory with ``hints`` on its use; return as ``malloc`` does.

    Hints have no effect, as all symmetric memory has both uses. Collective, blocking. Errors as for ``empty``.

    Args:
        nbytes: Size in bytes, the same on every PE.
        hints: 0, or a sum of ``MALLOC_ATOMICS_REMOTE`` (targets of atomics of other PEs) and ``MALLOC_SIGNAL_REMOTE``
            (signals that other PEs update); the same on every PE. Other bits raise ``ValueError``.

    Example:
        >>> memory = ishmem.malloc_with_hints(64, ishmem.MALLOC_SIGNAL_REMOTE)

    Source: OpenSHMEM 1.5, 9.3.2 (shmem_malloc_with_hints).
    """

    def request() -> _Request:
        known = sum(Hint)
        if check.integer(hints, "hints") & ~known:
            names = ", ".join(f"MALLOC_{hint.name}" for hint in Hint)
            raise ValueError(f"malloc_with_hints: hints is {hints:#x}; allowed are 0 and sums of {names}")
        return _bytes_request("malloc_with_hints", nbytes)

    agreed = _together("malloc_with_hints", request, lambda found: f"{found}, hints {int(hints)}")
    return _memory("malloc_with_hints", agreed)


def realloc(a: ndarray | MemoryUSMDevice | None, size: Any) -> ndarray | MemoryUSMDevice | None:
    """Move a symmetric array or symmetric memory to a new allocation of another size, and free the old one.

    Memory has the same bytes up to the smaller size, added bytes are uninitialised, and for 0 bytes the result is
    ``None``. An array has the same dtype, layout and order of elements in memory; added elements are zero, as
    in ``numpy.ndarray.resize``. Collective, blocking.

    Args:
        a: A whole allocation, not to be used afterwards; for ``None`` the call is ``malloc(size)``.
        size: New size in bytes of memory, or new shape of an array.

    Raises:
        HeapExhausted: The heap has no room for old and new together; on every PE, and ``a`` stays unchanged.
        StateError, SymmetryError, ValueError, TypeError, PeerLost: As for ``free`` and ``empty``.

    Example:
        >>> a = ishmem.realloc(ishmem.ones(4), 6)
        >>> print(a)
        [1. 1. 1. 1. 0. 0.]

    Source: OpenSHMEM 1.5, 9.3.1 (shmem_realloc).
    """
    if a is None:
        return malloc(size)
    a = foreign.native(a)
    is_array = hasattr(a, "shape")

    def request() -> tuple[Allocation, _Request]:
        old = _owned(a, "realloc")
        if is_array:
            return old, _request(size, a.dtype, "F" if a.flags.fnc else "C")
        return old, _bytes_request("realloc", size)

    old, new = _together("realloc", request, lambda found: f"at offset {found[0].offset} to {found[1]}")
    this = job.current()
    moved = _allocate("realloc", new) if new.nbytes or is_array else None
    if moved:
        _move(old, moved, is_array)
    this.engine.quiet()
    this.heap.raise_lost_device()
    _forget(old)
    this.barrier("realloc", this.everyone)
    if is_array and moved:
        return this.heap.array(moved, new.shape, new.dtype, new.order)
    return this.heap.bytes_of(moved) if moved else None


def _move(old: Allocation, new: Allocation, clear: bool) -> None:
    heap, kept = job.current().heap, min(old.nbytes, new.nbytes)
    if kept:
        heap.bytes_at(new.offset, kept).copy_from_device(heap.bytes_at(old.offset, kept))
    if clear and new.nbytes > kept:
        heap.bytes_at(new.offset + kept, new.nbytes - kept).memset(0)


def free(a: ndarray | MemoryUSMDevice | None) -> None:
    """Free a symmetric array or symmetric memory; ``None`` is ignored.

    Collective, blocking: returns when every PE has called. ``del a`` frees nothing. Host calls raise ``SymmetryError``
    for ``a``, its slices and its reshaped views afterwards, even if another array has their place. With
    ``ISHMEM_CHECK=1`` the freed bytes are set to 0xFF (NaN, or -1), and the memory is not reused while freed bytes fit
    into a quarter of the heap. A later write to it causes a RuntimeWarning when it is reused, or in ``finalize``.

    Args:
        a: A whole allocation, not a part of it; it must not be used afterwards. ``None``, on all PEs, is ignored.

    Raises:
        StateError: Not between ``init`` and ``finalize``.
        SymmetryError: Not on the symmetric heap, freed before, or the PEs free different arrays.
        ValueError: A part of an allocation.
        TypeError: Not an array or memory.
        PeerLost: A PE died, or finalised without this call.

    Example:
        >>> a = ishmem.zeros(4)
        >>> ishmem.free(a)

    Source: OpenSHMEM 1.5, 9.3.1 (shmem_free); ishmem_free.
    """
    _release(lambda: None if a is None else _owned(a, "free"))


def free_all() -> None:
    """Free all allocations of the symmetric heap, oldest first; static objects and registered arrays stay.

    Collective, blocking. Errors as for ``free``.

    Example:
        >>> ishmem.free_all()
    """
    free_allocations(list(job.current().heap.allocator.live.values()))


def free_allocations(allocations: Iterable[Allocation]) -> None:
    """Free live allocations of the symmetric heap; collective, with the same allocations in the same order.

    Errors as for ``free``.
    """
    for allocation in allocations:
        _release(lambda allocation=allocation: allocation)  # type: ignore[misc]


def is_symmetric(a: Any) -> bool:
    """Return whether all elements of ``a`` lie in one live symmetric allocation or static object.

    False for registered arrays, which calls accept as symmetric, too. Not collective, not blocking.

    Args:
        a: Any object; false if it is no array or memory.

    Raises:
        StateError: Not between ``init`` and ``finalize``.

    Example:
        >>> a = ishmem.zeros(4)
        >>> ishmem.is_symmetric(a[1:3]), ishmem.is_symmetric(a + 1)
        (True, False)
    """
    this = job.current()
    return extent(a) is not None or this.statics.ptr(foreign.native(a), this.pe) is not None


def ptr(a: ndarray, pe: int) -> ndarray | None:
    """Return a dpnp array on the memory of ``a`` on a PE, or ``None`` if this PE cannot load and store there.

    The array has the shape, strides and dtype of ``a``; kernels and dpctl accept it like any other. It is valid until
    ``a`` is freed, and is not itself symmetric. For this PE it is ``a``; for a static object it is a numpy array, or
    ``None`` for a PE of another node. Not collective, not blocking.

    In a kernel, too, test the result with ``is None``, and call ``put`` or ``get`` if it is; ``.size`` is 0 then. An
    access without the test ends the PE; with ``ISHMEM_CHECK=1`` the access is skipped and reported.

    Args:
        a: A symmetric or registered array of any shape and dtype, a view of one, or a static object.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.

    Raises:
        StateError: Not between ``init`` and ``finalize``.
        SymmetryError: ``a`` is not on the symmetric heap.
        TypeError: ``a`` is not an array.
        IndexError: There is no such PE.

    Example:
        >>> a = ishmem.full(4, me)
        >>> theirs = ishmem.ptr(a, right)
        >>> theirs is None or int(theirs[0]) == right
        True

    Source: OpenSHMEM 1.5, 9.1.8 (shmem_ptr); ishmem_ptr.
    """
    number, span = check.pe(pe), span_of(a)
    described = check.view(a, "a", routine="ptr")
    a = described.array
    if not hasattr(a, "shape"):
        wrap = f"{arrays.tensor.__name__}.usm_ndarray(buffer=)"
        raise TypeError(f"a is an array, got {type(a).__name__}; wrap it with {wrap}")
    this = job.current()
    if this.statics.ptr(a, this.pe) is not None:
        return this.statics.ptr(a, number)
    away = None if span is None else distance(*span, number)
    if span is None or away is None:
        check.symmetric(described)
        raise SymmetryError(f"a reaches outside its allocation: {a!r}")
    if not this.heap.reaches(number):
        return None
    _core.store_directly()
    return a if number == this.pe else this.heap.peer_array(away, *span, described.address, a)


def view(a: Any, dtype: Any) -> Any:
    """Return a symmetric array on the memory of ``a``, with its bytes as elements of another dtype.

    Its use: one put of a message of several types, such as a header of integers and a payload of floats. The length of
    the last axis changes with the size of an element, as in numpy. Not collective, not blocking. Kernels of numba-dpex
    cannot call it; pass them a view created on the host.

    Args:
        a: A symmetric array in C order, a slice of one that is, symmetric memory, or a static object.
        dtype: The dtype of the result, of any width.

    Raises:
        StateError: Not between ``init`` and ``finalize``.
        SymmetryError: ``a`` is not on the symmetric heap.
        TypeError: ``a`` is not an array, or there is no such dtype.
        ValueError: ``a`` is not in C order or is read-only, its address is not a multiple of the new element size, or
            its last axis is not a whole number of new elements.

    Example:
        >>> message = ishmem.zeros(48, dtype="u1")
        >>> header, payload = ishmem.view(message[:16], "i8"), ishmem.view(message[16:], "f4")
        >>> header[0], payload[:] = 8, 1.5
        >>> ishmem.put(message, message, right)
        >>> payload.size
        8

    Source: numpy.ndarray.view.
    """
    described, new = check.view(a, "a", routine="view"), np.dtype(dtype)
    if new.name not in RMA_TYPES:
        raise TypeError(error_texts.refusal("view", "dtype", new.name, RMA_TYPES))
    shape = _viewed_shape(described, new.itemsize)
    check.writable(described)
    this = job.current()
    if this.statics.ptr(described.array, this.pe) is not None:
        return described.array.view(new)
    check.symmetric(described)
    memory = getattr(arrays.usm_array(described.array), "usm_data", described.array)
    return this.heap.array_on(memory, described.address, shape, new)


def _viewed_shape(a: check.View, itemsize: int) -> tuple[int, ...]:
    """Return the shape of ``a`` as an array of elements of ``itemsize`` bytes; ``ValueError`` if that is impossible."""
    shape = a.shape or (a.count,)
    if not a.order & 1:
        raise ValueError("a is not in C order; take a view of a contiguous part at a time")
    if a.address % itemsize:
        raise ValueError(f"a begins at byte {a.address:#x}; elements of {itemsize} bytes begin at a multiple of that")
    last = shape[-1] * a.itemsize
    if last % itemsize:
        raise ValueError(f"the last axis of a has {last} bytes; new elements have {itemsize} bytes each")
    return (*shape[:-1], last // itemsize)


def extent(a: Any) -> tuple[int, int] | None:
    """Return the heap offsets of the first byte of ``a`` and after its last; None if not in one live allocation."""
    if (span := span_of(a)) is None:
        return None
    offset = _core.offset_of(span[0], span[1] - span[0])
    return (offset, offset + span[1] - span[0]) if offset >= 0 else None


def distance(low: int, high: int, pe: int) -> int | None:
    """Return the bytes to add to addresses ``low`` to ``high - 1`` of this PE for those of ``pe`` as this PE maps them.

    None if the range is neither in a live symmetric allocation nor in registered memory.
    """
    this = job.current()
    if _core.offset_of(low, high - low) >= 0:
        return int(this.heap.peers[pe] - this.heap.base)
    region = this.registered.find(low, high - low)
    return None if region is None else int(region.peers[pe] - region.address)


def span_of(a: Any) -> tuple[int, int] | None:
    """Return the addresses of the first byte of ``a`` and after its last; None if it is not in device memory."""
    a = foreign.native(a)
    facts = _core.describe(a)
    if facts is None or not facts[5]:
        return None
    address, count, itemsize = facts[:3]
    steps = zip(getattr(a, "shape", (count,)), getattr(arrays.usm_array(a), "strides", (1,)))
    reach = [(n - 1) * stride * itemsize for n, stride in steps] if count else []
    low = address + sum(step for step in reach if step < 0)
    high = address + sum(step for step in reach if step > 0) + (itemsize if count else 0)
    return low, high


def _owned(a: Any, routine: str) -> Allocation:
    """Return the live allocation whose bytes are exactly those of ``a``; else raise an error of ``routine``."""
    facts = _core.describe(a)
    if facts is None:
        job.current().heap.freed.refuse(a, f"{routine}: the memory")
        raise TypeError(f"{routine} takes a symmetric array or memory, got {type(a).__name__}")
    address, nbytes, heap = facts[0], facts[1] * facts[2], job.current().heap
    found = heap.allocator.live.get(address - heap.base)
    if found is not None and found.nbytes == nbytes:
        return found
    for whole in heap.allocator.live.values():
        if whole.offset <= address - heap.base and address - heap.base + nbytes <= whole.offset + whole.nbytes:
            raise ValueError(
                f"{routine} takes a whole allocation, got {nbytes} bytes from byte {address - heap.base - whole.offset}"
                f" on of {whole.what}, from {whole.where}; pass the array that the allocation returned, not a slice"
            )
    inside = 0 <= address - heap.base < heap.size
    hint = "freed twice?" if inside else "it is an ordinary array, which Python frees"
    raise SymmetryError(f"{routine}: {nbytes} bytes at {address:#x} are not allocated on the symmetric heap; {hint}")


def _release(find: Callable[[], Allocation | None]) -> None:
    this = job.current()
    allocation = _together("free", find, lambda found: f"of {found.what} at offset {found.offset}" if found else "None")
    this.engine.quiet()
    if allocation:
        _forget(allocation)


def _forget(allocation: Allocation) -> None:
    this = job.current()
    if this.settings.check:
        this.heap.mark_freed(allocation)
    this.heap.allocator.release(allocation.offset)
    this.heap.freed.free(allocation)
    _core.remove_live(allocation.offset)


def _request(
    shape: Any, dtype: Any, order: str, device: Any = None, usm_type: str = "device", sycl_queue: Any = None
) -> _Request:
    """Check the arguments of an array creation; return them with their defaults."""
    import dpnp

    queue = job.current().heap.queue
    elsewhere = (device is not None and _queue_of(device) != queue) or (sycl_queue is not None and sycl_queue != queue)
    if elsewhere or usm_type != "device":
        raise ValueError(f"symmetric arrays are device memory of {queue.sycl_device.name}; leave device, usm_type and "
                         f"sycl_queue out (got {device!r}, {usm_type!r}, {sycl_queue!r})")  # fmt: skip
    if order not in ("C", "F"):
        raise ValueError(f"order is {order!r}; allowed are 'C' and 'F'")
    dtype = dpnp.default_float_type(sycl_queue=queue) if dtype is None else dtype
    sizes, kind = check.creation("allocation", "the array", shape, dtype)
    return _Request(math.prod(sizes) * kind.itemsize, ALIGNMENT, sizes, kind.name, order)


def _queue_of(device: Any) -> dpctl.SyclQueue | None:
    """Return the queue of ``device``, in any form that dpctl accepts, or None if there is no such device."""
    try:
        return arrays.tensor.Device.create_device(device).sycl_queue
    except (dpctl.SyclDeviceCreationError, ValueError, TypeError):
        return None


def _request_like(a: Any, dtype: Any, order: str, shape: Any) -> _Request:
    a = foreign.native(a)
    if not hasattr(a, "shape") or not hasattr(a, "dtype"):
        raise TypeError(f"a is an array, got {type(a).__name__}")
    return _request(a.shape if shape is None else shape, dtype or a.dtype, order)


def _copied(routine: str, find: Callable[[], Any], dtype: Any, order: str = "K") -> ndarray:
    """Return a new symmetric array with the elements of the array that ``find`` returns; collective."""
    found = []

    def request() -> _Request:
        if order not in ("C", "F", "A", "K"):
            raise ValueError(f"order is {order!r}; allowed are 'C', 'F', 'A' and 'K'")
        found.append(find())
        fortran = order == "F" or (order in "KA" and found[0].flags.fnc)
        return _request(found[0].shape, found[0].dtype if dtype is None else dtype, "F" if fortran else "C")

    return _array(routine, request, lambda: found[0])


def _array(routine: str, make: Callable[[], _Request], fill: Callable[[], Any] | None = None) -> ndarray:
    """Return a new symmetric array, filled with the result of ``fill``, uninitialised for None; collective."""
    request = _together(routine, make, str)
    allocation = _allocate(routine, request)
    result = job.current().heap.array(allocation, request.shape, request.dtype, request.order)
    if fill is not None:
        try:
            _together(routine, lambda: _fill(result, fill()), lambda _: "filled")
        except Exception:
            _forget(allocation)
            raise
    return result


def filled(
    routine: str, shape: Any, dtype: Callable[[], tuple[str, str]], value: Callable[[], Any] | None
) -> ndarray:
    """Return a new symmetric array of ``shape`` filled with the result of ``value``; collective, blocking.

    ``dtype`` returns the dtype of the array, and the name of another library's dtype with these bits; without ``value``
    the elements are uninitialised. Errors of both functions, and those of ``empty``, raise in the name of ``routine``.
    """

    def request() -> _Request:
        bits, stands_for = dtype()
        return replace(_request(shape, bits, "C"), stands_for=stands_for)

    return _array(routine, request, value)


def _scalar(fill_value: Any) -> Any:
    """Return a fill value; raise ``TypeError`` for None and functions, which mean something else to `_array`."""
    if fill_value is None or callable(fill_value):
        raise TypeError(f"fill_value is a number, got {fill_value!r}")
    return fill_value


def _fill(result: ndarray, value: Any) -> None:
    import dpnp

    # dpctl retains the queue of every array that it computes with, so fills without a kernel do not use dpctl.
    if result.size == 0:
        return
    memory = result.get_array().usm_data
    if isinstance(value, int) and value == 0:
        memory.memset(0)
    elif isinstance(value, np.ndarray) and (value.shape, value.dtype) == (result.shape, result.dtype):
        memory.copy_from_host(value.ravel("C" if result.flags.c_contiguous else "F").view("u1"))
    elif np.isscalar(value) or isinstance(value, np.ndarray):
        result[...] = value
    else:
        result[...] = dpnp.asarray(value, sycl_queue=job.current().heap.queue)
    _core.settle_submitted()  # other PEs may put into the array from now on


def _bytes_request(routine: str, nbytes: Any, alignment: int = ALIGNMENT) -> _Request:
    size = check.integer(nbytes, "nbytes")
    if size < 0:
        raise ValueError(f"{routine}: the size is {size} bytes; it must not be negative")
    return _Request(size, alignment, (size,), "uint8", "C")


def _memory(routine: str, agreed: _Request) -> MemoryUSMDevice | None:
    if not agreed.nbytes:
        return None
    allocation = _allocate(routine, agreed)
    return job.current().heap.bytes_of(allocation)


def _allocate(routine: str, request: _Request) -> Allocation:
    """Return a new heap allocation for a request that all PEs agree on; raise ``HeapExhausted`` if there is no room."""
    heap = job.current().heap
    what = f"{routine} {request}"
    allocation = heap.allocator.allocate(request.nbytes, request.alignment, what, callsite.caller())
    if allocation is None:
        a = heap.allocator
        raise HeapExhausted(
            f"{what} does not fit the symmetric heap: used {a.used_bytes}, free {a.free_bytes} (largest piece "
            f"{a.largest}) of {a.size} bytes; raise ISHMEM_SYMMETRIC_SIZE or init(heap_size=), or call ishmem.free: "
            "del frees no symmetric array"
        )
    _core.add_live(allocation.offset, max(allocation.nbytes, 1))
    return allocation


def _together(routine: str, make: Callable[[], T], words: Callable[[T], str]) -> T:
    """Return the result of ``make`` if it succeeds on all PEs with equal ``words(result)``, else raise on all PEs."""
    this = job.current()
    this.losses.refuse_allocations()
    checked = " with ISHMEM_CHECK" if this.settings.check else ""  # delays the reuse of freed memory, so offsets differ
    request, _notes = agreement.check_and_agree(this, routine, make, lambda found: words(found) + checked)
    return request
