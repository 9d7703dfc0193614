"""Which type holds the result of an operator on integers.

An integer computes as an int64, and as an uint64 where it needs one. What operands can be is a range: that of their
types, or one value for a constant. The result has the type that holds all values which the operator can give; where
none does, it wraps as numpy's, or has no type.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from numba.core import types
from numba.core.errors import NumbaTypeError


class NoTypeError(NumbaTypeError):  # type: ignore[misc]
    """No type holds what an operator can give, or what a variable is assigned."""


class IntegerRange(NamedTuple):
    """The integers from ``low`` to ``high``."""

    low: int
    high: int

    @property
    def is_natural(self) -> bool:
        """Whether none of them is negative."""
        return self.low >= 0

    @property
    def is_wide(self) -> bool:
        """Whether an int64 does not hold them, and an uint64 does."""
        return INT64.high < self.high and UINT64.holds(self)

    def holds(self, other: IntegerRange) -> bool:
        """Return whether all values of another range are in this one."""
        return self.low <= other.low and other.high <= self.high


INT64, UINT64 = IntegerRange(-(1 << 63), (1 << 63) - 1), IntegerRange(0, (1 << 64) - 1)
COUNTS = IntegerRange(0, 63)
"""Shifts by more give 0 or -1."""


class Natural(types.Integer):  # type: ignore[misc]
    """An int64 that is not negative, as `dpex.compile.nonnegative` shows. No variable has this type."""

    def __init__(self) -> None:
        super().__init__("int64 from 0 on", 64, signed=True)


def range_of(kind: Any) -> IntegerRange | None:
    """Return the values that a type has, or ``None`` if it is no integer."""
    if isinstance(kind, (types.IntegerLiteral, types.BooleanLiteral)):
        return IntegerRange(int(kind.literal_value), int(kind.literal_value))
    if isinstance(kind, types.Boolean):
        return IntegerRange(0, 1)
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
    """Return the quotients; that by zero is zero."""
    divisors = [each for each in (*b, -1, 1) if each and b.low <= each <= b.high]
    found = [x // y for x in a for y in divisors] + [0] * (b.low <= 0 <= b.high)
    return IntegerRange(min(found), max(found))


def _remainders(a: IntegerRange, b: IntegerRange) -> IntegerRange:
    high = max(0, b.high - 1)
    return IntegerRange(min(0, b.low + 1), min(high, a.high) if a.is_natural and b.is_natural else high)


def _bits(a: IntegerRange, b: IntegerRange) -> int:
    """Return how many bits the values have, without the sign."""
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
    """Return the shifted values, or ``None`` if the count is not a constant."""
    return IntegerRange(a.low << b.low, a.high << b.low) if b.low == b.high and COUNTS.holds(b) else None


def _right(a: IntegerRange, _b: IntegerRange) -> IntegerRange:
    return IntegerRange(min(a.low, 0), max(a.high, -1 if a.high < 0 else 0))


def _powers(a: IntegerRange, b: IntegerRange) -> IntegerRange | None:
    """Return the powers by a constant that is not negative; ``None`` of others, and if they need many bits."""
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
"""What values each operator gives; ``None`` if no bounds are known."""

_OF_LEFT = "lshift", "rshift", "pow"
"""Operators whose second operand does not make the result an uint64."""


def holding(values: IntegerRange, prefers_unsigned: bool) -> Any:
    """Return the type that holds these values, or ``None``."""
    order = [(UINT64, types.uint64), (INT64, types.int64)]
    return next((kind for its, kind in order[:: 1 if prefers_unsigned else -1] if its.holds(values)), None)


def result(name: str, a: IntegerRange, b: IntegerRange) -> Any:
    """Return the type of an operator's result, or ``None`` if no type serves.

    Args:
        name: The operator, as the module `operator` names it, or ``max`` or ``min``.
        a: The values of the first operand.
        b: Those of the second.
    """
    operands = (a,) if name in _OF_LEFT else (a, b)
    is_wide = any(each.is_wide for each in operands)
    values = RANGES[name](a, b)
    kind = holding(values, is_wide) if values else None
    return kind or _wrapping(name, operands, is_wide)


def _wrapping(name: str, operands: tuple[IntegerRange, ...], is_wide: bool) -> Any:
    """Return the type of a result that no type holds always, so that it wraps; ``None`` if no type serves."""
    if not is_wide:
        has_unsigned = any(each.low == 0 and 1 < each.high < INT64.high for each in operands)
        return types.uint64 if has_unsigned and all(each.is_natural for each in operands) else types.int64
    negative = [each for each in operands if not each.is_natural]
    is_moved = name == "add" or (name == "sub" and operands[0].is_natural)
    if not negative or (is_moved and all(each.low == each.high for each in negative)):
        return types.uint64
    return None


def unified(first: Any, second: Any) -> Any:
    """Return the type of a variable that is assigned integers of two types; ``None`` leaves it to numba.

    Raises:
        NoTypeError: No type holds both.
    """
    a, b = range_of(first), range_of(second)
    if a is None or b is None or first == second or not (a.is_wide or b.is_wide):
        return None
    if a.is_natural and b.is_natural:
        return types.uint64
    names = " and ".join(map(named, (first, second)))
    raise NoTypeError(f"{names} for one variable: no type holds both; write {conversions((first, second))}")


def conversions(kinds: Sequence[Any]) -> str:
    """Return what to write where an uint64 meets an integer that may be negative."""
    to_signed = "np.int64(...) around the uint64 if it is less than 2**63"
    signed = next(each for each in kinds if not range_of(each).is_natural)  # type: ignore[union-attr]
    if isinstance(signed, types.Literal):
        return to_signed
    return f"np.uint64(...) around the {named(signed)} if it is never negative, or {to_signed}"


def named(kind: Any) -> str:
    """Return the name of a type in a message; a constant is its value."""
    return str(kind.literal_value) if isinstance(kind, types.Literal) else str(kind)
