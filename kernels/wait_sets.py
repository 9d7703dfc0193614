"""Waiting for and testing sets inside kernels: the device forms of ``ishmem.wait_sets``.

Each of all, any and some has one test and one wait. The ``_vector`` forms are the same code with an array of values to
compare with. In the ``_work_group`` forms one work-item tests or waits and broadcasts the result to its group.
``ivars`` are the variables, without those that ``status`` excludes; ``cmp`` compares each with ``wanted``, a value or
an array of values. All operations have the same parameters, so some do not use all.

Model: tests/models/signal.pml.
"""

from __future__ import annotations

from typing import Any

from numba.core import types

from ishmem import wait_sets
from ishmem.common import error_texts
from ishmem.common.type_tables import STANDARD, STATUS_TYPES, WAIT_TYPES
from ishmem.common.violations import SET_SIZE, argument_number, routine_number

from . import type_checks
from .atomic_instructions import atomic_load, atomic_load_word, atomic_store_word
from .forms import forms
from .intrinsics import address_of, compiled, device_function, from_one, group_barrier, rank_in, require
from .long_waits import SPINS, clear_wait_record, must_end_wait, record_set_wait, record_variable_wait, skipped_polls
from .options import CHECK
from .runtime_checks import allowed, is_cmp, report, wanted_of
from .spec_constants import turn_counter
from .wait import compare, wait_fence

WAIT, TEST = map(routine_number, ("wait_until_all, _any or _some", "test_all, _any or _some"))
INDICES, VALUES, STATUS = map(argument_number, ("indices", "cmp_values", "status"))


@device_function
def ignored(status, i):
    """Return whether ``status`` excludes variable ``i`` from the set."""
    if type_checks.absent(status):
        return lambda: False
    return lambda status, i: status[i] != 0


@device_function
def wanted_at(ivars, i, wanted):
    """Return the value to compare variable ``i`` with: ``wanted``, or its element ``i`` if it is an array of values."""
    if isinstance(wanted, types.Array):
        return lambda ivars, i, wanted: wanted[i]
    return lambda ivars, i, wanted: wanted_of(ivars, wanted)


@compiled
def variable(ivars, i):
    """Load variable ``i`` of a set by an atomic load; return it."""
    return atomic_load(address_of(ivars) + i * ivars.strides[0], ivars)


@compiled
def satisfied(ivars, i, cmp, wanted):
    """Return whether comparison ``cmp`` of variable ``i`` with ``wanted``, one value or an array of values, holds."""
    return compare(variable(ivars, i), cmp, wanted_at(ivars, i, wanted))


@compiled
def empty(ivars, status):
    """Return whether ``status`` excludes all variables."""
    for i in range(ivars.size):  # noqa: SIM110
        if not ignored(status, i):
            return False
    return True


@device_function
def has_size(routine, argument, given, ivars):
    """Return whether an array has an element for each variable, True for other arguments; report it if not."""
    if not CHECK or not isinstance(given, types.Array):
        return lambda: True

    def is_long_enough(routine, argument, given, ivars):
        if given.size == ivars.size or (argument == INDICES and given.size > ivars.size):
            return True
        report(routine, SET_SIZE, argument, 0, 0, given.size, ivars.size)
        return False

    return is_long_enough


@compiled
def is_set(routine, ivars, indices, cmp, wanted, status):
    """Return whether the arguments of a test of or wait for a set are allowed; report a violation if not."""
    fit = has_size(routine, INDICES, indices, ivars) and has_size(routine, VALUES, wanted, ivars)
    fit = fit and has_size(routine, STATUS, status, ivars)
    return fit and allowed(routine, ivars, 0, 0, ivars.size) and is_cmp(routine, cmp)


@device_function
def random_index(size):
    """Return a pseudo-random index below ``size``, so that no variable of a set is starved."""
    u64 = types.uint64
    golden, first, second = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB

    def draw(size):
        counter = turn_counter()
        calls = atomic_load_word(counter) + 1  # losing an update to another work-item is harmless
        atomic_store_word(counter, calls)
        mixed = u64(calls) * u64(golden)
        mixed = (mixed ^ (mixed >> u64(30))) * u64(first)
        mixed = (mixed ^ (mixed >> u64(27))) * u64(second)
        return types.int64((mixed ^ (mixed >> u64(31))) >> u64(1)) % size

    return draw


@compiled
def test_all(ivars, indices, cmp, wanted, status, call_site):
    """Return whether all variables of a set satisfy the comparison."""
    for i in range(ivars.size):
        if not ignored(status, i) and not satisfied(ivars, i, cmp, wanted):
            return False
    wait_fence()
    return True


