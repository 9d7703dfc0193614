"""Passes over numba's IR of a function before type inference."""

from __future__ import annotations

import builtins
from typing import Any

from numba.core import ir
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.ir_utils import find_const, guard


@register_pass(mutates_CFG=True, analysis_only=False)
class EmptyBlocks(FunctionPass):  # type: ignore[misc]
    """Redirects branches to blocks that only jump to the targets of these jumps.

    From 3.12 on, CPython ends a ``while`` loop with a branch around a jump back. LLVM may choose that jump as the
    loop's latch and, as the latch has no exit, copy the body in front of the loop. Values then move between registers
    in each iteration.
    """

    _name = "dpex_empty_blocks"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        """Redirect the branches of a function and remove the unused blocks; return whether there were any."""
        blocks = state.func_ir.blocks
        leads = {label: each.body[0].target for label, each in blocks.items() if isinstance(each.body[0], ir.Jump)}
        for label in [each for each, to in leads.items() if to == each or to in leads]:
            del leads[label]
        for block in blocks.values():
            last = block.body[-1]
            if isinstance(last, ir.Branch):
                to = (leads.get(label, label) for label in (last.truebr, last.falsebr))
                block.body[-1] = ir.Branch(last.cond, *to, last.loc)
            elif isinstance(last, ir.Jump):
                block.body[-1] = ir.Jump(leads.get(last.target, last.target), last.loc)
        entry = min(blocks)
        for label in leads:
            if label != entry:
                del blocks[label]
        return bool(leads)


@register_pass(mutates_CFG=False, analysis_only=False)
class ConstantAttributes(FunctionPass):  # type: ignore[misc]
    """Replaces ``getattr(x, "name")`` with a constant name by an attribute access, as is necessary for methods.

    numba's ``getattr`` passes the name as a string at run time, which needs memory that kernels do not have.
    """

    _name = "dpex_constant_attributes"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        """Replace the calls in the function of ``state``, numba's compiler state; return whether there were any."""
        found = False
        for block in state.func_ir.blocks.values():
            for statement in block.find_insts(ir.Assign):
                attribute = _attribute(state.func_ir, statement.value)
                if attribute is not None:
                    statement.value, found = attribute, True
        return found


def _attribute(code: Any, call: Any) -> Any:
    """Return the attribute expression equivalent to a call of ``getattr``; ``None`` for other expressions."""
    if not (isinstance(call, ir.Expr) and call.op == "call" and len(call.args) == 2 and not call.kws):
        return None
    if guard(find_const, code, call.func) is not builtins.getattr:
        return None
    name = guard(find_const, code, call.args[1])
    return ir.Expr.getattr(call.args[0], name, call.loc) if isinstance(name, str) else None
