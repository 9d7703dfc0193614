"""Operators on integers and booleans, with Python's results; `dpex.language.integer_types` has the result types.

numba computes an uint64 with an int64 as float64, an unsigned difference modulo 2**64, and treats overflow as
undefined. It compares an uint64 with an int64 as float64, too, which is not exact, and which not every device supports.
An operation whose results fit no type is a compile error.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.errors import NumbaTypeError
from numba.core.typing import signature
from numba.core.typing.templates import AbstractTemplate
from numba.cpython import numbers

from ..compile.spirv_calls import I64
from ..compile.target import overrides, registry, target, typing_registry
from . import integer_code as code
from .integer_types import IntegerRange, NoTypeError, conversions, named, range_of, result

_SYMBOLS = {
    "add": "+", "sub": "-", "mul": "*", "floordiv": "//", "mod": "%", "and_": "&", "or_": "|", "xor": "^",
    "lshift": "<<", "rshift": ">>", "pow": "**",
}  # fmt: skip
_COMPARISONS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}


def with_in_place(name: str) -> list[Any]:
    """Return the operator of a name and its in-place form, such as ``add`` and ``iadd``."""
    return [getattr(operator, each) for each in (name, f"i{name.rstrip('_')}")]


def ranges(kinds: Sequence[Any]) -> list[IntegerRange] | None:
    """Return the range of each type's values, or ``None`` if one type is not an integer or boolean."""
    found = [range_of(each) for each in kinds]
    return None if None in found else found  # type: ignore[return-value]


def _result(name: str, kinds: Sequence[Any], given: Sequence[IntegerRange]) -> Any:
    """Return the type of an operator's result, for operand types ``kinds`` with the ranges ``given``.

    Raises:
        NoTypeError: No integer type holds all results.
    """
    kind = result(name, *given)
    if kind is None:
        operands = f" {_SYMBOLS[name]} ".join(map(named, kinds))
        raise NoTypeError(f"{operands}: no type holds all results; write {conversions(kinds)}")
    return kind


def _parameters(given: Sequence[IntegerRange]) -> list[Any]:
    """Return the types to which operands are converted without loss: one common type if possible."""
    if any(each.is_wide for each in given) and all(each.is_natural for each in given):
        return [types.uint64] * len(given)
    return [types.uint64 if each.is_wide else types.int64 for each in given]


def _binary(name: str) -> Callable[[Any], Any]:
    """Return the rule of an operator: it returns the signature for a tuple of operand types, None for non-integers."""

    def rule(kinds: Any) -> Any:
        given = ranges(kinds)
        if given is None or len(given) != 2:
            return None
        if name in ("and_", "or_", "xor") and all(isinstance(each, types.Boolean) for each in kinds):
            return None
        kind = _result(name, kinds, given)
        if name in ("floordiv", "mod"):
            return signature(kind, *_parameters(given))
        return signature(kind, kind, _parameters(given[1:])[0] if name in ("lshift", "rshift") else kind)

    return rule


def _in_place(name: str) -> Callable[[Any], Any]:
    """Return the rule of an in-place operator; an uint64 remains an uint64 whatever the second operand."""

    def rule(kinds: Any) -> Any:
        try:
            return plain(kinds)
        except NoTypeError:
            if not range_of(kinds[0]).is_wide:  # type: ignore[union-attr]
                raise
            return signature(*[types.uint64] * 3)

    plain = _binary(name)
    return rule


def _shift(name: str) -> Callable[[Any], Any]:
    def rule(kinds: Any) -> Any:
        count = range_of(kinds[-1])
        if count and count.high < 0:
            raise NumbaTypeError(f"the shift count {named(kinds[-1])} is negative; shift to the other side")
        return plain(kinds)

    plain = _binary(name)
    return rule


def integer_power(kinds: Any) -> Any:
    """Return the signature of a power of integers for a tuple of operand types; None for other types.

    The power is a float64 for a negative constant exponent; `NoTypeError` is raised for another that may be negative.
    """
    given = ranges(kinds)
    if given is None or len(given) != 2:
        return None
    base, exponent = given
    is_constant = exponent.low == exponent.high and isinstance(kinds[1], types.IntegerLiteral)
    if exponent.high < 0:
        return signature(types.float64, types.float64, types.int64)
    if not exponent.is_natural:
        raise NoTypeError(
            f"{named(kinds[0])} ** {named(kinds[1])}: a negative exponent would give a fraction; write "
            f"x ** np.uint64(n) for an integer, or float(x) ** n"
        )
    kind = result("pow", base, exponent)
    return signature(kind, kind, kinds[1] if is_constant else types.uint64)


def _of_one(kind_of: Callable[[IntegerRange], Any]) -> Callable[[Any], Any]:
    """Return the rule of an operation on one integer; ``kind_of`` returns the type of operand and result."""

    def rule(kinds: Any) -> Any:
        given = ranges(kinds)
        if given is None or len(given) != 1:
            return None
        kind = kind_of(given[0])
        return signature(kind, kind)

    return rule


def _widened(values: IntegerRange) -> Any:
    return types.uint64 if values.is_wide else types.int64


def _inverted(kinds: Any) -> Any:
    return None if isinstance(kinds[0], types.Boolean) else _of_one(_widened)(kinds)


def _of_boolean(kinds: Any) -> Any:
    return signature(types.float64, types.boolean) if isinstance(kinds[0], types.Boolean) else None


def _divmod(kinds: Any) -> Any:
    given = ranges(kinds)
    if given is None or len(given) != 2:
        return None
    both = [_result(name, kinds, given) for name in ("floordiv", "mod")]
    return signature(types.BaseTuple.from_types(both), *_parameters(given))


