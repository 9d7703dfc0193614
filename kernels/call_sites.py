"""Call sites of ishmem in kernels, for error reports.

With ``ISHMEM_CHECK``, each call is followed by a note of its line: the work-item that has recorded a violation writes
kernel, file and line into the record. Before a call of a group, all its work-items note the call, which the error of a
lost device names. Calls that wait get the same as another argument, ``site``. Waits inside functions that calls share,
which take no such argument, are reported as the call that this PE's kernels have begun last.
"""

from __future__ import annotations

import functools
import inspect
from pathlib import Path
from typing import Any

from numba.core import cgutils, ir, types
from numba.core.errors import ConstantInferenceError
from numba.core.ir_utils import mk_unique_var
from numba.core.rewrites import Rewrite, register_rewrite

from ishmem.common import kernel_wait, text_words
from ishmem.common.callsite import CallSite
from ishmem.runtime import binding

from . import runtime_checks
from .intrinsics import device_intrinsic, registered
from .long_waits import store_begun_call, store_group_call_site
from .options import COPIES_BY_PROXY, PROXIED


def constant_of(func_ir: Any, variable: Any) -> Any:
    """Return the value of a variable that is a global or closure variable or an attribute of a module, else None."""
    try:
        return func_ir.infer_constant(variable)
    except ConstantInferenceError:
        return None


