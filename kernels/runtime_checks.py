"""Argument checks inside kernels.

The sizes of the arrays of puts and gets are always checked; the other checks are compiled in only if ``ISHMEM_CHECK``
is set. An operation that fails its check is skipped. The first failure is recorded in this PE's heap, where the host
finds it: see ``ishmem.common.violations``.
"""

from __future__ import annotations

from typing import Any

from numba.core import types

from ishmem.common.type_tables import RMA_TYPES
from ishmem.common.violations import (
    MISFIT,
    NO_MEMBER,
    NO_PE,
    NO_TEAM_PE,
    NOT_SYMMETRIC,
    OPTIONS,
    OUTSIDE,
    Violation,
)

from . import type_checks
from .integers import fits_dtype
from .intrinsics import (
    address_of,
    atomic_exchange_word,
    atomic_store_flag,
    atomic_store_word,
    compiled,
    device_function,
    item_bytes,
    work_item,
)
from .options import CHECK
from .regions import is_symmetric
from .spec_constants import pe_count, violation_record

_COMPLETE, _ROUTINE, _PROBLEM, _PE, _ADDRESS, _FIRST, _COUNT, _SIZE = map(Violation.at, Violation._fields[1:9])
_ITEM = Violation.at("item")


@compiled
def own_array_fits(routine, address, size, item, count):
    """Return whether an array of ``size`` elements of ``item`` bytes is symmetric and ``count`` is at most ``size``."""
    problem = OUTSIDE if is_symmetric(address, size * item) else NOT_SYMMETRIC
    if problem == OUTSIDE and 0 <= count <= size:
        return True
    report(routine, problem, -1, address, 0, count, size)
    return False


@compiled
def allowed(routine, array, pe, first, count):
    """Return whether ``pe`` exists, the array is symmetric, and ``count`` elements from ``first`` lie in it."""
    if not CHECK:
        return True
    address = address_of(array)
    if pe < 0 or pe >= pe_count():
        problem = NO_PE
    elif not is_symmetric(address, array.size * item_bytes(array)):
        problem = NOT_SYMMETRIC
    elif first < 0 or count < 0 or first + count > array.size:
        problem = OUTSIDE
    else:
        return True
    report(routine, problem, pe, address, first, count, array.size)
    return False


@device_function
def are_pes(routine, pes):
    """Return whether a number, or all numbers of a tuple or an array, are PE numbers."""
    if not CHECK:
        return lambda routine, pes: True
    if isinstance(pes, types.Integer):
        return lambda routine, pes: _is_pe(routine, pes)
    if isinstance(pes, types.BaseTuple) and not pes.count:
        return lambda routine, pes: True
    if isinstance(pes, types.BaseTuple):  # no loop: LLVM makes a switch of an odd width of it, on which compilers crash
        return lambda routine, pes: _is_pe(routine, pes[0]) and are_pes(routine, pes[1:])

    def impl(routine, pes):
        good = True
        for pe in pes:
            good = good and _is_pe(routine, pe)
        return good

    return impl


@compiled
def _is_pe(routine, pe):
    if 0 <= pe < pe_count():
        return True
    report(routine, NO_PE, pe, 0, 0, 0, 0)
    return False


@compiled
def is_team_pe(routine, argument, pe, size):
    """Return whether a number, passed as an argument, is that of a PE of a team of ``size``."""
    if 0 <= pe < size:
        return True
    report(routine, NO_TEAM_PE, pe, 0, argument, 0, size)
    return False


@compiled
def fits(routine, array, pe, count):
    """Return whether an array of PE ``pe``, or of this PE if it is -1, has at least ``count`` elements."""
    if 0 <= count <= array.size:
        return True
    report(routine, OUTSIDE, pe, address_of(array), 0, count, array.size)
    return False


@compiled
def both_fit(dest, source, count):
    """Return whether both arrays have ``count`` elements, without a branch."""
    return (count >= 0) & (count <= dest.size) & (count <= source.size)


@compiled
def have_room(routine, dest, source, pe, count, problem):
    """Return whether both arrays have ``count`` elements; report ``problem`` if not, `SIZES` or `NELEMS`."""
    if both_fit(dest, source, count):
        return True
    report(routine, problem, pe, address_of(dest), dest.size, count, source.size)
    return False


@device_function
def value_fits(routine, array, value):
    """Return whether a number to be stored is a value of an array's dtype."""
    if not CHECK or type_checks.holds(array.dtype, value):
        return lambda routine, array, value: True
    number, unsigned = RMA_TYPES.index(str(array.dtype)), int(not value.signed)

    def impl(routine, array, value):
        if fits_dtype(array, value):
            return True
        report(routine, MISFIT, number, 0, types.int64(value), 0, unsigned)
        return False

    return impl


def _option(name: str) -> Any:
    """Make the check of an argument that is one of the constants."""
    number, first, last = list(OPTIONS).index(name), int(min(OPTIONS[name])), int(max(OPTIONS[name]))

    @device_function
    def is_member(routine, value):
        """Return whether the value of an integer is one of the constants; they have successive values."""
        if not CHECK or not isinstance(value, types.Integer):
            return lambda routine, value: True

        def impl(routine, value):
            if first <= value <= last:
                return True
            report(routine, NO_MEMBER, number, 0, types.int64(value), 0, 0)
            return False

        return impl

    return is_member


is_cmp, is_sig_op, is_order = map(_option, OPTIONS)


@compiled
def report(routine, problem, pe, address, first, count, size):
    """Record a violation, unless one is recorded already."""
    record = violation_record()
    if atomic_exchange_word(record, 1) == 0:
        atomic_store_word(record + _ROUTINE, routine)
        atomic_store_word(record + _PROBLEM, problem)
        atomic_store_word(record + _PE, pe)
        atomic_store_word(record + _ADDRESS, address)
        atomic_store_word(record + _FIRST, first)
        atomic_store_word(record + _COUNT, count)
        atomic_store_word(record + _SIZE, size)
        atomic_store_word(record + _ITEM, work_item() + 1)
        atomic_store_flag(record + _COMPLETE, 1)
