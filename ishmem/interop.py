"""Other libraries: symmetric arrays as numpy arrays, and the arrays of other libraries for ``put`` and ``get``.

docs/interop.md has a table of the supported combinations with numpy, dpctl, DLPack, mpi4py and numba.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from ishmem import order
from ishmem.common.errors import SymmetryError
from ishmem.common.routines import exported
from ishmem.environment import arrays
from ishmem.memory import extent
from ishmem.runtime import agreement, check, foreign, job

if TYPE_CHECKING:
    from dpnp import ndarray

    from ishmem.statics import Statics

__all__ = exported(__name__)

_CPU, _ONEAPI = 1, 14
"""DLPack's device types of arrays that ishmem accepts."""


@overload
def host_view(a: Any, pe: None = None) -> np.ndarray[Any, Any]: ...


@overload
def host_view(a: Any, pe: int) -> np.ndarray[Any, Any] | None: ...


def host_view(a: Any, pe: int | None = None) -> np.ndarray[Any, Any] | None:
    """Return a numpy array on the memory of a symmetric array, by default on this PE, through the host mapping.

    Nothing is copied: host and kernels access the same memory. Wait for kernels and on-queue operations before the host
    reads their results. For code that accepts host memory only, such as MPI without support for GPUs:
    ``comm.Bcast(ishmem.host_view(a))``. Valid until ``a`` is freed; after ``finalize`` it is memory of this process
    only. On a discrete GPU, the host's loads are slow: copy large arrays with ``a.asnumpy()``. Not collective.

    Args:
        a: A symmetric array, a view of one, symmetric memory (its bytes), or a static object.
        pe: Number of the PE that owns the memory; by default this PE.

    Returns:
        An array with the shape, strides and dtype of ``a``; None for a PE of another node.

    Raises:
        StateError: Not between ``init`` and ``finalize``.
        SymmetryError: ``a`` is not on the symmetric heap; registered memory is not.
        TypeError: ``a`` is not an array.
        IndexError: There is no such PE.

    Example:
        >>> x = ishmem.zeros(4, dtype="i4")
        >>> view = ishmem.host_view(x)
        >>> view[1] = me
        >>> int(x[1]) == me
        True
    """
    this = job.current()
    number, reach = this.pe if pe is None else check.pe(pe), extent(a)
    described = check.view(a, "a", routine="host_view")
    a = described.array
    statics: Statics = this.statics
    if statics.ptr(a, this.pe) is not None:
        return statics.ptr(a, number)
    if reach is None:
        check.symmetric(described)
        raise SymmetryError(f"a reaches outside its allocation: {a!r}")
    low, high = reach
    memory = this.heap.window(number, low, high - low)
    if memory is None:
        return None
    shape = a.shape if hasattr(a, "shape") else (described.count,)
    strides = [step * described.itemsize for step in getattr(arrays.usm_array(a), "strides", (1,))]
    offset = described.address - this.heap.base - low
    view: np.ndarray[Any, Any] = np.ndarray(shape, described.storage, memoryview(memory), offset, strides)
    return view


def from_dlpack(x: Any, /) -> ndarray | np.ndarray[Any, Any]:
    """Return a dpnp or numpy array on the memory of an array of another library, for ``put``, ``get`` and collectives.

    Nothing is copied. For an array on a SYCL device, such as a torch XPU tensor, the result is a dpnp array; for one in
    host memory, such as a torch CPU tensor, a numpy array; dpnp and numpy arrays are returned as they are. It is
    private unless ``x`` is symmetric. Not collective, and callable before ``init``.

    Args:
        x: An array with ``__dlpack__`` and ``__dlpack_device__``, of a dtype of dpnp.

    Raises:
        TypeError: ``x`` has no ``__dlpack__``, or lies on a device of another kind.
        BufferError: The library of ``x`` cannot export it.

    Example:
        >>> x = ishmem.zeros(4, dtype="f4")
        >>> ishmem.put(x, ishmem.from_dlpack(dpnp.ones(4, dtype="f4")), right)
    """
    x = foreign.native(x)
    if isinstance(x, np.ndarray) or hasattr(x, "get_array"):
        return x
    if not hasattr(x, "__dlpack__") or not hasattr(x, "__dlpack_device__"):
        raise TypeError(f"x is an array with __dlpack__ and __dlpack_device__, got {type(x).__name__}")
    kind = int(x.__dlpack_device__()[0])
    if kind == _ONEAPI:
        import dpnp

        return dpnp.from_dlpack(x)
    if kind == _CPU:
        return _writable(np.from_dlpack(x))
    raise TypeError(f"x is on a device of DLPack's kind {kind}; allowed are {_ONEAPI} (SYCL) and {_CPU} (host memory)")


def register(a: Any) -> None:
    """Make device memory of the program usable as symmetric memory.

    All PEs register an array of the same size. All routines but ``host_view``, on the host, on queues and in kernels,
    accept registered arrays and their parts as symmetric. After the first call, each kernel is compiled again at its
    next launch. Collective, blocking.

    Args:
        a: A contiguous array in memory of the heap's device: of dpnp or dpctl, or a tensor of torch on the XPU.

    Raises:
        StateError: Not between ``init`` and ``finalize``.
        SymmetryError: Sizes in bytes or addresses modulo 16 differ, or the argument of another PE is invalid.
        TypeError: Not an array.
        ValueError: Not contiguous, without elements, in other memory, or in memory that is symmetric or registered
            already; or 128 arrays are registered.
        PeerLost: A PE died, or finalised without this call.

    Example:
        >>> x = dpnp.full(4, me, dtype="i4")
        >>> ishmem.register(x)
        >>> ishmem.sum_reduce(x, x)
        >>> int(x[0]) == n * (n - 1) // 2
        True
        >>> ishmem.deregister(x)

    Source: NVSHMEM4Py, register_external_buffer; the symmetric memory of Iris and MORI.
    """
    this = job.current()
    region, _notes = agreement.check_and_agree(this, "register", lambda: this.registered.new(a), str)
    this.registered.exchange(region)


def deregister(a: Any) -> None:
    """End the registration of array ``a`` by ``register``; its memory is private again.

    Collective, blocking: completes this PE's operations, and returns when every PE has called. Registered memory stays
    allocated until then. ``finalize`` deregisters all arrays that are still registered.

    Args:
        a: The array that was registered, or one with all of its elements.

    Raises:
        StateError: Not between ``init`` and ``finalize``.
        SymmetryError: The PEs deregister different arrays, or the argument of another PE is invalid.
        TypeError: Not an array.
        ValueError: Not a registered array.
        PeerLost, LevelZeroError, ValueError, IndexError: As for ``quiet``, which it calls first.

    Example:
        >>> x = dpnp.zeros(4)
        >>> ishmem.register(x)
        >>> ishmem.deregister(x)
    """
    this = job.current()
    order.quiet()
    region, _notes = agreement.check_and_agree(
        this, "deregister", lambda: this.registered.owned(a), lambda found: f"of registration {found.number}"
    )
    this.registered.remove(region)


def _writable(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return a writable array on the memory of ``array``: numpy 1 makes all arrays from DLPack read-only."""
    if array.flags.writeable or not array.size:
        return array
    low, high = arrays.byte_bounds(array)
    memory = (ctypes.c_char * (high - low)).from_address(low)
    memory.owner = array  # type: ignore[attr-defined]  # lives as long as the view
    view: np.ndarray[Any, Any] = np.ndarray(
        array.shape, array.dtype, memoryview(memory), array.ctypes.data - low, array.strides
    )
    return view
