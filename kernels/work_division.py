"""How the work-items of a group divide elements among themselves.

A GPU executes several work-items in lockstep: its *SIMD width* (Level Zero's ``physicalEUSimdWidth``). There the
work-items of a group take elements in turn, so that those executed together access adjacent ones. A device that
executes one work-item after the other, as the simulated one, has a width of 1. There each takes consecutive elements:
in turn, each work-item would load all cache lines again.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from numba.core import types

from .intrinsics import I32, I64, IntrinsicCode, compiled, device_intrinsic, rank_in, size_of
from .spec_constants import simd_width

ROUGH = 16
"""Binary digits by which to round up numbers of 2**32 elements or more, so that a division has 32-bit operands."""


class Workers(NamedTuple):
    """The work-items that divide work among themselves: this one is number ``rank`` of ``width``.

    Code for one work-item has ``Workers(0, 1)``, which compilers treat as a constant.
    """

    rank: int
    width: int


@compiled
def workers_of(group):
    """Return the work-items of the calling group, or the only one where ``group`` is None."""
    return Workers(rank_in(group), size_of(group))


@device_intrinsic
def _quotient(dividend: Any, divisor: Any) -> Any:
    """Return the quotient of two numbers below 2**32: a GPU needs hundreds of instructions to divide 64-bit numbers."""

    def emit(code: IntrinsicCode, *numbers):
        return code.builder.zext(code.builder.udiv(*(code.builder.trunc(each, I32) for each in numbers)), I64)

    return types.int64(types.int64, types.int64), emit


@compiled
def turns_of(count, size):
    """Return the number of elements for each of ``size`` work-items that divide ``count``, rounded up."""
    digits = ROUGH if (count + size) >> 32 else 0
    unit = size << digits
    return _quotient((count + unit - 1) >> digits, size) << digits


@compiled
def work_item_share(count, rank, size):
    """Return the elements of ``count`` that work-item ``rank`` of ``size`` processes, as start, step and stop."""
    if size == 1:
        return 0, 1, count
    if count <= size or simd_width() != 1:
        return rank, size, count
    turns = turns_of(count, size)
    return rank * turns, 1, min((rank + 1) * turns, count)
