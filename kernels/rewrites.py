"""Rewrites of the program's device code in numba's IR, before types are inferred."""

from __future__ import annotations

import inspect
from typing import Any

from numba.core import ir
from numba.core.errors import ConstantInferenceError
from numba.core.ir_utils import mk_unique_var
from numba.core.rewrites import Rewrite

from ishmem.common.callsite import CallSite

from .intrinsics import registered


class AssignmentRewrite(Rewrite):  # type: ignore[misc]
    """Replaces assignments of a function, each once; subclasses implement `replacement`.

    Attributes:
        func_ir: The function in numba's IR.
    """

    def __init__(self, state: Any) -> None:
        super().__init__(state)
        self._done: set[Any] = set()

    def applies(self) -> bool:
        """Return whether the function may be rewritten."""
        return True

    def replacement(self, statement: Any) -> list[Any] | None:
        """Return the statements that replace an assignment; None to leave it as it is."""
        raise NotImplementedError

    def match(self, func_ir: Any, block: Any, *_types: Any) -> bool:
        """Find the assignments of a block of function ``func_ir`` that are replaced; return whether there are any."""
        self.func_ir, self._block = func_ir, block
        self._made: dict[Any, list[Any]] = {}
        for statement in block.find_insts(ir.Assign) if self.applies() else ():
            made = None if statement in self._done else self.replacement(statement)
            if made is not None:
                self._made[statement] = made
        return bool(self._made)

    def apply(self) -> Any:
        """Return a copy of the block in which the assignments are replaced."""
        block = self._block.copy()
        block.body = [each for statement in block.body for each in self._made.get(statement, [statement])]
        self._done.update(*self._made.values())
        return block

    def call_of(self, function: Any, loc: Any, *arguments: Any) -> list[Any]:
        """Return the statements of a call of ``function`` at ``loc``; the last one assigns the result.

        Tuples among the arguments become constants.
        """
        constants = {each: self.assigned(ir.Const(each, loc)) for each in arguments if isinstance(each, tuple)}
        callee = self.assigned(ir.Global(function.__name__, function, loc))
        given = [constants[each].target if each in constants else each for each in arguments]
        return [*constants.values(), callee, self.assigned(ir.Expr.call(callee.target, given, (), loc))]

    def assigned(self, value: Any) -> Any:
        """Return the statement that assigns a value to a new variable."""
        return ir.Assign(value, ir.Var(self._block.scope, mk_unique_var("$added"), value.loc), value.loc)


class CallRewrite(AssignmentRewrite):
    """Replaces calls of ishmem in the program's device code; subclasses implement `replaced_call`."""

    def applies(self) -> bool:
        """Return whether the function is part of the program."""
        return is_users(self.func_ir)

    def replacement(self, statement: Any) -> list[Any] | None:
        """Return the result of `replaced_call` for a statement that calls ishmem; None for others."""
        called = called_in(self.func_ir, statement.value)
        return self.replaced_call(statement, called) if called else None

    def replaced_call(self, statement: Any, called: Any) -> list[Any] | None:
        """Return statements to replace ``statement``, which assigns a call of ``called``; None to leave it as it is."""
        raise NotImplementedError


def constant_of(func_ir: Any, variable: Any) -> Any:
    """Return the value of a variable that numba infers to be constant, such as a literal or a global; else None."""
    try:
        return func_ir.infer_constant(variable)
    except ConstantInferenceError:
        return None


def called_in(func_ir: Any, value: Any) -> Any:
    """Return the function of ishmem that an expression of function ``func_ir`` calls, else None."""
    if not isinstance(value, ir.Expr) or value.op != "call":
        return None
    called = constant_of(func_ir, value.func)
    return called if callable(called) and called in registered else None


def arguments_of(called: Any, call: Any) -> dict[str, Any]:
    """Return the variables of a call by parameter; empty if they do not match the signature, which numba reports."""
    try:
        return inspect.signature(registered[called]).bind(*call.args, **dict(call.kws)).arguments
    except TypeError:
        return {}


def with_arguments(statement: Any, args: Any, kws: Any) -> Any:
    """Return the assignment of a call, ``statement``, with ``args`` and ``kws`` in place of the call's arguments."""
    call = statement.value
    placed = ir.Expr.call(call.func, args, kws, call.loc, call.vararg, call.varkwarg)
    return ir.Assign(placed, statement.target, statement.loc)


def is_users(func_ir: Any) -> bool:
    """Return whether a function is part of the program."""
    return CallSite(func_ir.func_id.filename, 0, "").is_users
