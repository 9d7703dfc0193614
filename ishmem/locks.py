"""Locks among all PEs: each element of a symmetric int64 array, initially 0, is a lock.

Locks are fair: PEs acquire a lock in the order of their requests. The same names work on the host and in kernels. Hosts
and kernels exclude each other, and so do threads of one PE and work-items of one kernel.
"""

# The words of neighbouring elements lie on different PEs. A lock is one word:
#
#     bits   name      meaning
#     0-15   holder    number of the PE that holds the lock plus 1, or 0 if it is free
#     16-39  serving   ticket that may acquire it
#     40-63  next      ticket of the next request

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ishmem import _core, amo, rma
from ishmem.common import error_texts
from ishmem.common.errors import StateError, SymmetryError
from ishmem.common.routines import exported
from ishmem.order import quiet
from ishmem.runtime import check, job, long_waits
from ishmem.runtime.docstrings import arguments_of

if TYPE_CHECKING:
    from dpnp import ndarray

    from ishmem.common.indices import Index

__all__ = exported(__name__)

SERVING, NEXT = 16, 40  # first bits
ITEM = 8
HOLDERS, TICKETS = (1 << 16) - 1, (1 << 24) - 1  # masks

_threads: dict[int, int] = {}  # by the address of a lock: the thread of this PE that has set it


# Model: tests/models/lock.pml.
def set_lock(lock: ndarray, index: Index = 0) -> None:
    """Acquire the lock in element ``index`` of ``lock``, first come, first served.

    Not collective, blocking; the processor is yielded on every failed poll.

    Args:
        lock: Symmetric contiguous array of int64, initially zeros; each element is a lock. No static object.
        index: The element: a tuple of indices, or its number in C order (in Fortran order, if the array is in that).

    Raises:
        StateError: This thread holds the lock already, or not between ``init`` and ``finalize``.
        PeerLost: The lock is not free, and a PE has died, which may have held it.
        SymmetryError: ``lock`` is not symmetric, or the element is not a lock: it has a value that no lock has.
        IndexError: There is no such element.
        TypeError: ``lock`` is not of dtype int64.
        ValueError: ``lock`` is not contiguous.

    Example:
        >>> locks = ishmem.zeros(1, dtype="i8")
        >>> ishmem.set_lock(locks)
        >>> ishmem.clear_lock(locks)

    Source: OpenSHMEM 1.5, 9.12.1 (shmem_set_lock).
    """
    this, place, home = find("set_lock", lock, index)
    if _threads.get(place) == threading.get_ident() and _holder(rma.g(lock, home, index)) == this.pe:
        raise StateError(f"set_lock: PE {this.pe} already holds the lock in element {index}; it would deadlock")
    word = amo.atomic_fetch_add(lock, 1 << NEXT, home, index)
    if not is_possible(word, this.n_pes):
        amo.atomic_fetch_add(lock, -(1 << NEXT), home, index)
    _check("set_lock", word, index, this.n_pes)
    ticket = word >> NEXT & TICKETS
    if rma.g(lock, home, index) >> SERVING & TICKETS != ticket:
        _queue(this, lock, index, home, ticket)
    amo.atomic_add(lock, this.pe + 1, home, index)
    _core.complete_late()
    _threads[place] = threading.get_ident()


# Model: tests/models/lock.pml.
@arguments_of(set_lock)
def test_lock(lock: ndarray, index: Index = 0) -> bool:  # noqa: PT028
    """Acquire the lock in element ``index`` of ``lock`` if it is free; return whether this PE has acquired it.

    True where ``shmem_test_lock`` returns 0. Not collective, not blocking. Errors as for ``set_lock``, except that the
    result is False for a lock that any PE, this one included, holds or waits for.

    Example:
        >>> locks = ishmem.zeros(1, dtype="i8")
        >>> if ishmem.test_lock(locks):
        ...     ishmem.clear_lock(locks)

    Source: OpenSHMEM 1.5, 9.12.1 (shmem_test_lock).
    """
    this, place, home = find("test_lock", lock, index)
    word = rma.g(lock, home, index)
    _check("test_lock", word, index, this.n_pes)
    if word & HOLDERS or (word >> SERVING ^ word >> NEXT) & TICKETS:
        return False
    taken = _signed(word + (1 << NEXT) + this.pe + 1)
    if amo.atomic_compare_swap(lock, word, taken, home, index) != word:
        return False
    _threads[place] = threading.get_ident()
    return True


