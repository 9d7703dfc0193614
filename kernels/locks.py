"""Locks inside kernels: the device forms of ``ishmem.locks``. Host and kernels share the lock words.

``clear_lock`` does nothing when this PE does not hold the lock.
"""

from __future__ import annotations

from typing import Any

from ishmem import amo, locks
from ishmem.common.violations import NO_LOCK, routine_number
from ishmem.locks import HOLDERS, ITEM, NEXT, SERVING, TICKETS

from . import type_checks
from .atomic_instructions import memory_fence
from .forms import form
from .intrinsics import address_of, compiled
from .long_waits import SPINS, clear_wait_record, must_end_wait, record_lock_wait, skipped_polls
from .memory_orders import LOCKED
from .options import CHECK
from .peers import base_of
from .proxy import complete
from .runtime_checks import allowed, report
from .spec_constants import pe_count, this_pe

SET_LOCK, TEST_LOCK, CLEAR_LOCK = map(routine_number, ("set_lock", "test_lock", "clear_lock"))

lock_fence = memory_fence(LOCKED)


def _check(routine: str, lock: Any, index: Any) -> None:
    type_checks.array(routine, "lock", lock, ("int64",))
    type_checks.contiguous(routine, lock=lock)
    type_checks.integer(routine, "index", index)


@compiled
def home_of(lock, index):
    """Return the PE that holds the word of element ``index`` of array ``lock``; see ``ishmem.locks.find``."""
    return ((address_of(lock) - base_of(address_of(lock))) // ITEM + index) % pe_count()


@compiled
def is_lock(routine, lock, index, word):
    """Return whether ``word`` may be a lock's (``ishmem.locks.is_possible``), True if not checked; report it if not."""
    if not CHECK:
        return True
    holder = word & HOLDERS
    if holder == 0 or (holder <= pe_count() and ((word >> SERVING) ^ (word >> NEXT)) & TICKETS != 0):
        return True
    report(routine, NO_LOCK, -1, address_of(lock), index, word, lock.size)
    return False


# Model: tests/models/lock.pml.
def _set_lock(lock, index=0, call_site=None):
    home, recorded = home_of(lock, index), False
    if not allowed(SET_LOCK, lock, home, index, 1):
        return
    word = amo.atomic_fetch_add(lock, 1 << NEXT, home, index)
    if not is_lock(SET_LOCK, lock, index, word):
        amo.atomic_fetch_add(lock, -(1 << NEXT), home, index)
        return
    ticket = (word >> NEXT) & TICKETS
    word = amo.atomic_fetch(lock, home, index)
    spins = skipped_polls() if (word >> SERVING) & TICKETS != ticket else 0
    while (word >> SERVING) & TICKETS != ticket:
        spins += 1
        if spins & SPINS == 0:
            if must_end_wait():
                if recorded:
                    clear_wait_record()
                return
            recorded = record_lock_wait((word & HOLDERS) - 1, index, call_site, recorded)
        word = amo.atomic_fetch(lock, home, index)
    if recorded:
        clear_wait_record()
    amo.atomic_fetch_add(lock, this_pe() + 1, home, index)  # unlike atomic_add, never held by the proxy
    lock_fence()


# Model: tests/models/lock.pml.
def _test_lock(lock, index=0):
    home = home_of(lock, index)
    if not allowed(TEST_LOCK, lock, home, index, 1):
        return False
    word = amo.atomic_fetch(lock, home, index)
    if not is_lock(TEST_LOCK, lock, index, word):
        return False
    if word & HOLDERS != 0 or ((word >> SERVING) ^ (word >> NEXT)) & TICKETS != 0:
        return False
    taken = word + (1 << NEXT) + (this_pe() + 1)
    if amo.atomic_compare_swap(lock, word, taken, home, index) != word:
        return False
    lock_fence()
    return True


# Model: tests/models/lock.pml.
def _clear_lock(lock, index=0):
    me, home = this_pe(), home_of(lock, index)
    if not allowed(CLEAR_LOCK, lock, home, index, 1):
        return
    word = amo.atomic_fetch(lock, home, index)
    if is_lock(CLEAR_LOCK, lock, index, word) and word & HOLDERS == me + 1:
        complete()
        give = (1 << SERVING) - (me + 1)
        if (word >> SERVING) & TICKETS == TICKETS:  # avoid a carry into the next-ticket field
            give -= 1 << NEXT
        amo.atomic_fetch_add(lock, give, home, index)


form(locks.set_lock, _check, _set_lock)
form(locks.test_lock, _check, _test_lock)
form(locks.clear_lock, _check, _clear_lock)
