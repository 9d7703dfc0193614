"""Waiting and testing inside kernels: the device forms of ``ishmem.wait``.

A waiting kernel spins and cannot yield, so the PE or kernel that updates the variable must run at the same time.
"""

from __future__ import annotations

from typing import Any

from ishmem import wait
from ishmem.common.constants import Cmp
from ishmem.common.type_tables import WAIT_TYPES
from ishmem.common.violations import routine_number

from . import type_checks
from .atomic_instructions import atomic_load, memory_fence
from .forms import forms
from .intrinsics import address_of, compiled, from_one, group_barrier, item_bytes, rank_in, zero_of
from .long_waits import clear_wait_record, decremented, is_zero, must_end_wait, poll_limit, record_variable_wait
from .memory_orders import WAIT
from .runtime_checks import allowed, is_cmp, is_less, wanted_of

WAIT_UNTIL, TEST = map(routine_number, ("wait_until", "test"))

wait_fence = memory_fence(WAIT)
"""Fence after a wait: later loads are not older than the awaited update."""


@compiled
def compare(seen, cmp, wanted):
    """Return whether ``seen`` compares with ``wanted`` as ``cmp`` requires."""
    # Without branches: a chain of them on a 64-bit ``cmp`` becomes a switch, which crashes the OpenCL CPU runtime.
    less, greater = is_less(seen, wanted), is_less(wanted, seen)
    equal = not (less | greater)
    return (
        ((cmp == Cmp.EQ) & equal)
        | ((cmp == Cmp.NE) & (less | greater))
        | ((cmp == Cmp.GT) & greater)
        | ((cmp == Cmp.GE) & (greater | equal))
        | ((cmp == Cmp.LT) & less)
        | ((cmp == Cmp.LE) & (less | equal))
    )


@compiled
def poll_element(address, like, cmp, wanted):
    """Return the element at an address, as in ``like``, once ``cmp`` with ``wanted`` holds, or after `poll_limit`."""
    seen = atomic_load(address, like)
    if not compare(seen, cmp, wanted):
        left = poll_limit()
        while not compare(seen, cmp, wanted):
            left = decremented(left)
            if is_zero(left):
                break
            seen = atomic_load(address, like)
    return seen


def _check(routine: str, ivar: Any, cmp: Any, cmp_value: Any, index: Any) -> None:
    type_checks.array(routine, "ivar", ivar, WAIT_TYPES)
    type_checks.contiguous(routine, ivar=ivar)
    type_checks.member(routine, "cmp", cmp)
    type_checks.integer(routine, "index", index)
    type_checks.value(routine, "cmp_value", cmp_value, ivar.dtype)


# Model: tests/models/signal.pml.
@compiled
def await_element(routine, array, cmp, value, index, call_site):
    """Wait until ``cmp`` of element ``index`` of ``array`` with ``value`` holds, or a PE is lost; return the element.

    Wrong arguments are reported as those of routine number ``routine``, and 0 is returned at once.
    """
    wanted, recorded = wanted_of(array, value), False
    if not (allowed(routine, array, 0, index, 1) and is_cmp(routine, cmp)):
        return zero_of(array)
    address = address_of(array) + index * item_bytes(array)
    seen = poll_element(address, array, cmp, wanted)
    while not compare(seen, cmp, wanted):
        if must_end_wait():
            break
        recorded = record_variable_wait(array, index, seen, cmp, wanted, call_site, recorded)
        seen = poll_element(address, array, cmp, wanted)
    if recorded:
        clear_wait_record()
    wait_fence()
    return seen


# Model: tests/models/work_group.pml.
def _wait_until(ivar, cmp, cmp_value, group, index=0, call_site=None):
    group_barrier(group)
    if rank_in(group) == 0:
        await_element(WAIT_UNTIL, ivar, cmp, cmp_value, index, call_site)
    group_barrier(group)


# Model: tests/models/signal.pml.
@compiled
def is_true(ivar, cmp, value, index):
    """Return whether ``cmp`` of ``ivar[index]`` with ``value`` holds; False for wrong arguments, which are reported."""
    if not (allowed(TEST, ivar, 0, index, 1) and is_cmp(TEST, cmp)):
        return False
    address = address_of(ivar) + index * item_bytes(ivar)
    held = compare(atomic_load(address, ivar), cmp, wanted_of(ivar, value))
    if held:
        wait_fence()
    return held


def _test(ivar, cmp, cmp_value, group, index=0):
    group_barrier(group)
    # Only one work-item tests: the others could load a different value.
    held = from_one(group, rank_in(group) == 0 and is_true(ivar, cmp, cmp_value, index))
    group_barrier(group)
    return held


forms(wait, "wait_until", _check, _wait_until)
forms(wait, "test", _check, _test)
