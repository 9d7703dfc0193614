"""``round`` in kernels with Python's results: to the nearest decimal number, ties to even.

numba rounds ``x * 10**n``, which is itself rounded: 1.115 becomes 1.12, though the float is 1e-16 below the tie.
"""

from __future__ import annotations

import math
from typing import Any

from numba.core import types
from numba.core.typing import signature
from numba.extending import register_jitable

from ..compile.target import overrides, target
from .extending import add_function
from .integer_types import range_of
from .mathematics import opencl

_EXACT = 22
"""The exponent of the largest power of ten that a float64 represents exactly."""
_WHOLE = 2.0**53
"""If the scaled number is at least this large, it is an integer, so there is nothing to round."""


def _fma(x: float, y: float, z: float) -> float:
    """Return ``x * y + z``, rounded once; kernels call OpenCL's ``fma`` instead."""
    raise NotImplementedError


@register_jitable  # type: ignore[untyped-decorator, unused-ignore]
def _ten_to(digits: int) -> float:
    scale = 1.0
    for _ in range(digits):
        scale *= 10.0
    return scale


@register_jitable  # type: ignore[untyped-decorator, unused-ignore]
def _nearest(y: float, error: float) -> float:
    """Return the integer nearest to ``y + error``, ties to even; ``y`` is that sum rounded to a float64."""
    low = math.floor(y)
    rest = y - low
    if rest != 0.5:
        return low + (rest > 0.5)
    return low + (error > 0 or (error == 0 and low & 1))


def _real(x: float, digits: int) -> float:
    if x == 0 or x - x != 0 or digits > 323:
        return x
    if digits < -308:
        return math.copysign(0.0, x)
    count = abs(digits)
    exact, more = _ten_to(min(count, _EXACT)), _ten_to(max(count - _EXACT, 0))
    y = x * exact * more if digits >= 0 else x / exact / more
    if abs(y) >= _WHOLE:
        return x
    error = 0.0
    if more == 1.0:
        error = _fma(x, exact, -y) if digits >= 0 else _fma(-y, exact, x)
    whole = _nearest(y, error)
    return math.copysign(whole / more / exact if digits >= 0 else whole * exact * more, x)


def _integer(x: int, digits: int) -> int:
    """Return the multiple of ``10**-digits`` nearest to ``x``, ties to even; ``x`` if ``digits`` is not negative."""
    if digits >= 0:
        return x
    scale = x * 0 + 1
    for _ in range(-digits):
        if scale * 10 // 10 != scale:  # more than any number of the type
            return x * 0
        scale *= 10
    quotient, rest = divmod(x, scale)
    if rest > scale - rest or (rest == scale - rest and quotient & 1):
        quotient += 1
    return quotient * scale


def _rule(kinds: Any) -> Any:
    number, digits = kinds[0], range_of(kinds[1]) if len(kinds) == 2 else None
    if len(kinds) > 2 or (len(kinds) == 2 and digits is None):
        return None
    values = range_of(number)
    if values is not None:
        kind = types.uint64 if values.is_wide else types.int64
        return signature(kind, kind, *[types.int64] * (len(kinds) - 1))
    if digits is None or not isinstance(number, types.Float):
        return None
    return signature(number, types.float64, types.int64)


def _emit_real(context: Any, builder: Any, made: Any, arguments: Any) -> Any:
    found = context.compile_internal(builder, _real, signature(types.float64, *made.args), arguments)
    return context.cast(builder, found, types.float64, made.return_type)


def _emit_integer(context: Any, builder: Any, made: Any, arguments: Any) -> Any:
    return context.compile_internal(builder, _integer, made, arguments)


def _register() -> None:
    add_function(_fma, opencl("fma"))
    target.typing_context.rules[round] = _rule
    overrides.lower(round, types.Float, types.Integer)(_emit_real)
    overrides.lower(round, types.Integer, types.Integer)(_emit_integer)
    overrides.lower(round, types.Integer)(lambda _context, _builder, _made, arguments: arguments[0])


_register()
