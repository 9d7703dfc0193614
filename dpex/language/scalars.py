"""Functions of numbers and literals in kernels that numba implements for arrays and strings only, or not at all."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba.core import types
from numba.core.errors import TypingError
from numba.extending import overload

from ..compile.target import TARGET

# numba compares the parameters of each function with those of the implementation that it returns.
# mypy: disable-error-code="no-untyped-def"


@overload(np.clip, target=TARGET)
def _clip(a, a_min=None, a_max=None, min=None, max=None):
    """Return the implementation for a number, minimum(maximum(a, low), high), by which NaN stays NaN; else None."""

    def clip(a, a_min=None, a_max=None, min=None, max=None):
        if a_min is not None:  # numba removes branches that are unreachable with bounds of None
            a = np.maximum(a, a_min)
        if min is not None:
            a = np.maximum(a, min)
        if a_max is not None:
            a = np.minimum(a, a_max)
        if max is not None:
            a = np.minimum(a, max)
        return a

    return clip if isinstance(a, (types.Number, types.Boolean)) else None


def _is_real(kind: Any) -> bool:
    return isinstance(kind, (types.Integer, types.Float, types.Boolean))


@overload(math.isclose, target=TARGET)
def _isclose(a, b, rel_tol=1e-09, abs_tol=0.0):
    if not (_is_real(a) and _is_real(b)):
        raise TypingError(f"isclose takes real numbers, got {a} and {b}")

    def close(a, b, rel_tol=1e-09, abs_tol=0.0):
        one, other = float(a), float(b)
        if rel_tol < 0 or abs_tol < 0:
            raise ValueError("tolerances must be non-negative")
        if one == other:
            return True
        if math.isinf(one) or math.isinf(other):
            return False
        largest = max(abs(one), abs(other))
        return abs(one - other) <= max(rel_tol * largest, abs_tol)

    return close


@overload(len, target=TARGET, prefer_literal=True)
def _length(text):
    if not isinstance(text, types.StringLiteral):
        return None
    length = len(text.literal_value)
    return lambda text: length
