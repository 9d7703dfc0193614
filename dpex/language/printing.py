"""``print`` in kernels, by OpenCL's printf: numbers, constant strings and tuples of them, one call for a line."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.datamodel import models
from numba.core.errors import NumbaTypeError

from ..compile.spirv_calls import I8, I32
from ..compile.target import overrides, target
from ..compile.types import CONSTANT

PRINTF = "_Z6printfPU3AS2Kcz"
_DIGITS = {types.float16: 4, types.float32: 7, types.float64: 15}
"""The number of significant decimal digits that are printed."""


@overrides.lower_constant(types.unicode_type)  # type: ignore[untyped-decorator, unused-ignore]
def _no_value(context: Any, _builder: Any, _kind: Any, _text: str) -> Any:
    """Return a dummy value for a string constant, whose text is in its literal type."""
    return context.get_dummy_value()


@overrides.lower_cast(types.StringLiteral, types.unicode_type)  # type: ignore[untyped-decorator, unused-ignore]
def _no_cast(context: Any, _builder: Any, _given: Any, _wanted: Any, _value: Any) -> Any:
    return context.get_dummy_value()


target.target_context.data_model_manager.register(types.UnicodeType, models.OpaqueModel)


@overrides.lower(print, types.VarArg(types.Any))  # type: ignore[untyped-decorator, unused-ignore]
def _print(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Emit a call of printf that prints a line with all arguments; return a dummy value."""
    parts = [_shown(context, builder, *each) for each in zip(signature.args, arguments)]
    text = " ".join(part for part, _ in parts) + "\n"
    pointer = I8.as_pointer(CONSTANT)
    function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(I32, [pointer], var_arg=True), PRINTF)
    line = _constant(builder.module, text).bitcast(pointer)
    builder.call(function, [line, *(value for _, values in parts for value in values)])
    return context.get_dummy_value()


def _constant(module: Any, text: str) -> Any:
    """Return a global constant with a zero-terminated text."""
    value = cgutils.make_bytearray(text.encode() + b"\0")
    made = ir.GlobalVariable(module, value.type, module.get_unique_name("printed"), CONSTANT)
    made.linkage, made.global_constant, made.initializer = "internal", True, value
    return made


def _shown(context: Any, builder: Any, kind: Any, value: Any) -> tuple[str, list[Any]]:
    """Return printf's format for an argument of ``print``, and the LLVM values for that format."""
    if isinstance(kind, types.StringLiteral):
        return kind.literal_value.replace("%", "%%"), []
    if isinstance(kind, types.Boolean):
        return "%d", [builder.zext(context.cast(builder, value, kind, types.int8), I32)]
    if isinstance(kind, (types.Integer, types.IntEnumMember)):
        wide = types.int64 if getattr(kind, "signed", True) else types.uint64
        return "%ld" if wide.signed else "%lu", [context.cast(builder, value, kind, wide)]
    if isinstance(kind, types.Float):
        return f"%.{_DIGITS[kind]}g", [
            context.cast(builder, value, kind, types.float32) if kind.bitwidth < 32 else value
        ]
    if isinstance(kind, types.Complex):
        number = context.make_complex(builder, kind, value)
        digits = _DIGITS[kind.underlying_float]
        return f"(%.{digits}g%+.{digits}gj)", [number.real, number.imag]
    if isinstance(kind, types.BaseTuple):
        parts = [_shown(context, builder, *each) for each in zip(kind, cgutils.unpack_tuple(builder, value, len(kind)))]
        end = ",)" if len(kind) == 1 else ")"
        return "(" + ", ".join(part for part, _ in parts) + end, [each for _, values in parts for each in values]
    raise NumbaTypeError(f"print in kernels takes numbers, constant strings and tuples of them, got {kind}")
