"""LLVM code of integer operations, defined for all operands, with numpy's results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numba.core import cgutils

Emit = Callable[[Any, Any, Any, Any], Any]
"""Emits an operation, as in numba: given target context, builder, signature and argument values; returns its value."""


def shifted(builder: Any, is_left: bool, is_signed: bool, value: Any, count: Any) -> Any:
    """Emit and return a shift; a count that is not below the width gives 0, or -1 for a negative value to the right."""
    width = value.type.width
    fits = builder.icmp_unsigned("<", count, count.type(width))
    few = builder.select(fits, count, count.type(width - 1))
    if few.type.width > width:
        few = builder.trunc(few, value.type)
    if not is_left and is_signed:
        return builder.ashr(value, few)
    code = builder.shl if is_left else builder.lshr
    return builder.select(fits, code(value, few), value.type(0))


def shift(is_left: bool) -> Emit:
    """Return the code of a left or, if not ``is_left``, right shift; the operand has the type of the result."""
    return lambda _context, builder, made, arguments: shifted(builder, is_left, made.return_type.signed, *arguments)


def divided(builder: Any, kinds: Sequence[Any], values: Sequence[Any]) -> tuple[Any, Any]:
    """Emit and return quotient, rounded down, and remainder; for a divisor of zero, both are zero.

    Args:
        builder: The builder.
        kinds: The types of dividend and divisor, of one width.
        values: The LLVM values of dividend and divisor.
    """
    x, y = values
    zero, one = x.type(0), x.type(1)
    is_zero = builder.icmp_signed("==", y, zero)
    y = builder.select(is_zero, one, y)
    if not any(each.signed for each in kinds):
        found = builder.udiv(x, y), builder.urem(x, y)
    elif all(each.signed for each in kinds):
        found = _signed(builder, x, y)
    else:
        found = _mixed(builder, kinds, x, y)
    quotient, remainder = (builder.select(is_zero, zero, each) for each in found)
    return quotient, remainder


def division(part: int) -> Emit:
    """Return the code of a quotient, for ``part`` 0, or of a remainder, for ``part`` 1."""
    return lambda _context, builder, made, arguments: divided(builder, made.args, arguments)[part]


def quotient_and_remainder(_context: Any, builder: Any, made: Any, arguments: Any) -> Any:
    """Emit and return the pair of ``divmod``."""
    return cgutils.pack_array(builder, divided(builder, made.args, arguments))


def _signed(builder: Any, x: Any, y: Any) -> tuple[Any, Any]:
    zero, one = x.type(0), x.type(1)
    is_minus = builder.icmp_signed("==", y, y.type(-1))  # the smallest value by -1 is undefined for sdiv
    by = builder.select(is_minus, one, y)
    quotient, rest = builder.sdiv(x, by), builder.srem(x, by)
    is_off = builder.and_(
        builder.icmp_signed("!=", rest, zero), builder.icmp_signed("<", builder.xor(rest, by), zero)
    )  # fmt: skip
    quotient = builder.select(is_off, builder.sub(quotient, one), quotient)
    rest = builder.select(is_off, builder.add(rest, by), rest)
    return builder.select(is_minus, builder.neg(x), quotient), rest


def _mixed(builder: Any, kinds: Sequence[Any], x: Any, y: Any) -> tuple[Any, Any]:
    """Emit quotient and remainder if exactly one operand is signed, by an unsigned division of their magnitudes."""
    zero, one = x.type(0), x.type(1)
    signs = [builder.icmp_signed("<", each, zero) if its.signed else None for its, each in zip(kinds, (x, y))]
    a, b = (
        each if sign is None else builder.select(sign, builder.neg(each), each) for sign, each in zip(signs, (x, y))
    )
    quotient, rest = builder.udiv(a, b), builder.urem(a, b)
    is_negative = next(each for each in signs if each is not None)
    is_exact = builder.icmp_signed("==", rest, zero)
    down = builder.select(is_exact, quotient, builder.add(quotient, one))
    other = builder.select(is_exact, zero, builder.sub(b, rest))
    quotient = builder.select(is_negative, builder.neg(down), quotient)
    rest = builder.select(is_negative, other, rest)
    return quotient, rest if signs[1] is None else builder.select(is_negative, builder.neg(rest), rest)


def _power(base: int, exponent: int) -> int:
    """Return the power; the exponent is unsigned."""
    result: int = base**0
    while exponent:
        if exponent & 1:
            result *= base
        exponent >>= 1
        base *= base
    return result


def power(context: Any, builder: Any, made: Any, arguments: Any) -> Any:
    """Emit and return an integer power with a nonnegative exponent."""
    return context.compile_internal(builder, _power, made, arguments)


def constant_power(_context: Any, builder: Any, made: Any, arguments: Any) -> Any:
    """Emit and return an integer power with a nonnegative constant exponent, as multiplications."""
    value, left = arguments[0], made.args[1].literal_value
    result = value.type(1)
    while left:
        result = builder.mul(result, value) if left & 1 else result
        value, left = builder.mul(value, value), left >> 1
    return result


def sign(builder: Any, is_signed: bool, value: Any) -> Any:
    """Emit and return the sign of an integer ``value``: -1 (only if ``is_signed``), 0 or 1."""
    zero, one = value.type(0), value.type(1)
    positive = builder.select(builder.icmp_signed("==", value, zero), zero, one)
    return builder.select(builder.icmp_signed("<", value, zero), value.type(-1), positive) if is_signed else positive


def truncated_remainder(builder: Any, is_signed: bool, x: Any, y: Any) -> Any:
    """Emit and return the remainder of ``x`` by ``y``, with the sign of ``x``; it is zero for a ``y`` of zero."""
    zero, one = x.type(0), x.type(1)
    is_zero = builder.icmp_signed("==", y, zero)
    is_minus = builder.icmp_signed("==", y, y.type(-1)) if is_signed else is_zero
    by = builder.select(builder.or_(is_zero, is_minus), one, y)
    return builder.select(is_zero, zero, (builder.srem if is_signed else builder.urem)(x, by))
