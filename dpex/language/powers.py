"""Powers of real numbers by integers, and powers and quotients of complex numbers, with the results of numpy.

numba multiplies, and inverts at the end: ``2.0 ** -1074`` is 0 there, since ``2.0 ** 1074`` is infinite.
"""

from __future__ import annotations

import cmath
import math
from typing import Any

from numba.core import types
from numba.core.typing import signature
from numba.extending import register_jitable
from numba.np.npyfuncs import np_complex_div_impl

from ..compile.spirv_calls import I1
from ..compile.target import overrides, target
from .integer_types import range_of
from .integers import integer_power, with_in_place

_MULTIPLIED = range(17)
"""Constant exponents for which multiplications are as exact as the device's function, and faster."""

_ODD = 1 << 53
"""Exponents from here on count as even, as in Python, where they are converted to floats."""


def _rule(kinds: Any) -> Any:
    """Return the signature of a power of a float by an integer, or of integers; ``None`` for other operand types."""
    if len(kinds) != 2 or not isinstance(kinds[0], types.Float) or kinds[0].bitwidth == 16:
        return integer_power(kinds)
    exponent = range_of(kinds[1])
    if exponent is None or (isinstance(kinds[1], types.Literal) and exponent.low in _MULTIPLIED):
        return None
    return signature(kinds[0], kinds[0], types.uint64 if exponent.is_wide else types.int64)


def _real(context: Any, builder: Any, made: Any, arguments: Any) -> Any:
    """Emit and return a power of a float by an integer; whether that is odd is tested before it becomes a float."""
    kind, (base, exponent) = made.return_type, arguments

    def power(base: Any, exponent: Any) -> Any:
        is_odd = exponent & 1 and abs(exponent) < _ODD
        size = math.pow(abs(base), kind(exponent))
        return -size if is_odd and math.copysign(1.0, base) < 0 else size

    found = context.compile_internal(builder, power, made, arguments)
    is_inverse = builder.icmp_signed("==", exponent, exponent.type(-1)) if made.args[1].signed else I1(0)
    return builder.select(is_inverse, builder.fdiv(base.type(1.0), base), found)


@register_jitable  # type: ignore[untyped-decorator, unused-ignore]
def _complex(one: complex, base: complex, exponent: complex) -> complex:
    if exponent == 0:
        return one
    if base == 0:
        return base * 0 if exponent.imag == 0 and exponent.real > 0 else base * math.nan + math.nan * 1j
    if exponent.imag != 0 or exponent.real != math.floor(exponent.real) or abs(exponent.real) >= 100:
        return cmath.exp(exponent * cmath.log(base))
    left, factor = int(abs(exponent.real)), base
    result = one
    while left:
        if left & 1:
            result = result * factor
        left >>= 1
        if left:
            factor = factor * factor
    if exponent.real > 0:
        return result
    return 1 / result if result != 0 else complex(math.inf, math.nan)


def complex_power(context: Any, builder: Any, made: Any, arguments: Any) -> Any:
    """Emit and return a power of complex numbers."""
    kind = made.return_type

    def power(base: complex, exponent: complex) -> complex:
        return _complex(kind(1), base, exponent)  # type: ignore[no-any-return]

    return context.compile_internal(builder, power, made, arguments)


def _register() -> None:
    for function in (*with_in_place("pow"), pow):
        target.typing_context.rules[function] = _rule
        for kind in (types.int64, types.uint64):
            overrides.lower(function, types.Float, kind)(_real)
        overrides.lower(function, types.Complex, types.Complex)(complex_power)
    for function in with_in_place("truediv"):  # numba's raises ZeroDivisionError
        overrides.lower(function, types.Complex, types.Complex)(np_complex_div_impl)


_register()