@compiled
def test_any(ivars, indices, cmp, wanted, status, call_site):
    """Return the index of a variable that satisfies the comparison, or -1; the search begins at a random index."""
    i = random_index(ivars.size) if ivars.size > 1 else 0
    for _ in range(ivars.size):
        if not ignored(status, i) and satisfied(ivars, i, cmp, wanted):
            wait_fence()
            return i
        i = i + 1 if i + 1 < ivars.size else 0
    return -1


@compiled
def test_some(ivars, indices, cmp, wanted, status, call_site):
    """Store the indices of all variables that satisfy the comparison in ``indices``; return their number."""
    count = 0
    for i in range(ivars.size):
        if not ignored(status, i) and satisfied(ivars, i, cmp, wanted):
            indices[count] = i
            count += 1
    if count:
        wait_fence()
    return count


@compiled
def wait_until_all(ivars, indices, cmp, wanted, status, call_site):
    """Wait until all variables of a set satisfy the comparison or a PE is lost; return True."""
    recorded = False
    for i in range(ivars.size):
        if not ignored(status, i) and not satisfied(ivars, i, cmp, wanted):
            spins = skipped_polls()
            while not satisfied(ivars, i, cmp, wanted):
                spins += 1
                if spins & SPINS == 0:
                    if must_end_wait():
                        break
                    seen, value = variable(ivars, i), wanted_at(ivars, i, wanted)
                    recorded = record_variable_wait(ivars, i, seen, cmp, value, call_site, recorded)
    if recorded:
        clear_wait_record()
    wait_fence()
    return True


def _until(test: Any, nothing: int) -> Any:
    """Make the wait that repeats ``test`` while it returns ``nothing``; a wait for an empty set returns at once."""

    @compiled
    def wait_until(ivars, indices, cmp, wanted, status, call_site):
        result, recorded = test(ivars, indices, cmp, wanted, status, None), False
        if result == nothing and not empty(ivars, status):
            spins = skipped_polls()
            while result == nothing:
                spins += 1
                if spins & SPINS == 0:
                    if must_end_wait():
                        break
                    recorded = record_set_wait(ivars.size, call_site, recorded)
                result = test(ivars, indices, cmp, wanted, status, None)
            if recorded:
                clear_wait_record()
        return result

    return wait_until


def _check(
    routine: str, ivars: Any, cmp: Any, cmp_value: Any = None, cmp_values: Any = None, status: Any = None, **others: Any
) -> None:
    type_checks.member(routine, "cmp", cmp)
    type_checks.array(routine, "ivars", ivars, WAIT_TYPES)
    require(ivars.ndim == 1, f"{routine}: ivars has {ivars.ndim} dimensions; pass a 1-D array or slice")
    if cmp_values is not None:
        type_checks.array(routine, "cmp_values", cmp_values, WAIT_TYPES)
        unlike = error_texts.unlike_dtypes("ivars", ivars.dtype, "cmp_values", cmp_values.dtype)
        require(cmp_values.dtype == ivars.dtype, unlike)
    else:
        type_checks.value(routine, "cmp_value", cmp_value, ivars.dtype)
    if not type_checks.absent(status):
        type_checks.array(routine, "status", status, STATUS_TYPES)
    for name, kind in others.items():
        type_checks.array(routine, name, kind, STANDARD)


def _make_body(routine: int, operation: Any, refused: int) -> Any:
    """Make the body of a test or wait: only one work-item runs ``operation``, as others could load different values.

    It returns ``refused`` if an argument is not allowed.
    """
    others = False if isinstance(refused, bool) else 0

    def body(ivars, indices, cmp, cmp_value, group, status=None, call_site=None):
        group_barrier(group)
        found = others
        if rank_in(group) == 0:
            found = refused
            if is_set(routine, ivars, indices, cmp, cmp_value, status):
                found = operation(ivars, indices, cmp, cmp_value, status, call_site)
        found = from_one(group, found)
        group_barrier(group)
        return found

    return body


def _register(name: str, operation: Any, refused: int, **changes: None) -> None:
    """Register a test or wait of sets and its vector form, each for a work-item and for a group."""
    body = _make_body(WAIT if name.startswith("wait") else TEST, operation, refused)
    forms(wait_sets, name, _check, body, **changes)
    forms(wait_sets, f"{name}_vector", _check, body, cmp_value="cmp_values", **changes)


_register("test_all", test_all, False, call_site=None)
_register("test_any", test_any, -1, call_site=None)
_register("test_some", test_some, 0, call_site=None)
_register("wait_until_all", wait_until_all, True)
_register("wait_until_any", _until(test_any, -1), -1)
_register("wait_until_some", _until(test_some, 0), 0)
