"""Locks inside kernels: the device forms of ``ishmem.locks``, on the same words.

``clear_lock`` of a lock that this PE does not have does nothing.
"""

from __future__ import annotations

from typing import Any

from ishmem import amo, locks
from ishmem.locks import HOLDERS, NEXT, SERVING, TICKETS

from . import arguments, state
from .intrinsics import device, fence


def _check(routine: str, lock: Any, index: Any) -> tuple[int, int]:
    """Check the types; return number and count of PEs."""
    arguments.array(routine, "lock", lock, ("int64",))
    arguments.contiguous(routine, lock=lock)
    arguments.integer(routine, "index", index)
    here = state.current()
    return here.pe, here.n_pes


@device(locks.set_lock)
def _set_lock(lock, index=0):
    me, n_pes = _check("set_lock", lock, index)

    def impl(lock, index=0):
        home = index % n_pes
        ticket = (amo.atomic_fetch_add(lock, 1 << NEXT, home, index) >> NEXT) & TICKETS
        while (amo.atomic_fetch(lock, home, index) >> SERVING) & TICKETS != ticket:
            pass
        amo.atomic_add(lock, me + 1, home, index)
        fence()

    return impl


@device(locks.test_lock)
def _test_lock(lock, index=0):
    me, n_pes = _check("test_lock", lock, index)

    def impl(lock, index=0):
        home = index % n_pes
        word = amo.atomic_fetch(lock, home, index)
        if word & HOLDERS != 0 or ((word >> SERVING) ^ (word >> NEXT)) & TICKETS != 0:
            return False
        taken = word + (1 << NEXT) + (me + 1)
        if amo.atomic_compare_swap(lock, word, taken, home, index) != word:
            return False
        fence()
        return True

    return impl


@device(locks.clear_lock)
def _clear_lock(lock, index=0):
    me, n_pes = _check("clear_lock", lock, index)

    def impl(lock, index=0):
        home = index % n_pes
        word = amo.atomic_fetch(lock, home, index)
        if word & HOLDERS == me + 1:
            fence()
            give = (1 << SERVING) - (me + 1)
            if (word >> SERVING) & TICKETS == TICKETS:  # must not carry into the next ticket
                give -= 1 << NEXT
            amo.atomic_add(lock, give, home, index)

    return impl
