"""Type inference of device functions, which may return arrays.

numba lets a function return an array only where it counts references to memory. Device functions own no memory: what
they return is a view of an argument's.
"""

from __future__ import annotations

from typing import Any

from numba.core import types
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.errors import NumbaTypeError
from numba.core.typed_passes import fallback_context, type_inference_stage

from .types import PrivateArrayType


@register_pass(mutates_CFG=True, analysis_only=False)  # type: ignore[untyped-decorator, unused-ignore]
class DeviceTypeInference(FunctionPass):  # type: ignore[misc]
    """Infers the types of a function's variables and of what it returns."""

    _name = "dpex_type_inference"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        """Infer the types.

        Raises:
            NumbaError: There are no types for which the function compiles.
        """
        name = state.func_id.func_name
        with fallback_context(state, f'Function "{name}" failed type inference'):
            found = type_inference_stage(
                state.typingctx, state.targetctx, state.func_ir, state.args, state.return_type, state.locals
            )
            state.typemap, state.return_type, state.calltypes, state.typing_errors = found
            _require_returnable(name, state.return_type)
        return True


def _require_returnable(name: str, kind: Any) -> None:
    if isinstance(kind, (types.Function, types.Phantom)):
        raise NumbaTypeError(f"{name} returns a function, {kind}; a device function returns numbers, tuples and arrays")
    if isinstance(kind, PrivateArrayType):
        raise NumbaTypeError(f"{name} returns a PrivateArray, which ends with it; pass the array as an argument")
