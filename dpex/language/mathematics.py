"""Mathematics in kernels: `math`, `cmath` and numpy's functions of numbers, by the functions of OpenCL.

It uses numba's implementations, which call LLVM's intrinsics and functions of C. The SPIR-V back end translates the
intrinsics; the functions of C are replaced by those of OpenCL here.
"""

from __future__ import annotations

import math
from typing import Any, Callable

import llvmlite.binding as llvm
import numpy as np
from numba.core import types
from numba.core.errors import TypingError
from numba.extending import overload

from ..compile.spirv_calls import call, mangle
from ..compile.target import TARGET, target
from .extending import add_function

_UNARY = [
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "cbrt", "ceil", "cos", "cosh", "erf", "erfc", "exp", "exp2",
    "expm1", "fabs", "floor", "lgamma", "log", "log10", "log1p", "log2", "rint", "round", "sin", "sinh", "sqrt", "tan",
    "tanh", "trunc",
]  # fmt: skip
_BINARY = ["atan2", "copysign", "fmod", "hypot", "nextafter", "pow", "remainder"]
_OF_NUMBA = {"gamma": "tgamma", "log2": "log2", "nextafter": "nextafter"}
"""Functions of numba's helper library without the prefix ``numba_``, with those of OpenCL that replace them."""
_EXPANDED = ["exp2", "pow"]
"""Intrinsics that LLVM may replace by others without support in the SPIR-V back end."""
_FLOATS = types.float32, types.float64


def _symbols() -> dict[str, str]:
    """Return the OpenCL symbol for each function and intrinsic that numba calls, for float32 and float64."""
    found: dict[str, str] = {}
    for suffix, kind in zip(("f", ""), _FLOATS):
        names = {name: (name, [kind]) for name in _UNARY} | {name: (name, [kind] * 2) for name in _BINARY}
        found |= {f"llvm.{name}.f{kind.bitwidth}": mangle(*names[name]) for name in _EXPANDED}
        names |= {f"numba_{name}": (its, [kind] * (2 if its in _BINARY else 1)) for name, its in _OF_NUMBA.items()}
        names["numba_frexp"] = "frexp", [kind, types.CPointer(types.int32)]
        names["numba_ldexp"] = names["ldexp"] = "ldexp", [kind, types.int32]
        found |= {f"{name}{suffix}": mangle(*signature) for name, signature in names.items()}
    return found


SYMBOLS = _symbols()
"""The symbols of OpenCL by those of the C functions and intrinsics that numba calls."""


def link(module: llvm.ModuleRef) -> None:
    """Rename the mathematical functions of C that an LLVM module calls to those of OpenCL.

    Raises:
        LookupError: A function has no counterpart on the device.
    """
    for function in module.functions:
        if function.is_declaration and function.name in SYMBOLS:
            function.name = SYMBOLS[function.name]
        elif function.is_declaration and not function.name.startswith(("_Z", "llvm.", "get_")):
            raise LookupError(f"numba's code calls {function.name}, which the device does not have")


def opencl(name: str) -> Callable[..., Any]:
    """Return the rule that calls OpenCL's ``name`` on real numbers, in float32 if all are float32, else float64."""

    def rule(*given: Any) -> Any:
        if not all(isinstance(each, (types.Integer, types.Float, types.Boolean)) for each in given):
            raise TypingError(f"{name} takes real numbers, got {', '.join(map(str, given))}")
        kind = types.float32 if all(each == types.float32 for each in given) else types.float64

        def emit(context: Any, builder: Any, arguments: Any) -> Any:
            values = [context.cast(builder, value, its, kind) for value, its in zip(arguments, given)]
            return call(builder, name, context.get_value_type(kind), [kind] * len(values), values, pure=True)

        return kind, emit

    return rule


for _name in ("cbrt", "fmod", "remainder", "fma"):
    if hasattr(math, _name):
        add_function(getattr(math, _name), opencl(_name))


@overload(math.log, target=TARGET)
def _logarithm(x, base):  # type: ignore[no-untyped-def]  # numba compares the parameters with those of the lambda
    return lambda x, base: math.log(x) / math.log(base)


def _type_of_dpnp(value: Any) -> Any:
    """Return the type of numpy's ufunc of the same name for a function of dpnp; ``None`` for other values."""
    if type(value).__module__.partition(".")[0] != "dpnp":
        return None
    function = getattr(np, getattr(value, "name_", ""), None)
    return target.typing_context.resolve_value_type(function) if isinstance(function, np.ufunc) else None


target.typing_context.constants.append(_type_of_dpnp)