# Model: tests/models/lock.pml.
@arguments_of(set_lock)
def clear_lock(lock: ndarray, index: Index = 0) -> None:
    """Complete this PE's operations, then release the lock in element ``index`` of ``lock``.

    The next PE in the order of requests acquires it. Not collective, blocking.

    Raises:
        StateError: This PE does not hold the lock, or not between ``init`` and ``finalize``.
        SymmetryError, IndexError, TypeError, ValueError: As for ``set_lock``.
        LevelZeroError, PeerLost, IndexError, SymmetryError, ValueError: As for ``quiet``; the lock is not released.

    Example:
        >>> locks = ishmem.zeros(1, dtype="i8")
        >>> ishmem.set_lock(locks)
        >>> ishmem.clear_lock(locks)

    Source: OpenSHMEM 1.5, 9.12.1 (shmem_clear_lock).
    """
    this, place, home = find("clear_lock", lock, index)
    word = rma.g(lock, home, index)
    _check("clear_lock", word, index, this.n_pes)
    holder = _holder(word)
    if holder != this.pe:
        raise StateError(f"clear_lock: PE {this.pe} does not hold the lock in element {index}; {_who(word)} holds it")
    quiet()
    _threads.pop(place, None)
    amo.atomic_add(lock, released(word >> SERVING & TICKETS) - (this.pe + 1), home, index)
    _core.complete_late()


@contextlib.contextmanager
@arguments_of(set_lock)
def lock(lock: ndarray, index: Index = 0) -> Iterator[None]:
    """Hold the lock in element ``index`` of ``lock`` during a with-block; host only.

    An exception in the block releases it too. Not collective, blocking. Errors as for ``set_lock`` and ``clear_lock``.

    Example:
        >>> locks, total = ishmem.zeros(1, dtype="i8"), ishmem.zeros(1)
        >>> with ishmem.lock(locks):  # one PE at a time
        ...     ishmem.p(total, ishmem.g(total, 0) + 0.5, 0)
    """
    set_lock(lock, index)
    try:
        yield
    finally:
        clear_lock(lock, index)


def released(serving: int) -> int:
    """Return the number to add to a lock's word so that its field, now ``serving``, grows by 1, modulo 2**24.

    There is no carry into the field ``next``.
    """
    return (1 << SERVING) - ((1 << NEXT) if serving == TICKETS else 0)


def is_possible(word: int, n_pes: int) -> bool:
    """Return whether ``word`` can be a lock's among ``n_pes`` PEs.

    It has no holder; or its holder is one of these PEs, and its field ``serving`` is not its field ``next``.
    """
    return not word & HOLDERS or (word & HOLDERS <= n_pes and (word >> SERVING ^ word >> NEXT) & TICKETS != 0)


def _check(routine: str, word: int, index: Index, n_pes: int) -> None:
    if not is_possible(word, n_pes):
        raise SymmetryError(f"{routine}: {error_texts.no_lock(index, word, n_pes)}")


def find(routine: str, lock: ndarray, index: Index) -> tuple[job.Job, int, int]:
    """Return the job, the address of element ``index`` of ``lock`` on this PE, and the PE whose memory has its word.

    Raises the errors of the arguments, in the name of ``routine``. All slices with the element have the same PE, as it
    depends only on the offset in the heap or registered memory.
    """
    this = job.current()
    array = check.view(lock, "lock", ("int64",), routine)
    check.element(array, index)
    region = this.registered.find(array.address, array.count * ITEM)
    start = region.address if region else array.address - check.symmetric(array)
    place = array.address + check.position(array, index) * ITEM
    return this, place, (place - start) // ITEM % this.n_pes


def _queue(this: job.Job, lock: ndarray, index: Index, home: int, ticket: int) -> None:
    """Wait until ``serving`` in the lock's word on PE ``home`` is ``ticket``; raise if a PE that may hold it died."""
    with long_waits.patience(this, lambda: f", element {index}, which {_who(rma.g(lock, home, index))} has") as report:
        while (word := rma.g(lock, home, index)) >> SERVING & TICKETS != ticket:
            if this.losses.end_waits() or _holder(word) in this.gone:
                this.raise_lost("set_lock")
            report()
            os.sched_yield()


def _who(word: int) -> str:
    return f"PE {_holder(word)}" if word & HOLDERS else "nobody"


def _holder(word: int) -> int:
    return (word & HOLDERS) - 1


def _signed(word: int) -> int:
    """Return the low 64 bits of ``word`` as the value of an int64."""
    return (word + (1 << 63)) % (1 << 64) - (1 << 63)
