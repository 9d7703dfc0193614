"""``getattr(x, "name")`` with a constant name in kernels: the attribute itself, which methods need.

numba's ``getattr`` passes the name as a string at run time, which takes memory that kernels do not have.
"""

from __future__ import annotations

import builtins
from typing import Any

from numba.core import ir
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.ir_utils import find_const, guard


@register_pass(mutates_CFG=False, analysis_only=False)
class ConstantAttributes(FunctionPass):  # type: ignore[misc]
    """Replaces the calls of ``getattr`` whose name is a constant."""

    _name = "dpex_constant_attributes"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        """Replace them; return whether there were any."""
        found = False
        for block in state.func_ir.blocks.values():
            for statement in block.find_insts(ir.Assign):
                attribute = _attribute(state.func_ir, statement.value)
                if attribute is not None:
                    statement.value, found = attribute, True
        return found


def _attribute(code: Any, call: Any) -> Any:
    """Return the expression of the attribute that a call asks for, or ``None`` for other expressions."""
    if not (isinstance(call, ir.Expr) and call.op == "call" and len(call.args) == 2 and not call.kws):
        return None
    if guard(find_const, code, call.func) is not builtins.getattr:
        return None
    name = guard(find_const, code, call.args[1])
    return ir.Expr.getattr(call.args[0], name, call.loc) if isinstance(name, str) else None