@device_intrinsic
def store_call_site(_context, words):
    """Write the words into the record if this work-item has recorded a violation and no call is noted yet."""

    def code(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        runtime_checks.emit_note(builder, cgutils.unpack_tuple(builder, arguments[0]))
        return context.get_dummy_value()

    return types.void(words), code


class CallRewrite(Rewrite):  # type: ignore[misc]
    """Replaces calls of ishmem in the program's device code, each once; a subclass says which, and by what."""

    def __init__(self, state: Any) -> None:
        super().__init__(state)
        self._done: set[Any] = set()

    def applies(self, func_ir: Any) -> bool:
        """Return whether the calls of a function are rewritten."""
        return is_users(func_ir)

    def concerns(self, statement: Any, called: Any) -> bool:
        """Return whether a call of a function is replaced."""
        raise NotImplementedError

    def replacement(self, statement: Any, called: Any, scope: Any) -> list[Any]:
        """Return the statements that replace a call."""
        raise NotImplementedError

    def match(self, func_ir: Any, block: Any, _typemap: Any, _calltypes: Any) -> bool:
        """Find the calls of a block."""
        self._ir, self._block = func_ir, block
        self._found: dict[Any, Any] = {}
        for statement in block.find_insts(ir.Assign) if self.applies(func_ir) else ():
            called = called_in(func_ir, statement.value)
            if called and statement not in self._done and self.concerns(statement, called):
                self._found[statement] = called
        return bool(self._found)

    def apply(self) -> Any:
        """Return the block with the calls replaced."""
        block = self._block.copy()
        block.clear()
        for statement in self._block.body:
            called = self._found.get(statement)
            made = self.replacement(statement, called, block.scope) if called else [statement]
            if called:
                self._done.update(made)
            for each in made:
                block.append(each)
        return block


@register_rewrite("before-inference")
class CallSites(CallRewrite):
    """Inserts `store_call_site`, for groups `store_group_call_site`, before calls of ishmem in device code."""

    def applies(self, func_ir: Any) -> bool:
        """Return whether the calls of a function are rewritten: in a job with ``ISHMEM_CHECK``."""
        bound = binding.bound()
        return bound is not None and bound[0].check and super().applies(func_ir)

    def concerns(self, statement: Any, called: Any) -> bool:
        """Return True: each call gets a note."""
        return True

    def replacement(self, statement: Any, called: Any, scope: Any) -> list[Any]:
        """Return a call and its notes."""
        loc, before = statement.loc, []
        if _takes(called, "group"):
            before = call_with(store_group_call_site, scope, loc, _words_of(self._ir, statement, called))
        words = runtime_checks.words_of(self._ir.func_id.func_name, loc.filename, loc.line)
        return [*before, statement, *call_with(store_call_site, scope, loc, words)]


@register_rewrite("before-inference")
class WaitSites(CallRewrite):
    """Passes their call sites to calls that wait in the program's device code."""

    def applies(self, func_ir: Any) -> bool:
        """Return whether the calls of a function are rewritten: in a job."""
        return binding.bound() is not None and super().applies(func_ir)

    def concerns(self, statement: Any, called: Any) -> bool:
        """Return whether a call waits; one that has an argument in the place of its site is left as it is, an error."""
        return not _has_site(called, statement.value) if _takes(called, "site") else _meets(called)

    def replacement(self, statement: Any, called: Any, scope: Any) -> list[Any]:
        """Return a call with the words of its call site as ``site``, or, if it takes none, after a note of them."""
        call, loc, words = statement.value, statement.loc, _words_of(self._ir, statement, called)
        if not _takes(called, "site"):
            return [*call_with(store_begun_call, scope, loc, words), statement]
        site = _assigned(ir.Const(words, loc), scope, loc)
        kws = (*call.kws, ("site", site.target))
        placed = ir.Expr.call(call.func, call.args, kws, call.loc, call.vararg, call.varkwarg)
        return [site, ir.Assign(placed, statement.target, loc)]


def _words_of(func_ir: Any, statement: Any, called: Any) -> tuple[int, ...]:
    """Return the words of the text of a call site."""
    name, place = func_ir.func_id.func_name, _place(statement.loc)
    text = kernel_wait.site_text(name, place, called.__name__, _first_argument(func_ir, statement.value))
    return text_words.pack(text, kernel_wait.WORDS)


def _place(loc: Any) -> str:
    return f"{Path(loc.filename).name}:{loc.line}"


def call_with(function: Any, scope: Any, loc: Any, *arguments: Any) -> list[Any]:
    """Return the statements of numba's IR for a call; tuples become constants, the last one assigns the result."""
    constants = {each: _assigned(ir.Const(each, loc), scope, loc) for each in arguments if isinstance(each, tuple)}
    callee = _assigned(ir.Global(function.__name__, function, loc), scope, loc)
    given = [constants[each].target if each in constants else each for each in arguments]
    call = ir.Expr.call(callee.target, given, (), loc)
    return [*constants.values(), callee, _assigned(call, scope, loc)]


def _assigned(value: Any, scope: Any, loc: Any) -> Any:
    """Return the statement that assigns a value to a new variable."""
    return ir.Assign(value, ir.Var(scope, mk_unique_var("$added"), loc), loc)


def called_in(func_ir: Any, value: Any) -> Any:
    """Return the function of ishmem that an expression calls, else None."""
    if not isinstance(value, ir.Expr) or value.op != "call":
        return None
    called = constant_of(func_ir, value.func)
    return called if callable(called) and called in registered else None


@functools.cache
def _takes(called: Any, argument: str) -> bool:
    """Return whether the device form of a function has an argument: ``group``, or the call site, ``site``."""
    return argument in inspect.signature(registered[called]).parameters


def _has_site(called: Any, call: Any) -> bool:
    """Return whether a program's call passes an argument as call site."""
    place = list(inspect.signature(registered[called]).parameters).index("site")
    return len(call.args) > place or "site" in dict(call.kws)


def _meets(called: Any) -> bool:
    """Return whether a function waits, but its device form does not take the call site."""
    module = called.__module__.rpartition(".")[2]
    by_proxy = PROXIED if module in _ATOMICS else COPIES_BY_PROXY
    return by_proxy or module in _COLLECTIVES


_ATOMICS = ("amo", "signals")
_COLLECTIVES = ("collectives", "reductions", "vcollectives")


def _first_argument(func_ir: Any, call: Any) -> str:
    """Return the name of the variable that is a call's first argument; empty if it is no variable."""
    variable = next(iter(call.args), None)
    while isinstance(variable, ir.Var):
        if not variable.name.startswith("$"):
            return str(variable.unversioned_name)
        variable = func_ir._definitions.get(variable.name, [None])[0]
    return ""


def is_users(func_ir: Any) -> bool:
    """Return whether a function is part of the program."""
    return CallSite(func_ir.func_id.filename, 0, "").is_users
