"""Type inference of device functions, which may return arrays.

numba accepts a function that returns an array only if it counts references to memory. Device functions own no memory:
an array that they return is a view of an argument.
"""

from __future__ import annotations

import traceback
from collections import ChainMap
from typing import Any

from numba.core import ir, types
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.errors import NumbaTypeError, NumbaWarning, WarningsFixer
from numba.core.typed_passes import fallback_context
from numba.core.typeinfer import IntrinsicCallConstraint, TypeInferer, TypeVar

from ..extension import is_of_library
from ..language.integer_types import Natural, NoTypeError
from . import compile_errors
from .nonnegative import Naturals
from .types import PrivateArrayType


@register_pass(mutates_CFG=True, analysis_only=False)  # type: ignore[untyped-decorator, unused-ignore]
class DeviceTypeInference(FunctionPass):  # type: ignore[misc]
    """The pass that infers the types of a function's variables and of its result."""

    _name = "dpex_type_inference"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        """Infer the types and store them in the compiler's state; return True.

        Raises:
            NumbaError: There are no types for which the function compiles.
        """
        name = state.func_id.func_name
        try:
            with fallback_context(state, f'Function "{name}" failed type inference'):
                state.typemap, state.return_type, state.calltypes, state.typing_errors = _inferred(state)
                _require_returnable(name, state.return_type)
        except Exception as error:
            _note_place(error)
            raise
        return True


def _note_place(error: Exception) -> None:
    """Store the line whose types were inferred in an error; numba stores it in its own errors only."""
    for frame, _ in traceback.walk_tb(error.__traceback__):
        place = getattr(frame.f_locals.get("constraint"), "loc", None)
        if place is not None:
            compile_errors.note_line(error, place)


class _OperatorCall(IntrinsicCallConstraint):  # type: ignore[misc]
    """The typing of an operator; if the types of its operands are ambiguous, it uses their definitions."""

    def resolve(self, typeinfer: Any, typevars: Any, fnty: Any) -> None:
        try:
            super().resolve(typeinfer, typevars, fnty)
        except NoTypeError:
            known = self._known(typeinfer, typevars)
            if not known:
                raise
            super().resolve(typeinfer, ChainMap(known, typevars), fnty)

    def _known(self, typeinfer: Any, typevars: Any) -> dict[str, TypeVar]:
        """Return more precise types, by name of the operand, for operands whose definitions determine them."""
        if is_of_library(typeinfer.func_ir):
            return {each.name: _OFFSET for each in self.args if typevars[each.name].type == types.uint64}
        naturals = Naturals(typeinfer)
        known = [each.name for each in self.args if naturals.has(each.name) and _is_int64(typevars[each.name].type)]
        return dict.fromkeys(known, _NATURAL)


def _is_int64(kind: Any) -> bool:
    return isinstance(kind, types.Integer) and kind.signed and not isinstance(kind, types.Literal)


_NATURAL = TypeVar(None, "an integer from 0 on")
_NATURAL.type = Natural()
_OFFSET = TypeVar(None, "an offset in memory")
_OFFSET.type = types.int64


class _Inferer(TypeInferer):  # type: ignore[misc]
    """numba's type inference, where a variable with int64 and uint64 values is an uint64 if it is never negative."""

    def add_type(self, var: Any, tp: Any, *given: Any, **named: Any) -> None:
        """Unify the type of variable ``var`` with ``tp``."""
        try:
            super().add_type(var, tp, *given, **named)
        except NoTypeError:
            if not self._is_natural(var):
                raise

    def copy_type(self, src_var: Any, dest_var: Any, loc: Any) -> None:
        """Unify the type of ``dest_var`` with that of ``src_var``."""
        try:
            super().copy_type(src_var, dest_var, loc)
        except NoTypeError:
            if not self._is_natural(dest_var):
                raise

    def _is_natural(self, name: str) -> bool:
        """Return whether a variable is never negative; if so, set its type to uint64."""
        found = Naturals(self).defines(name)
        if found:
            self.typevars[name].type = types.uint64
        return found

    def get_return_type(self, typemap: Any) -> Any:
        """Return the result's type: uint64 if int64 and uint64 values are returned that are never negative."""
        try:
            return super().get_return_type(typemap)
        except NoTypeError as error:
            ends = [block.terminator for block in self.blocks.values() if isinstance(block.terminator, ir.Return)]
            if not all(Naturals(self).has(each.value.name) for each in ends):
                compile_errors.note_line(error, ends[-1].loc)
                raise
            return types.uint64

    def typeof_intrinsic_call(self, inst: Any, target: Any, func: Any, *args: Any) -> None:
        """Add the constraint of an operator's call."""
        constraint = _OperatorCall(target.name, func, args, kws=(), vararg=None, loc=inst.loc)
        self.constraints.append(constraint)
        self.calls.append((inst.value, constraint))


def _inferred(state: Any) -> tuple[Any, Any, Any, Any]:
    """Return types of variables, type of the result, signatures of calls, and typing errors for a compiler's state."""
    warnings = WarningsFixer(NumbaWarning)
    inferer = _Inferer(state.typingctx, state.func_ir, warnings)
    target = state.targetctx.target
    with state.typingctx.callstack.register(target, inferer, state.func_id, state.args), warnings:
        for index, (name, kind) in enumerate(zip(state.func_ir.arg_names, state.args)):
            inferer.seed_argument(name, index, kind)
        if state.return_type is not None:
            inferer.seed_return(state.return_type)
        for name, kind in (state.locals or {}).items():
            inferer.seed_type(name, kind)
        inferer.build_constraint()
        errors = inferer.propagate(raise_errors=True)
        return *inferer.unify(raise_errors=True), errors


def _require_returnable(name: str, kind: Any) -> None:
    if isinstance(kind, (types.Function, types.Phantom)):
        raise NumbaTypeError(f"{name} returns a function, {kind}; a device function returns numbers, tuples and arrays")
    if isinstance(kind, types.BaseTuple):
        for each in kind:
            _require_returnable(name, each)
    if isinstance(kind, PrivateArrayType):
        raise NumbaTypeError(f"{name} returns a PrivateArray, which ends with it; pass the array as an argument")
