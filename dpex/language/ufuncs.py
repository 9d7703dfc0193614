"""numpy's ufuncs on numbers in kernels: numpy selects the types of operands and result, the device computes.

A literal integer is converted to the type of the other operands, as in numpy since version 2.
"""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
from numba.core import types
from numba.core.errors import NumbaTypeError
from numba.core.typing import signature
from numba.cpython import numbers
from numba.np import ufunc_db
from numba.np.numpy_support import as_dtype, from_dtype

from ..compile.target import target
from . import integer_code as code
from .integer_types import range_of
from .powers import complex_power

_NEGATIVE_POWER = "Integers to negative integer powers are not allowed."


def _fmod(_context: Any, builder: Any, made: Any, arguments: Any) -> Any:
    return code.truncated_remainder(builder, made.args[0].signed, *arguments)


def _sign(_context: Any, builder: Any, made: Any, arguments: Any) -> Any:
    return code.sign(builder, made.args[0].signed, *arguments)


def _sign_of_real(_context: Any, builder: Any, _made: Any, arguments: Any) -> Any:
    value = arguments[0]
    zero, one, minus = (value.type(each) for each in (0.0, 1.0, -1.0))
    found = builder.select(builder.fcmp_ordered("<", value, zero), minus, zero)
    found = builder.select(builder.fcmp_ordered(">", value, zero), one, found)
    return builder.select(builder.fcmp_unordered("uno", value, value), value, found)


def _reciprocal(_context: Any, builder: Any, made: Any, arguments: Any) -> Any:
    """Emit and return one divided by an integer, rounded towards zero, without float64; zero for zero."""
    value = arguments[0]
    is_one = builder.icmp_unsigned("==", value, value.type(1))
    if made.args[0].signed:
        is_one = builder.or_(is_one, builder.icmp_signed("==", value, value.type(-1)))
    return builder.select(is_one, value, value.type(0))


def _power(context: Any, builder: Any, made: Any, arguments: Any) -> Any:
    """Emit and return an integer power, computed in 64 bits and truncated; a negative exponent is an exception."""

    def power(base: Any, exponent: Any) -> Any:
        if exponent < 0:
            raise ValueError(_NEGATIVE_POWER)
        return base ** np.uint64(exponent)

    kind = made.return_type
    wide = types.int64 if kind.signed else types.uint64
    values = [context.cast(builder, each, kind, wide) for each in arguments]
    found = context.compile_internal(builder, power, signature(wide, wide, wide), values)
    return context.cast(builder, found, wide, kind)


_OF_INTEGERS = {
    np.fmod: _fmod, np.sign: _sign, np.left_shift: code.shift(True), np.right_shift: code.shift(False),
    np.floor_divide: code.division(0), np.remainder: code.division(1), np.divmod: code.quotient_and_remainder,
    np.power: _power, np.reciprocal: _reciprocal,
}  # fmt: skip
_OF_REALS = {
    np.sign: _sign_of_real, np.floor_divide: numbers.real_floordiv_impl, np.remainder: numbers.real_mod_impl,
    np.divmod: numbers.real_divmod_impl,
}  # fmt: skip
_OF_COMPLEX = {np.power: complex_power, np.float_power: complex_power}


def loops(ufunc: Any) -> dict[str, Any]:
    """Return the implementations of a ufunc by their types in numba's notation, such as ``dd->d``."""
    found = dict(ufunc_db.get_ufunc_info(ufunc))
    for characters, table in (("bBhHiIlLqQ", _OF_INTEGERS), ("fd", _OF_REALS), ("FD", _OF_COMPLEX)):
        if ufunc in table:
            found.update((key, table[ufunc]) for key in found if set(key) <= {*characters, "-", ">"})
    return found


def _is_number(kind: Any) -> bool:
    if isinstance(kind, (types.Float, types.Complex)):
        return bool(kind.bitwidth > 16)
    return isinstance(kind, (types.IntegerLiteral, types.Integer, types.Boolean))


def _dtype(kind: Any) -> Any:
    """Return the numpy dtype of an operand; ``int`` for a literal integer, whose dtype depends on the others."""
    return int if isinstance(kind, types.IntegerLiteral) else as_dtype(types.unliteral(kind))


def _rule(ufunc: Any) -> Callable[[Any], Any]:
    """Return the rule of a ufunc: it returns the signature of numpy's loop for operand types, or None for others."""

    def rule(kinds: Any) -> Any:
        if len(kinds) != ufunc.nin or not all(map(_is_number, kinds)):
            return None
        try:
            found = ufunc.resolve_dtypes((*map(_dtype, kinds), *[None] * ufunc.nout))
        except TypeError:
            operands = ", ".join(str(types.unliteral(each)) for each in kinds)
            raise NumbaTypeError(f"numpy.{ufunc.__name__} does not take {operands}") from None
        key = "->".join("".join(each.char for each in part) for part in (found[: ufunc.nin], found[ufunc.nin :]))
        if key not in loops(ufunc):
            return None
        inputs, outputs = ([from_dtype(each) for each in part] for part in (found[: ufunc.nin], found[ufunc.nin :]))
        _require_fit(ufunc, kinds, inputs)
        return signature(outputs[0] if len(outputs) == 1 else types.BaseTuple.from_types(outputs), *inputs)

    return rule


def _require_fit(ufunc: Any, kinds: Any, inputs: Any) -> None:
    for given, kind in zip(kinds, inputs):
        values = range_of(given)
        if isinstance(given, types.IntegerLiteral) and isinstance(kind, types.Integer):
            if not kind.minval <= values.low <= kind.maxval:  # type: ignore[union-attr]
                raise NumbaTypeError(f"numpy.{ufunc.__name__}: {given.literal_value} does not fit {kind}")
            if ufunc is np.power and given is kinds[1] and values.high < 0:  # type: ignore[union-attr]
                raise NumbaTypeError(f"numpy.power: {_NEGATIVE_POWER}")


target.target_context.get_ufunc_info = loops
target.typing_context.rules.update((each, _rule(each)) for each in ufunc_db.get_ufuncs() if not each.signature)
