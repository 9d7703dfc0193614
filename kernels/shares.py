"""How the work-items of a group divide elements among themselves.

Work-items that a device executes in lock-step, as many as its *SIMD width* (Level Zero's ``physicalEUSimdWidth``), form
a bundle. Each bundle takes consecutive elements, and its work-items take them in turn, so their accesses fall into the
same messages and cache lines. A GPU's width is 8 or 16. A device that executes one work-item after the other, as the
simulated one, has a width of 1, and each work-item takes consecutive elements.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types

from .intrinsics import I32, I64, compiled, device_intrinsic
from .spec_constants import simd_width

ROUGH = 16
"""Binary digits by which numbers of 2**32 elements or more are rounded up, so that a division takes 32 bits."""


@device_intrinsic
def _quotient(_context: Any, dividend: Any, divisor: Any) -> Any:
    """Return the quotient of two numbers below 2**32: a GPU divides 64-bit numbers in hundreds of instructions."""

    def code(_context: Any, builder: Any, _signature: Any, arguments: Any) -> ir.Value:
        return builder.zext(builder.udiv(*(builder.trunc(each, I32) for each in arguments)), I64)

    return types.int64(types.int64, types.int64), code


@compiled
def turns_of(count, size):
    """Return how many of ``count`` elements each of ``size`` work-items takes, rounded up."""
    digits = ROUGH if (count + size) >> 32 else 0
    unit = size << digits
    return _quotient((count + unit - 1) >> digits, size) << digits


@compiled
def work_item_share(count, rank, size):
    """Return the first of the elements that work-item ``rank`` of ``size`` takes, their distance, and an end."""
    if size == 1:
        return 0, 1, count
    if count <= size:
        return rank, size, count
    width, turns = simd_width(), turns_of(count, size)
    place = rank & (width - 1)
    before = rank - place
    width = min(width, size - before)
    return before * turns + place, width, min((before + width) * turns, count)
