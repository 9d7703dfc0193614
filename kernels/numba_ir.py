"""Constants in numba's intermediate representation of a function."""

from __future__ import annotations

from typing import Any

from numba.core.errors import ConstantInferenceError


def constant_of(func_ir: Any, variable: Any) -> Any:
    """Return the value of a variable that is a global or closure variable or an attribute of a module, else None."""
    try:
        return func_ir.infer_constant(variable)
    except ConstantInferenceError:
        return None
