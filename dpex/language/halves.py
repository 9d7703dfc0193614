"""Numbers of 16 bits in kernels: float16 with arithmetic in float16, bfloat16 with arithmetic in float32.

A load converts a bfloat16 to a float32; a store rounds to nearest, ties to even.
"""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.datamodel import models
from numba.core.typeconv import Conversion
from numba.core.typing import signature
from numba.core.typing.templates import AbstractTemplate
from numba.cpython import numbers

from ..compile.spirv_calls import I16, I32
from ..compile.target import registry, target, typing_registry
from ..kernel_api import bfloat16

_COMPARISONS = {
    "lt": numbers.real_lt_impl, "le": numbers.real_le_impl, "gt": numbers.real_gt_impl, "ge": numbers.real_ge_impl,
    "eq": numbers.real_eq_impl, "ne": numbers.real_ne_impl,
}  # fmt: skip


_HALF = types.float16


def _absolute(_context: Any, builder: Any, _made: Any, arguments: Any) -> Any:
    bits = builder.and_(builder.bitcast(arguments[0], I16), I16(0x7FFF))
    return builder.bitcast(bits, ir.HalfType())


def _through_float32(code: Any) -> Any:
    """Return the code of a float16 operation for that of float32: it rounds the result, as numpy does."""

    def emit(context: Any, builder: Any, made: Any, arguments: Any) -> Any:
        wide = [context.cast(builder, each, _HALF, types.float32) for each in arguments]
        result = code(context, builder, signature(types.float32, *[types.float32] * len(wide)), wide)
        return context.cast(builder, result, types.float32, made.return_type)

    return emit


_ARITHMETIC = {
    "add": numbers.real_add_impl, "sub": numbers.real_sub_impl, "mul": numbers.real_mul_impl,
    "truediv": lambda _context, builder, _made, arguments: builder.fdiv(*arguments),
    "floordiv": _through_float32(numbers.real_floordiv_impl), "mod": _through_float32(numbers.real_mod_impl),
}  # fmt: skip
_OF_ONE = {
    operator.neg: lambda _context, builder, _made, arguments: builder.fneg(*arguments),
    operator.pos: numbers.real_positive_impl, abs: _absolute,
}  # fmt: skip


def _add(function: Any, made: Any, code: Any) -> None:
    """Register a function with a signature of float16; arguments of other types are not converted to float16."""

    def generic(_self: Any, arguments: Any, _named: Any) -> Any:
        return made if arguments == made.args else None

    template = type(f"half_{function.__name__}", (AbstractTemplate,), {"key": function, "generic": generic})
    typing_registry.register_global(function)(template)
    registry.lower(function, *made.args)(code)


class BFloat16(types.Number):  # type: ignore[misc]
    """The numba type of bfloat16 numbers."""

    bitwidth = 16

    def __init__(self) -> None:
        super().__init__("bfloat16")

    def can_convert_to(self, typingctx: Any, other: Any) -> Any:
        """Return numba's conversion from this type to another: that of float32, or a promotion to float32."""
        if other == types.float32:
            return Conversion.promote
        return typingctx.can_convert(types.float32, other)

    def can_convert_from(self, typingctx: Any, other: Any) -> Any:
        """Return ``Conversion.unsafe`` for a real number type; None for others, which have no conversion."""
        return Conversion.unsafe if isinstance(other, (types.Float, types.Integer, types.Boolean)) else None


class _HalfModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, dmm: Any, fe_type: Any):
        kinds = {16: ir.HalfType, 32: ir.FloatType, 64: ir.DoubleType}
        super().__init__(dmm, fe_type, kinds[fe_type.bitwidth]())


class _BFloat16Model(models.PrimitiveModel):  # type: ignore[misc]
    """The data model of bfloat16: a float32 in registers, 16 bits in memory."""

    def __init__(self, dmm: Any, fe_type: Any):
        super().__init__(dmm, fe_type, ir.FloatType())

    def get_data_type(self) -> Any:
        return I16

    def as_data(self, builder: Any, value: Any) -> Any:
        bits = builder.bitcast(value, I32)
        last = builder.and_(builder.lshr(bits, I32(16)), I32(1))
        rounded = builder.lshr(builder.add(bits, builder.add(last, I32(0x7FFF))), I32(16))
        quiet = builder.or_(builder.lshr(bits, I32(16)), I32(0x40))
        return builder.trunc(builder.select(builder.fcmp_unordered("uno", value, value), quiet, rounded), I16)

    def from_data(self, builder: Any, value: Any) -> Any:
        return builder.bitcast(builder.shl(builder.zext(value, I32), I32(16)), ir.FloatType())


BFLOAT16 = BFloat16()


@registry.lower_cast(BFloat16, types.Number)  # type: ignore[untyped-decorator, unused-ignore]
def _widened(context: Any, builder: Any, _given: Any, wanted: Any, value: Any) -> Any:
    return context.cast(builder, value, types.float32, wanted)


@registry.lower_cast(types.Float, BFloat16)  # type: ignore[untyped-decorator, unused-ignore]
@registry.lower_cast(types.Integer, BFloat16)  # type: ignore[untyped-decorator, unused-ignore]
@registry.lower_cast(types.Boolean, BFloat16)  # type: ignore[untyped-decorator, unused-ignore]
def _narrowed(context: Any, builder: Any, given: Any, _wanted: Any, value: Any) -> Any:
    model = context.data_model_manager[BFLOAT16]
    return model.from_data(builder, model.as_data(builder, context.cast(builder, value, given, types.float32)))


def _type_of(value: Any) -> Any:
    """Return the type of the class `kernel_api.bfloat16` or that of ml_dtypes; ``None`` for other values."""
    is_other = isinstance(value, type) and (value.__module__, value.__name__) == ("ml_dtypes", "bfloat16")
    return types.NumberClass(BFLOAT16) if value is bfloat16 or is_other else None


def _register() -> None:
    for name, code in _ARITHMETIC.items():
        for each in (getattr(operator, name), getattr(operator, f"i{name}")):
            _add(each, signature(_HALF, _HALF, _HALF), code)
    for name, code in _COMPARISONS.items():
        _add(getattr(operator, name), signature(types.boolean, _HALF, _HALF), code)
    for function, code in _OF_ONE.items():
        _add(function, signature(_HALF, _HALF), code)
    manager = target.target_context.data_model_manager
    manager.register(types.Float, _HalfModel)
    manager.register(BFloat16, _BFloat16Model)
    target.typing_context.constants.append(_type_of)


_register()
