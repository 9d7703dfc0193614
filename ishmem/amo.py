"""Atomic memory operations on one element of a symmetric array.

The same names work on the host and in kernels; operations of the host and of kernels are atomic to each other. Each
routine names the dtypes that it takes.

None is collective. Fetching atomics block until they have the old value. ``quiet`` waits for remote completion of the
others. The ``_nbi`` forms store the old value in the first element of ``fetch``, where it is available after the next
``quiet`` or ``flush``.

All raise ``StateError`` outside ``init`` to ``finalize``, ``SymmetryError`` for an array that is not on the symmetric
heap, ``IndexError`` for a PE or element that does not exist, ``TypeError`` for a dtype or value that the operation does
not take and ``ValueError`` for a value that does not fit the dtype.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ishmem import _core
from ishmem.common import type_tables
from ishmem.common.constants import MemoryOrder, no_member
from ishmem.common.routines import exported
from ishmem.order import fence
from ishmem.runtime import check, job

if TYPE_CHECKING:
    from dpnp import ndarray

    from ishmem.common.indices import Index

__all__ = exported(__name__)

BITS = {"int32": 5, "uint32": 6, "int64": 7, "uint64": 8, "float32": 11, "float64": 12}


def code(rmw: type_tables.Rmw, types: tuple[str, ...]) -> int:
    """Return the number of an operation in the core, and the dtypes that it takes."""
    return int(rmw) | sum(1 << BITS[dtype] for dtype in types) << 8


_CODES = {name: code(atomic.rmw, atomic.types) for name, atomic in type_tables.ATOMICS.items()}
NO_RESULT = 0x80
"""In a code: nobody wants the old value, so that between nodes nobody waits for it."""

_FETCH, _SET, _SWAP, _COMPARE_SWAP, _INC, _ADD, _AND, _OR, _XOR, _MIN, _MAX = (
    _CODES[f"atomic_{name}"]
    for name in ("fetch", "set", "swap", "compare_swap", "inc", "add", "and", "or", "xor", "min", "max")
)


_SET_ONLY, _INC_ONLY, _ADD_ONLY, _AND_ONLY, _OR_ONLY, _XOR_ONLY, _MIN_ONLY, _MAX_ONLY = (
    each | NO_RESULT for each in (_SET, _INC, _ADD, _AND, _OR, _XOR, _MIN, _MAX)
)


def run(name: str, target: ndarray, pe: int, index: Index, value: Any = None, cond: Any = None) -> Any:
    """Do an atomic operation and return the old value."""
    old = _core.atomic(_CODES[name], target, pe, index, value, cond, 0)
    return _by_kernel(name, target, pe, index, value, cond) if old is NotImplemented else old


def _ordered(
    name: str, order: int, target: ndarray, pe: int, index: Index, value: Any = None, cond: Any = None
) -> Any:
    """Do an atomic operation that the core has declined, as it does those with another memory order than relaxed."""
    old = NotImplemented
    if order or type(order) is not int:  # the core takes the int 0 only
        _release(order)
        code = _CODES[name] | (0 if type_tables.ATOMICS[name].fetches else NO_RESULT)
        old = _core.atomic(code, target, pe, index, value, cond, 0)
    return _by_kernel(name, target, pe, index, value, cond) if old is NotImplemented else old


def _by_kernel(name: str, target: ndarray, pe: int, index: Index, value: Any = None, cond: Any = None) -> Any:
    """Raise the error of wrong arguments, or else run the operation in a kernel."""
    atomic = type_tables.ATOMICS[name]
    number = check.pe(pe)
    array = check.view(target, "source" if name == "atomic_fetch" else "dest", atomic.types, name)
    check.element(array, index)
    given = {"cond": cond, "value": value}
    operands = [check.as_element(target, given[operand]) for operand in atomic.operands]
    if ((network := job.current().network) and network.is_far(number)) or job.current().heap.atomics_by_host[number]:
        job.current().raise_lost(name)
    from ishmem.runtime.host_atomics import atomic_by_kernel  # imports dpnp

    return atomic_by_kernel(globals()[atomic.fetching], array.array, number, check.position(array, index), operands)


def _release(order: Any) -> None:
    """Order earlier operations before an atomic, if its memory order asks for it; blocking atomics acquire anyway.

    Raises:
        ValueError: There is no such order.
    """
    if order not in list(MemoryOrder):
        raise ValueError(no_member("order", MemoryOrder, order))
    if order & MemoryOrder.RELEASE:
        fence()


def _run_nbi(
    fetch: Any, name: str, target: ndarray, pe: int, index: Index, value: Any = None, cond: Any = None
) -> None:
    """Do an atomic operation and store the old value in the first element of ``fetch``."""
    to = check.view(fetch, "fetch")
    check.writable(to)
    if not to.count:
        raise ValueError("fetch is empty; it must have at least one element")
    if _core.describe(target) is not None:
        check.same_dtype(check.view(target, "dest", routine=name), to)
    old = run(name, target, pe, index, value, cond)
    if _core.p(fetch, old, job.current().pe, 0) is NotImplemented:
        fetch[(0,) * fetch.ndim] = old


def atomic_fetch(source: ndarray, pe: int, index: Index = 0, order: int = 0) -> Any:
    """Return an element of ``source`` on a PE, read atomically.

    Not collective, blocking.

    Args:
        source: Symmetric array of int32, int64, uint32, uint64, float32 or float64.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        index: The element: its number in C order, or a tuple of indices.
        order: ``ORDER_RELAXED``, ``ORDER_ACQUIRE``, ``ORDER_RELEASE`` or ``ORDER_ACQ_REL``.

    Example:
        >>> a = ishmem.full(2, 5, dtype="i8")
        >>> ishmem.atomic_fetch(a, me)
        5

    Source: OpenSHMEM 1.5, 9.7.1.1 (shmem_atomic_fetch); ishmem_atomic_fetch.
    """
    old = _core.atomic(_FETCH, source, pe, index, None, None, order)
    return old if old is not NotImplemented else _ordered("atomic_fetch", order, source, pe, index)


def atomic_set(dest: ndarray, value: Any, pe: int, index: Index = 0, order: int = 0) -> None:
    """Set an element of ``dest`` on a PE to ``value``.

    Not collective; ``quiet`` waits for remote completion.

    Args:
        dest: Symmetric array of int32, int64, uint32, uint64, float32 or float64.
        value: A number that the dtype can hold.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        index: The element: its number in C order, or a tuple of indices.
        order: ``ORDER_RELAXED``, ``ORDER_ACQUIRE``, ``ORDER_RELEASE`` or ``ORDER_ACQ_REL``.

    Example:
        >>> a = ishmem.full(2, 5, dtype="i8")
        >>> ishmem.atomic_set(a, 3, right, index=1)
        >>> ishmem.barrier_all()
        >>> print(a)
        [5 3]

    Source: OpenSHMEM 1.5, 9.7.1.2 (shmem_atomic_set); ishmem_atomic_set.
    """
    if _core.atomic(_SET_ONLY, dest, pe, index, value, None, order) is NotImplemented:
        _ordered("atomic_set", order, dest, pe, index, value)


def atomic_swap(dest: ndarray, value: Any, pe: int, index: Index = 0, order: int = 0) -> Any:
    """Set an element of ``dest`` on a PE to ``value`` and return the old value.

    Not collective, blocking.

    Args:
        dest: Symmetric array of int32, int64, uint32, uint64, float32 or float64.
        value: A number that the dtype can hold.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        index: The element: its number in C order, or a tuple of indices.
        order: ``ORDER_RELAXED``, ``ORDER_ACQUIRE``, ``ORDER_RELEASE`` or ``ORDER_ACQ_REL``.

    Example:
        >>> a = ishmem.full(2, 5, dtype="i8")
        >>> ishmem.atomic_swap(a, 3, me)
        5

    Source: OpenSHMEM 1.5, 9.7.1.4 (shmem_atomic_swap); ishmem_atomic_swap.
    """
    old = _core.atomic(_SWAP, dest, pe, index, value, None, order)
    return old if old is not NotImplemented else _ordered("atomic_swap", order, dest, pe, index, value)


def atomic_compare_swap(dest: ndarray, cond: Any, value: Any, pe: int, index: Index = 0, order: int = 0) -> Any:
    """Set an element of ``dest`` on a PE to ``value`` if it equals ``cond``; return the old value.

    Not collective, blocking.

    Args:
        dest: Symmetric array of int32, int64, uint32 or uint64.
        cond: The value that the element must have for the swap.
        value: A number that the dtype can hold.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        index: The element: its number in C order, or a tuple of indices.
        order: ``ORDER_RELAXED``, ``ORDER_ACQUIRE``, ``ORDER_RELEASE`` or ``ORDER_ACQ_REL``.

    Example:
        >>> a = ishmem.full(2, 5, dtype="i8")
        >>> ishmem.atomic_compare_swap(a, 5, 9, me)
        5

    Source: OpenSHMEM 1.5, 9.7.1.3 (shmem_atomic_compare_swap); ishmem_atomic_compare_swap.
    """
    old = _core.atomic(_COMPARE_SWAP, dest, pe, index, value, cond, order)
    return old if old is not NotImplemented else _ordered("atomic_compare_swap", order, dest, pe, index, value, cond)


def atomic_inc(dest: ndarray, pe: int, index: Index = 0, order: int = 0) -> None:
    """Add one to an element of ``dest`` on a PE.

    Not collective; ``quiet`` waits for remote completion.

    Args:
        dest: Symmetric array of int32, int64, uint32 or uint64.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        index: The element: its number in C order, or a tuple of indices.
        order: ``ORDER_RELAXED``, ``ORDER_ACQUIRE``, ``ORDER_RELEASE`` or ``ORDER_ACQ_REL``.

    Example:
        >>> a = ishmem.full(2, 5, dtype="i8")
        >>> ishmem.atomic_inc(a, right, index=1)
        >>> ishmem.barrier_all()
        >>> print(a)
        [5 6]

    Source: OpenSHMEM 1.5, 9.7.1.6 (shmem_atomic_inc); ishmem_atomic_inc.
    """
    if _core.atomic(_INC_ONLY, dest, pe, index, 1, None, order) is NotImplemented:
        _ordered("atomic_inc", order, dest, pe, index, 1)


def atomic_fetch_inc(dest: ndarray, pe: int, index: Index = 0, order: int = 0) -> Any:
    """Add one to an element of ``dest`` on a PE and return the old value.

    Not collective, blocking.

    Args:
        dest: Symmetric array of int32, int64, uint32 or uint64.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        index: The element: its number in C order, or a tuple of indices.
        order: ``ORDER_RELAXED``, ``ORDER_ACQUIRE``, ``ORDER_RELEASE`` or ``ORDER_ACQ_REL``.

    Example:
        >>> a = ishmem.full(2, 5, dtype="i8")
        >>> ishmem.atomic_fetch_inc(a, me)
        5

    Source: OpenSHMEM 1.5, 9.7.1.5 (shmem_atomic_fetch_inc); ishmem_atomic_fetch_inc.
    """
    old = _core.atomic(_INC, dest, pe, index, 1, None, order)
    return old if old is not NotImplemented else _ordered("atomic_fetch_inc", order, dest, pe, index, 1)


def atomic_add(dest: ndarray, value: Any, pe: int, index: Index = 0, order: int = 0) -> None:
    """Add ``value`` to an element of ``dest`` on a PE.

    Not collective; ``quiet`` waits for remote completion.

    Args:
        dest: Symmetric array of int32, int64, uint32, uint64, float32 or float64.
        value: A number that the dtype can hold.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        index: The element: its number in C order, or a tuple of indices.
        order: ``ORDER_RELAXED``, ``ORDER_ACQUIRE``, ``ORDER_RELEASE`` or ``ORDER_ACQ_REL``.

    Example:
        >>> a = ishmem.full(2, 5, dtype="i8")
        >>> ishmem.atomic_add(a, 3, right, index=1)
        >>> ishmem.barrier_all()
        >>> print(a)
        [5 8]

    Source: OpenSHMEM 1.5, 9.7.1.8 (shmem_atomic_add); ishmem_atomic_add.
    """
    if _core.atomic(_ADD_ONLY, dest, pe, index, value, None, order) is NotImplemented:
        _ordered("atomic_add", order, dest, pe, index, value)


def atomic_fetch_add(dest: ndarray, value: Any, pe: int, index: Index = 0, order: int = 0) -> Any:
    """Add ``value`` to an element of ``dest`` on a PE and return the old value.

    Not collective, blocking.

    Args:
        dest: Symmetric array of int32, int64, uint32, uint64, float32 or float64.
        value: A number that the dtype can hold.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        index: The element: its number in C order, or a tuple of indices.
        order: ``ORDER_RELAXED``, ``ORDER_ACQUIRE``, ``ORDER_RELEASE`` or ``ORDER_ACQ_REL``.

    Example:
        >>> a = ishmem.full(2, 5, dtype="i8")
        >>> ishmem.atomic_fetch_add(a, 3, me)
        5

    Source: OpenSHMEM 1.5, 9.7.1.7 (shmem_atomic_fetch_add); ishmem_atomic_fetch_add.
    """
    old = _core.atomic(_ADD, dest, pe, index, value, None, order)
    return old if old is not NotImplemented else _ordered("atomic_fetch_add", order, dest, pe, index, value)


def atomic_and(dest: ndarray, value: Any, pe: int, index: Index = 0, order: int = 0) -> None:
    """Set an element of ``dest`` on a PE to its bitwise AND with ``value``.

    Not collective; ``quiet`` waits for remote completion.

    Args:
        dest: Symmetric array of int32, int64, uint32 or uint64.
        value: A number that the dtype can hold.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        index: The element: its number in C order, or a tuple of indices.
        order: ``ORDER_RELAXED``, ``ORDER_ACQUIRE``, ``ORDER_RELEASE`` or ``ORDER_ACQ_REL``.

    Example:
        >>> a = ishmem.full(2, 5, dtype="i8")
        >>> ishmem.atomic_and(a, 3, right, index=1)
        >>> ishmem.barrier_all()
        >>> print(a)
        [5 1]

    Source: OpenSHMEM 1.5, 9.7.1.10 (shmem_atomic_and); ishmem_atomic_and.
    """
    if _core.atomic(_AND_ONLY, dest, pe, index, value, None, order) is NotImplemented:
        _ordered("atomic_and", order, dest, pe, index, value)


def atomic_fetch_and(dest: ndarray, value: Any, pe: int, index: Index = 0, order: int = 0) -> Any:
    """Set an element of ``dest`` on a PE to its bitwise AND with ``value``; return the old value.

    Not collective, blocking.

    Args:
        dest: Symmetric array of int32, int64, uint32 or uint64.
        value: A number that the dtype can hold.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        index: The element: its number in C order, or a tuple of indices.
        order: ``ORDER_RELAXED``, ``ORDER_ACQUIRE``, ``ORDER_RELEASE`` or ``ORDER_ACQ_REL``.

    Example:
        >>> a = ishmem.full(2, 5, dtype="i8")
        >>> ishmem.atomic_fetch_and(a, 3, me)
        5

    Source: OpenSHMEM 1.5, 9.7.1.9 (shmem_atomic_fetch_and); ishmem_atomic_fetch_and.
    """
    old = _core.atomic(_AND, dest, pe, index, value, None, order)
    return old if old is not NotImplemented else _ordered("atomic_fetch_and", order, dest, pe, index, value)


def atomic_or(dest: ndarray, value: Any, pe: int, index: Index = 0, order: int = 0) -> None:
    """Set an element of ``dest`` on a PE to its bitwise OR with ``value``.

    Not collective; ``quiet`` waits for remote completion.

    Args:
        dest: Symmetric array of int32, int64, uint32 or uint64.
        value: A number that the dtype can hold.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        index: The element: its number in C order, or a tuple of indices.
        order: ``ORDER_RELAXED``, ``ORDER_ACQUIRE``, ``ORDER_RELEASE`` or ``ORDER_ACQ_REL``.

    Example:
        >>> a = ishmem.full(2, 5, dtype="i8")
        >>> ishmem.atomic_or(a, 3, right, index=1)
        >>> ishmem.barrier_all()
        >>> print(a)
        [5 7]

    Source: OpenSHMEM 1.5, 9.7.1.12 (shmem_atomic_or); ishmem_atomic_or.
    """
    if _core.atomic(_OR_ONLY, dest, pe, index, value, None, order) is NotImplemented:
        _ordered("atomic_or", order, dest, pe, index, value)


def atomic_fetch_or(dest: ndarray, value: Any, pe: int, index: Index = 0, order: int = 0) -> Any:
    """Set an element of ``dest`` on a PE to its bitwise OR with ``value``; return the old value.

    Not collective, blocking.

    Args:
        dest: Symmetric array of int32, int64, uint32 or uint64.
        value: A number that the dtype can hold.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        index: The element: its number in C order, or a tuple of indices.
        order: ``ORDER_RELAXED``, ``ORDER_ACQUIRE``, ``ORDER_RELEASE`` or ``ORDER_ACQ_REL``.

    Example:
        >>> a = ishmem.full(2, 5, dtype="i8")
        >>> ishmem.atomic_fetch_or(a, 3, me)
        5

    Source: OpenSHMEM 1.5, 9.7.1.11 (shmem_atomic_fetch_or); ishmem_atomic_fetch_or.
    """
    old = _core.atomic(_OR, dest, pe, index, value, None, order)
    return old if old is not NotImplemented else _ordered("atomic_fetch_or", order, dest, pe, index, value)


def atomic_xor(dest: ndarray, value: Any, pe: int, index: Index = 0, order: int = 0) -> None:
    """Set an element of ``dest`` on a PE to its bitwise XOR with ``value``.

    Not collective; ``quiet`` waits for remote completion.

    Args:
        dest: Symmetric array of int32, int64, uint32 or uint64.
        value: A number that the dtype can hold.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        index: The element: its number in C order, or a tuple of indices.
        order: ``ORDER_RELAXED``, ``ORDER_ACQUIRE``, ``ORDER_RELEASE`` or ``ORDER_ACQ_REL``.

    Example:
        >>> a = ishmem.full(2, 5, dtype="i8")
        >>> ishmem.atomic_xor(a, 3, right, index=1)
        >>> ishmem.barrier_all()
        >>> print(a)
        [5 6]

    Source: OpenSHMEM 1.5, 9.7.1.14 (shmem_atomic_xor); ishmem_atomic_xor.
    """
    if _core.atomic(_XOR_ONLY, dest, pe, index, value, None, order) is NotImplemented:
        _ordered("atomic_xor", order, dest, pe, index, value)


def atomic_fetch_xor(dest: ndarray, value: Any, pe: int, index: Index = 0, order: int = 0) -> Any:
    """Set an element of ``dest`` on a PE to its bitwise XOR with ``value``; return the old value.

    Not collective, blocking.

    Args:
        dest: Symmetric array of int32, int64, uint32 or uint64.
        value: A number that the dtype can hold.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        index: The element: its number in C order, or a tuple of indices.
        order: ``ORDER_RELAXED``, ``ORDER_ACQUIRE``, ``ORDER_RELEASE`` or ``ORDER_ACQ_REL``.

    Example:
        >>> a = ishmem.full(2, 5, dtype="i8")
        >>> ishmem.atomic_fetch_xor(a, 3, me)
        5

    Source: OpenSHMEM 1.5, 9.7.1.13 (shmem_atomic_fetch_xor); ishmem_atomic_fetch_xor.
    """
    old = _core.atomic(_XOR, dest, pe, index, value, None, order)
    return old if old is not NotImplemented else _ordered("atomic_fetch_xor", order, dest, pe, index, value)


def atomic_min(dest: ndarray, value: Any, pe: int, index: Index = 0, order: int = 0) -> None:
    """Set an element of ``dest`` on a PE to the minimum of it and ``value``; NaN if either is NaN.

    Not collective; ``quiet`` waits for remote completion.

    Args:
        dest: Symmetric array of int32, int64, uint32, uint64, float32 or float64.
        value: A number that the dtype can hold.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        index: The element: its number in C order, or a tuple of indices.
        order: ``ORDER_RELAXED``, ``ORDER_ACQUIRE``, ``ORDER_RELEASE`` or ``ORDER_ACQ_REL``.

    Example:
        >>> a = ishmem.full(2, 5, dtype="i8")
        >>> ishmem.atomic_min(a, 3, right, index=1)
        >>> ishmem.barrier_all()
        >>> print(a)
        [5 3]

    Source: Iris (iris.atomic_min); not in OpenSHMEM.
    """
    if _core.atomic(_MIN_ONLY, dest, pe, index, value, None, order) is NotImplemented:
        _ordered("atomic_min", order, dest, pe, index, value)


def atomic_fetch_min(dest: ndarray, value: Any, pe: int, index: Index = 0, order: int = 0) -> Any:
    """Set an element of ``dest`` on a PE to the minimum of it and ``value``; return the old value.

    The element becomes NaN if either is NaN. Not collective, blocking.

    Args:
        dest: Symmetric array of int32, int64, uint32, uint64, float32 or float64.
        value: A number that the dtype can hold.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        index: The element: its number in C order, or a tuple of indices.
        order: ``ORDER_RELAXED``, ``ORDER_ACQUIRE``, ``ORDER_RELEASE`` or ``ORDER_ACQ_REL``.

    Example:
        >>> a = ishmem.full(2, 5, dtype="i8")
        >>> ishmem.atomic_fetch_min(a, 3, me)
        5

    Source: Iris (iris.atomic_min); not in OpenSHMEM.
    """
    old = _core.atomic(_MIN, dest, pe, index, value, None, order)
    return old if old is not NotImplemented else _ordered("atomic_fetch_min", order, dest, pe, index, value)


def atomic_max(dest: ndarray, value: Any, pe: int, index: Index = 0, order: int = 0) -> None:
    """Set an element of ``dest`` on a PE to the maximum of it and ``value``; NaN if either is NaN.

    Not collective; ``quiet`` waits for remote completion.

    Args:
        dest: Symmetric array of int32, int64, uint32, uint64, float32 or float64.
        value: A number that the dtype can hold.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        index: The element: its number in C order, or a tuple of indices.
        order: ``ORDER_RELAXED``, ``ORDER_ACQUIRE``, ``ORDER_RELEASE`` or ``ORDER_ACQ_REL``.

    Example:
        >>> a = ishmem.full(2, 5, dtype="i8")
        >>> ishmem.atomic_max(a, 3, right, index=1)
        >>> ishmem.barrier_all()
        >>> print(a)
        [5 5]

    Source: Iris (iris.atomic_max); not in OpenSHMEM.
    """
    if _core.atomic(_MAX_ONLY, dest, pe, index, value, None, order) is NotImplemented:
        _ordered("atomic_max", order, dest, pe, index, value)


def atomic_fetch_max(dest: ndarray, value: Any, pe: int, index: Index = 0, order: int = 0) -> Any:
    """Set an element of ``dest`` on a PE to the maximum of it and ``value``; return the old value.

    The element becomes NaN if either is NaN. Not collective, blocking.

    Args:
        dest: Symmetric array of int32, int64, uint32, uint64, float32 or float64.
        value: A number that the dtype can hold.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        index: The element: its number in C order, or a tuple of indices.
        order: ``ORDER_RELAXED``, ``ORDER_ACQUIRE``, ``ORDER_RELEASE`` or ``ORDER_ACQ_REL``.

    Example:
        >>> a = ishmem.full(2, 5, dtype="i8")
        >>> ishmem.atomic_fetch_max(a, 3, me)
        5

    Source: Iris (iris.atomic_max); not in OpenSHMEM.
    """
    old = _core.atomic(_MAX, dest, pe, index, value, None, order)
    return old if old is not NotImplemented else _ordered("atomic_fetch_max", order, dest, pe, index, value)


def atomic_fetch_nbi(fetch: Any, source: ndarray, pe: int, index: Index = 0) -> None:
    """Start ``atomic_fetch`` without waiting for the old value.

    It is in the first element of ``fetch`` after the next ``quiet`` or ``flush``. Not collective, not blocking.

    Args:
        fetch: A dpnp or numpy array of the same dtype; the old value goes to its first element.
        source: Symmetric array of int32, int64, uint32, uint64, float32 or float64.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        index: The element: its number in C order, or a tuple of indices.

    Example:
        >>> a, old = ishmem.full(2, 5, dtype="i8"), np.empty(1, "i8")
        >>> ishmem.atomic_fetch_nbi(old, a, me)
        >>> ishmem.quiet()
        >>> print(old)
        [5]

    Source: OpenSHMEM 1.5, 9.7.2.1 (shmem_atomic_fetch_nbi); ishmem_atomic_fetch_nbi.
    """
    _run_nbi(fetch, "atomic_fetch", source, pe, index)


def atomic_swap_nbi(fetch: Any, dest: ndarray, value: Any, pe: int, index: Index = 0) -> None:
    """Start ``atomic_swap`` without waiting for the old value.

    It is in the first element of ``fetch`` after the next ``quiet`` or ``flush``. Not collective, not blocking.

    Args:
        fetch: A dpnp or numpy array of the same dtype; the old value goes to its first element.
        dest: Symmetric array of int32, int64, uint32, uint64, float32 or float64.
        value: A number that the dtype can hold.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        index: The element: its number in C order, or a tuple of indices.

    Example:
        >>> a, old = ishmem.full(2, 5, dtype="i8"), np.empty(1, "i8")
        >>> ishmem.atomic_swap_nbi(old, a, 3, me)
        >>> ishmem.quiet()
        >>> print(old)
        [5]

    Source: OpenSHMEM 1.5, 9.7.2.3 (shmem_atomic_swap_nbi); ishmem_atomic_swap_nbi.
    """
    _run_nbi(fetch, "atomic_swap", dest, pe, index, value)


def atomic_compare_swap_nbi(fetch: Any, dest: ndarray, cond: Any, value: Any, pe: int, index: Index = 0) -> None:
    """Start ``atomic_compare_swap`` without waiting for the old value.

    It is in the first element of ``fetch`` after the next ``quiet`` or ``flush``. Not collective, not blocking.

    Args:
        fetch: A dpnp or numpy array of the same dtype; the old value goes to its first element.
        dest: Symmetric array of int32, int64, uint32 or uint64.
        cond: The value that the element must have for the swap.
        value: A number that the dtype can hold.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        index: The element: its number in C order, or a tuple of indices.

    Example:
        >>> a, old = ishmem.full(2, 5, dtype="i8"), np.empty(1, "i8")
        >>> ishmem.atomic_compare_swap_nbi(old, a, 5, 9, me)
        >>> ishmem.quiet()
        >>> print(old)
        [5]

    Source: OpenSHMEM 1.5, 9.7.2.2 (shmem_atomic_compare_swap_nbi); ishmem_atomic_compare_swap_nbi.
    """
    _run_nbi(fetch, "atomic_compare_swap", dest, pe, index, value, cond)


def atomic_fetch_inc_nbi(fetch: Any, dest: ndarray, pe: int, index: Index = 0) -> None:
    """Start ``atomic_fetch_inc`` without waiting for the old value.

    It is in the first element of ``fetch`` after the next ``quiet`` or ``flush``. Not collective, not blocking.

    Args:
        fetch: A dpnp or numpy array of the same dtype; the old value goes to its first element.
        dest: Symmetric array of int32, int64, uint32 or uint64.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        index: The element: its number in C order, or a tuple of indices.

    Example:
        >>> a, old = ishmem.full(2, 5, dtype="i8"), np.empty(1, "i8")
        >>> ishmem.atomic_fetch_inc_nbi(old, a, me)
        >>> ishmem.quiet()
        >>> print(old)
        [5]

    Source: OpenSHMEM 1.5, 9.7.2.4 (shmem_atomic_fetch_inc_nbi); ishmem_atomic_fetch_inc_nbi.
    """
    _run_nbi(fetch, "atomic_fetch_inc", dest, pe, index, 1)


def atomic_fetch_add_nbi(fetch: Any, dest: ndarray, value: Any, pe: int, index: Index = 0) -> None:
    """Start ``atomic_fetch_add`` without waiting for the old value.

    It is in the first element of ``fetch`` after the next ``quiet`` or ``flush``. Not collective, not blocking.

    Args:
        fetch: A dpnp or numpy array of the same dtype; the old value goes to its first element.
        dest: Symmetric array of int32, int64, uint32, uint64, float32 or float64.
        value: A number that the dtype can hold.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        index: The element: its number in C order, or a tuple of indices.

    Example:
        >>> a, old = ishmem.full(2, 5, dtype="i8"), np.empty(1, "i8")
        >>> ishmem.atomic_fetch_add_nbi(old, a, 3, me)
        >>> ishmem.quiet()
        >>> print(old)
        [5]

    Source: OpenSHMEM 1.5, 9.7.2.5 (shmem_atomic_fetch_add_nbi); ishmem_atomic_fetch_add_nbi.
    """
    _run_nbi(fetch, "atomic_fetch_add", dest, pe, index, value)


def atomic_fetch_and_nbi(fetch: Any, dest: ndarray, value: Any, pe: int, index: Index = 0) -> None:
    """Start ``atomic_fetch_and`` without waiting for the old value.

    It is in the first element of ``fetch`` after the next ``quiet`` or ``flush``. Not collective, not blocking.

    Args:
        fetch: A dpnp or numpy array of the same dtype; the old value goes to its first element.
        dest: Symmetric array of int32, int64, uint32 or uint64.
        value: A number that the dtype can hold.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        index: The element: its number in C order, or a tuple of indices.

    Example:
        >>> a, old = ishmem.full(2, 5, dtype="i8"), np.empty(1, "i8")
        >>> ishmem.atomic_fetch_and_nbi(old, a, 3, me)
        >>> ishmem.quiet()
        >>> print(old)
        [5]

    Source: OpenSHMEM 1.5, 9.7.2.6 (shmem_atomic_fetch_and_nbi); ishmem_atomic_fetch_and_nbi.
    """
    _run_nbi(fetch, "atomic_fetch_and", dest, pe, index, value)


def atomic_fetch_or_nbi(fetch: Any, dest: ndarray, value: Any, pe: int, index: Index = 0) -> None:
    """Start ``atomic_fetch_or`` without waiting for the old value.

    It is in the first element of ``fetch`` after the next ``quiet`` or ``flush``. Not collective, not blocking.

    Args:
        fetch: A dpnp or numpy array of the same dtype; the old value goes to its first element.
        dest: Symmetric array of int32, int64, uint32 or uint64.
        value: A number that the dtype can hold.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        index: The element: its number in C order, or a tuple of indices.

    Example:
        >>> a, old = ishmem.full(2, 5, dtype="i8"), np.empty(1, "i8")
        >>> ishmem.atomic_fetch_or_nbi(old, a, 3, me)
        >>> ishmem.quiet()
        >>> print(old)
        [5]

    Source: OpenSHMEM 1.5, 9.7.2.7 (shmem_atomic_fetch_or_nbi); ishmem_atomic_fetch_or_nbi.
    """
    _run_nbi(fetch, "atomic_fetch_or", dest, pe, index, value)


def atomic_fetch_xor_nbi(fetch: Any, dest: ndarray, value: Any, pe: int, index: Index = 0) -> None:
    """Start ``atomic_fetch_xor`` without waiting for the old value.

    It is in the first element of ``fetch`` after the next ``quiet`` or ``flush``. Not collective, not blocking.

    Args:
        fetch: A dpnp or numpy array of the same dtype; the old value goes to its first element.
        dest: Symmetric array of int32, int64, uint32 or uint64.
        value: A number that the dtype can hold.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        index: The element: its number in C order, or a tuple of indices.

    Example:
        >>> a, old = ishmem.full(2, 5, dtype="i8"), np.empty(1, "i8")
        >>> ishmem.atomic_fetch_xor_nbi(old, a, 3, me)
        >>> ishmem.quiet()
        >>> print(old)
        [5]

    Source: OpenSHMEM 1.5, 9.7.2.8 (shmem_atomic_fetch_xor_nbi); ishmem_atomic_fetch_xor_nbi.
    """
    _run_nbi(fetch, "atomic_fetch_xor", dest, pe, index, value)


def atomic_fetch_min_nbi(fetch: Any, dest: ndarray, value: Any, pe: int, index: Index = 0) -> None:
    """Start ``atomic_fetch_min`` without waiting for the old value.

    It is in the first element of ``fetch`` after the next ``quiet`` or ``flush``. Not collective, not blocking.

    Args:
        fetch: A dpnp or numpy array of the same dtype; the old value goes to its first element.
        dest: Symmetric array of int32, int64, uint32, uint64, float32 or float64.
        value: A number that the dtype can hold.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        index: The element: its number in C order, or a tuple of indices.

    Example:
        >>> a, old = ishmem.full(2, 5, dtype="i8"), np.empty(1, "i8")
        >>> ishmem.atomic_fetch_min_nbi(old, a, 3, me)
        >>> ishmem.quiet()
        >>> print(old)
        [5]

    Source: Iris (iris.atomic_min); not in OpenSHMEM.
    """
    _run_nbi(fetch, "atomic_fetch_min", dest, pe, index, value)


def atomic_fetch_max_nbi(fetch: Any, dest: ndarray, value: Any, pe: int, index: Index = 0) -> None:
    """Start ``atomic_fetch_max`` without waiting for the old value.

    It is in the first element of ``fetch`` after the next ``quiet`` or ``flush``. Not collective, not blocking.

    Args:
        fetch: A dpnp or numpy array of the same dtype; the old value goes to its first element.
        dest: Symmetric array of int32, int64, uint32, uint64, float32 or float64.
        value: A number that the dtype can hold.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.
        index: The element: its number in C order, or a tuple of indices.

    Example:
        >>> a, old = ishmem.full(2, 5, dtype="i8"), np.empty(1, "i8")
        >>> ishmem.atomic_fetch_max_nbi(old, a, 3, me)
        >>> ishmem.quiet()
        >>> print(old)
        [5]

    Source: Iris (iris.atomic_max); not in OpenSHMEM.
    """
    _run_nbi(fetch, "atomic_fetch_max", dest, pe, index, value)