def _extreme(name: str) -> Callable[[Any], Any]:
    def rule(kinds: Any) -> Any:
        given = ranges(kinds)
        if given is None or len(given) < 2:
            return None
        kind, parameters = given[0], _parameters(given)
        for each in given[1:]:
            kind = range_of(result(name, kind, each))  # type: ignore[assignment]
        return signature(types.uint64 if kind.is_wide else types.int64, *parameters)

    return rule


def _range(kinds: Any) -> Any:
    """Return the signature of ``range``: its values are int64, or uint64 if it starts from an uint64."""
    given = ranges(kinds)
    if given is None or not 1 <= len(given) <= 3:
        return None
    if len(given) > 1 and given[0].is_wide:
        return signature(types.unsigned_range_state64_type, *[types.uint64] * len(given))
    return signature(types.range_state64_type, *map(_widened, given))


def _emit_extreme(name: str) -> Any:
    is_better = operator.gt if name == "max" else operator.lt

    def emit(context: Any, builder: Any, made: Any, arguments: Any) -> Any:
        def step(found: Any, other: Any) -> Any:
            (kind, value), (its, given) = found, other
            compare = context.get_function(is_better, signature(types.boolean, its, kind))
            both = _widened(range_of(result(name, range_of(kind), range_of(its))))  # type: ignore[arg-type]
            return both, builder.select(compare(builder, (given, value)), given, value)

        return reduce(step, zip(made.args, arguments))[1]

    return emit


def _emit_range(context: Any, builder: Any, made: Any, arguments: Any) -> Any:
    """Emit and return a range of int64; ends of type uint64 beyond are clipped, since no loop reaches them."""
    last = I64((1 << 63) - 1)
    ends = [
        builder.select(builder.icmp_signed("<", each, I64(0)), last, each) if kind == types.uint64 else each
        for each, kind in zip(arguments, made.args)
    ]
    plain = signature(made.return_type, *[types.int64] * len(ends))
    return context.get_function(range, plain)(builder, ends)


def _first(_context: Any, _builder: Any, _made: Any, arguments: Any) -> Any:
    return arguments[0]


def _emit_float(context: Any, builder: Any, made: Any, arguments: Any) -> Any:
    return context.cast(builder, arguments[0], *made.args, made.return_type)


def _emit_plain(name: str) -> Any:
    def emit(_context: Any, builder: ir.IRBuilder, _made: Any, arguments: Any) -> Any:
        return getattr(builder, name)(*arguments)

    return emit


def _is_signed(kind: Any) -> bool:
    return isinstance(kind, types.Integer) and bool(kind.signed)


def _compared(_self: Any, arguments: Any, _named: Any) -> Any:
    """Return the signature of a comparison of an uint64 with a signed integer; None for other arguments."""
    kinds = tuple(map(types.unliteral, arguments))
    if len(kinds) == 2 and types.uint64 in kinds and any(map(_is_signed, kinds)):
        return signature(types.boolean, *(types.int64 if _is_signed(kind) else kind for kind in kinds))
    return None


def _register_comparisons() -> None:
    for name, symbol in _COMPARISONS.items():
        function = getattr(operator, name)
        template = type(f"mixed_{name}", (AbstractTemplate,), {"key": function, "generic": _compared})
        typing_registry.register_global(function)(template)
        registry.lower(function, types.int64, types.uint64)(numbers.int_signed_unsigned_cmp(symbol))
        registry.lower(function, types.uint64, types.int64)(numbers.int_unsigned_signed_cmp(symbol))


def _register() -> None:
    rules, words = target.typing_context.rules, (types.int64, types.uint64)
    for name in _SYMBOLS:
        rule = {"lshift": _shift(name), "rshift": _shift(name), "pow": integer_power}.get(name) or _binary(name)
        rules.update(dict.fromkeys(with_in_place(name), rule))
    for name in ("add", "sub", "mul", "or_", "xor"):
        rules[with_in_place(name)[1]] = _in_place(name)
    rules |= {abs: _of_one(_widened), operator.pos: _of_one(_widened), operator.invert: _inverted}
    rules |= {operator.neg: _of_one(lambda _: types.int64), int: _of_one(lambda _: types.int64)}
    rules |= {float: _of_boolean, divmod: _divmod, max: _extreme("max"), min: _extreme("min"), range: _range}
    emitted = {name: _emit_plain(name) for name in ("add", "sub", "mul")}
    emitted |= {"lshift": code.shift(True), "rshift": code.shift(False)}
    emitted |= {"floordiv": code.division(0), "mod": code.division(1)}
    for name, emit in emitted.items():
        for function in with_in_place(name):
            for a in words:
                for b in words:
                    overrides.lower(function, a, b)(emit)
    overrides.lower(float, types.boolean)(_emit_float)
    for a in words:
        overrides.lower(int, a)(_first)
        for b in words:
            overrides.lower(divmod, a, b)(code.quotient_and_remainder)
    for function in (*with_in_place("pow"), pow):
        overrides.lower(function, types.Integer, types.uint64)(code.power)
        overrides.lower(function, types.Integer, types.IntegerLiteral)(code.constant_power)
    for function in (max, min):
        overrides.lower(function, types.VarArg(types.Integer))(_emit_extreme(function.__name__))
    overrides.lower(range, types.uint64)(_emit_range)
    for count in (2, 3):
        overrides.lower(range, *[types.Integer] * count)(_emit_range)


_register()
_register_comparisons()
