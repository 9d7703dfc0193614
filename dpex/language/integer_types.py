"""Result types of operators on integers.

Integers are computed as int64, or as uint64 if one operand needs it. The possible values of an operand are a range: all
values of its type, or one value for a constant. The result has the type that contains all possible results; if there is
none, it wraps as in numpy, or there is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from numba.core import types
from numba.core.errors import NumbaTypeError


class NoTypeError(NumbaTypeError):  # type: ignore[misc]
    """No integer type contains all possible results of an operator, or all values assigned to a variable."""


class IntegerRange(NamedTuple):
    """The integers from ``low`` to ``high``, both included."""

    low: int
    high: int

    @property
    def is_natural(self) -> bool:
        """Whether all values are nonnegative."""
        return self.low >= 0

    @property
    def is_wide(self) -> bool:
        """Whether the values fit into uint64 but not into int64."""
        return INT64.high < self.high and UINT64.holds(self)

    def holds(self, other: IntegerRange) -> bool:
        """Return whether this range contains all values of another one."""
        return self.low <= other.low and other.high <= self.high


INT64, UINT64 = IntegerRange(-(1 << 63), (1 << 63) - 1), IntegerRange(0, (1 << 64) - 1)
COUNTS = IntegerRange(0, 63)
"""The shift counts that are less than the width of 64 bits."""


class Natural(types.Integer):  # type: ignore[misc]
    """The type of an int64 operand that `dpex.compile.nonnegative` has found nonnegative; not a type of variables."""

    def __init__(self) -> None:
        super().__init__("int64 from 0 on", 64, signed=True)


def range_of(kind: Any) -> IntegerRange | None:
    """Return the range of the values of type ``kind``, one for a literal; ``None`` if it is no integer or boolean."""
    if isinstance(kind, (types.IntegerLiteral, types.BooleanLiteral)):
        return IntegerRange(int(kind.literal_value), int(kind.literal_value))
    if isinstance(kind, types.Boolean):
        return IntegerRange(0, 1)
    if isinstance(kind, types.IntEnumMember):
        return range_of(kind.dtype)
    if isinstance(kind, Natural):
        return IntegerRange(0, INT64.high)
    if isinstance(kind, types.Integer):
        return IntegerRange(int(kind.minval), int(kind.maxval))
    return None


def _corners(function: Callable[[int, int], int]) -> Callable[[IntegerRange, IntegerRange], IntegerRange]:
    def of(a: IntegerRange, b: IntegerRange) -> IntegerRange:
        found = [function(x, y) for x in a for y in b]
        return IntegerRange(min(found), max(found))

    return of


def _quotients(a: IntegerRange, b: IntegerRange) -> IntegerRange:
    """Return the range of the quotients; a quotient by zero is zero."""
    divisors = [each for each in (*b, -1, 1) if each and b.low <= each <= b.high]
    found = [x // y for x in a for y in divisors] + [0] * (b.low <= 0 <= b.high)
    return IntegerRange(min(found), max(found))


def _remainders(a: IntegerRange, b: IntegerRange) -> IntegerRange:
    high = max(0, b.high - 1)
    return IntegerRange(min(0, b.low + 1), min(high, a.high) if a.is_natural and b.is_natural else high)


def _bits(a: IntegerRange, b: IntegerRange) -> int:
    """Return the number of bits that the bounds of both ranges need, without the sign."""
    return max((x if x >= 0 else ~x).bit_length() for x in (*a, *b))


def _and(a: IntegerRange, b: IntegerRange) -> IntegerRange:
    naturals = [each.high for each in (a, b) if each.is_natural]
    if naturals:
        return IntegerRange(0, min(naturals))
    return IntegerRange(-1 << _bits(a, b), max(a.high, b.high, -1))


def _or(a: IntegerRange, b: IntegerRange) -> IntegerRange:
    high = -1 if a.high < 0 or b.high < 0 else (1 << _bits(a, b)) - 1
    return IntegerRange(max(each.low for each in (a, b) if each.high < 0) if high < 0 else min(a.low, b.low), high)


def _xor(a: IntegerRange, b: IntegerRange) -> IntegerRange:
    end = 1 << _bits(a, b)
    signs = {(x < 0) != (y < 0) for x in a for y in b}
    return IntegerRange(-end if True in signs else 0, end - 1 if False in signs else -1)


def _left(a: IntegerRange, b: IntegerRange) -> IntegerRange | None:
    """Return the range of values shifted to the left; ``None`` if the count is not a constant from 0 to 63."""
    return IntegerRange(a.low << b.low, a.high << b.low) if b.low == b.high and COUNTS.holds(b) else None


def _right(a: IntegerRange, _b: IntegerRange) -> IntegerRange:
    return IntegerRange(min(a.low, 0), max(a.high, -1 if a.high < 0 else 0))


def _powers(a: IntegerRange, b: IntegerRange) -> IntegerRange | None:
    """Return the range of powers with a constant exponent from 0 to 64; ``None`` for other exponents."""
    if b.low != b.high or b.low < 0 or b.low > UINT64.high.bit_length():
        return None
    found = [each**b.low for each in (*a, 0) if a.low <= each <= a.high]
    return IntegerRange(min(found), max(found))


RANGES: dict[str, Callable[[IntegerRange, IntegerRange], IntegerRange | None]] = {
    "add": _corners(lambda x, y: x + y),
    "sub": lambda a, b: IntegerRange(a.low - b.high, a.high - b.low),
    "mul": _corners(lambda x, y: x * y),
    "floordiv": _quotients, "mod": _remainders, "and_": _and, "or_": _or, "xor": _xor, "lshift": _left,
    "rshift": _right, "pow": _powers,
    "max": lambda a, b: IntegerRange(max(a.low, b.low), max(a.high, b.high)),
    "min": lambda a, b: IntegerRange(min(a.low, b.low), min(a.high, b.high)),
}  # fmt: skip
"""Functions that return the range of an operator's results for the ranges of its operands; ``None`` if unknown."""

