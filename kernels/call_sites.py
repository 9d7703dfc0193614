"""Where a wrong call stands: with ``ISHMEM_CHECK``, each call of ishmem in a kernel is followed by a note of its line.

The work-item that has recorded a violation writes kernel, file and line into the record after the call.
"""

from __future__ import annotations

from typing import Any

from numba.core import ir, types
from numba.core.ir_utils import mk_unique_var
from numba.core.rewrites import Rewrite, register_rewrite

from ishmem.common.callsite import CallSite
from ishmem.runtime import binding

from . import failures
from .intrinsics import device_intrinsic, registered
from .numba_ir import constant_of


@device_intrinsic
def note_call(_context, word0, word1, word2, word3, word4, word5):
    """Write the words into the record if this work-item has recorded a violation and no call is noted yet."""
    words = (word0, word1, word2, word3, word4, word5)

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        failures.emit_note(
            builder, [context.cast(builder, *each, types.int64) for each in zip(arguments, signature.args)]
        )
        return context.get_dummy_value()

    return types.void(*words), code


@register_rewrite("before-inference")
class CallSites(Rewrite):  # type: ignore[misc]
    """Inserts `note_call` after calls of ishmem in the program's device code."""

    def __init__(self, state: Any) -> None:
        super().__init__(state)
        self._done: set[Any] = set()

    def match(self, func_ir: Any, block: Any, _typemap: Any, _calltypes: Any) -> bool:
        """Find the calls of a block."""
        if not _is_checked(func_ir):
            return False
        self._name, self._block = func_ir.func_id.func_name, block
        self._found = [each for each in block.find_insts(ir.Assign) if self._is_call(func_ir, each.value)]
        self._found = [each for each in self._found if each not in self._done]
        return bool(self._found)

    def apply(self) -> Any:
        """Return the block with notes."""
        block = self._block.copy()
        block.clear()
        for statement in self._block.body:
            block.append(statement)
            if statement in self._found:
                self._done.add(statement)
                for added in self._note(block.scope, statement.loc):
                    block.append(added)
        return block

    def _is_call(self, func_ir: Any, value: Any) -> bool:
        if not isinstance(value, ir.Expr) or value.op != "call":
            return False
        called = constant_of(func_ir, value.func)
        return callable(called) and called in registered

    def _note(self, scope: Any, loc: Any) -> list[Any]:
        words = failures.words_of(self._name, loc.filename, loc.line)
        made = []

        def assign(value: Any, what: str) -> Any:
            target = ir.Var(scope, mk_unique_var(what), loc)
            made.append(ir.Assign(value, target, loc))
            return target

        arguments = [assign(ir.Const(word, loc), "$word") for word in words]
        function = assign(ir.Global("note_call", note_call, loc), "$note_call")
        assign(ir.Expr.call(function, arguments, (), loc), "$noted")
        return made


def _is_checked(func_ir: Any) -> bool:
    """Return whether a function is the program's, in a job with ``ISHMEM_CHECK``."""
    bound = binding.bound()
    return bound is not None and bound[0].check and CallSite(func_ir.func_id.filename, 0, "").is_users
