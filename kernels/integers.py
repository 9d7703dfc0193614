"""Comparisons of integers of any two types by their values.

numba compares a signed with an unsigned integer of 64 bits as float64: not exact, and not every device has float64.
"""

from __future__ import annotations

from typing import Any

from numba.core import types

from . import type_checks
from .intrinsics import device_function


@device_function
def is_less(a, b):
    """Return whether ``a < b``."""
    if a == types.uint64 and _is_signed(b):
        return lambda a, b: (b >= 0) & (a < types.uint64(b))
    if b == types.uint64 and _is_signed(a):
        return lambda a, b: (a < 0) | (types.uint64(a) < b)
    return lambda a, b: a < b


def _is_signed(kind: Any) -> bool:
    return isinstance(kind, types.Integer) and kind.signed


@device_function
def fits_dtype(array, value):
    """Return whether a number is a value of the dtype of an array; numbers that are not integers are converted."""
    dtype = array.dtype
    if type_checks.holds(dtype, value):
        return lambda array, value: True
    return lambda array, value: not (is_less(dtype(value), value) | is_less(value, dtype(value)))


@device_function
def wanted_of(array, value):
    """Return the value to compare elements of an array with: in their dtype, or unchanged if it may not fit."""
    dtype = array.dtype
    if type_checks.holds(dtype, value):
        return lambda array, value: dtype(value)
    return lambda array, value: value