_OF_LEFT = "lshift", "rshift", "pow"
"""Operators for which only the first operand can make the result an uint64."""


def holding(values: IntegerRange, prefers_unsigned: bool) -> Any:
    """Return int64 or uint64 for these values, ``None`` if neither fits; if both do, ``prefers_unsigned`` decides."""
    order = [(UINT64, types.uint64), (INT64, types.int64)]
    return next((kind for its, kind in order[:: 1 if prefers_unsigned else -1] if its.holds(values)), None)


def result(name: str, a: IntegerRange, b: IntegerRange) -> Any:
    """Return the type of an operator's result; ``None`` if none is right, as for an uint64 and a negative operand.

    Args:
        name: The operator's name in the module `operator`, or ``max`` or ``min``.
        a: The range of the first operand.
        b: The range of the second operand.
    """
    operands = (a,) if name in _OF_LEFT else (a, b)
    is_wide = any(each.is_wide for each in operands)
    values = RANGES[name](a, b)
    kind = holding(values, is_wide) if values else None
    return kind or _wrapping(name, operands, is_wide)


def _wrapping(name: str, operands: tuple[IntegerRange, ...], is_wide: bool) -> Any:
    """Return the type in which a result wraps if no type contains all its values; ``None`` if none is right."""
    if not is_wide:
        has_unsigned = any(each.low == 0 and 1 < each.high < INT64.high for each in operands)
        return types.uint64 if has_unsigned and all(each.is_natural for each in operands) else types.int64
    negative = [each for each in operands if not each.is_natural]
    is_moved = name == "add" or (name == "sub" and operands[0].is_natural)
    if not negative or (is_moved and all(each.low == each.high for each in negative)):
        return types.uint64
    return None


def unified(first: Any, second: Any) -> Any:
    """Return uint64 for two nonnegative integer types of one variable, one of them uint64; ``None`` for other types.

    Raises:
        NoTypeError: One type is uint64, and the other has negative values.
    """
    a, b = range_of(first), range_of(second)
    if a is None or b is None or first == second or not (a.is_wide or b.is_wide):
        return None
    if a.is_natural and b.is_natural:
        return types.uint64
    names = " and ".join(map(named, (first, second)))
    raise NoTypeError(f"{names} for one variable: no type holds both; write {conversions((first, second))}")


def conversions(kinds: Sequence[Any]) -> str:
    """Return the advice to convert one of two operands of types ``kinds``: uint64 and a possibly negative integer."""
    to_signed = "np.int64(...) around the uint64 if it is less than 2**63"
    signed = next(each for each in kinds if not range_of(each).is_natural)  # type: ignore[union-attr]
    if isinstance(signed, types.Literal):
        return to_signed
    return f"np.uint64(...) around the {named(signed)} if it is never negative, or {to_signed}"


def named(kind: Any) -> str:
    """Return the name of a type in a message; for a literal type, its value."""
    return str(kind.literal_value) if isinstance(kind, types.Literal) else str(kind)
