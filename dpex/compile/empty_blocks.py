"""Jumps through blocks that only jump.

From 3.12 on, CPython ends a ``while`` loop with a branch around a jump back. LLVM may take that jump for the loop's
latch and, as the latch has no exit, copy the body in front of the loop. Values then move between registers in each
turn.
"""

from __future__ import annotations

from typing import Any

from numba.core import ir
from numba.core.compiler_machinery import FunctionPass, register_pass


@register_pass(mutates_CFG=True, analysis_only=False)
class EmptyBlocks(FunctionPass):  # type: ignore[misc]
    """Lets branches lead to where the block leads that they would enter, if that only jumps."""

    _name = "dpex_empty_blocks"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        """Change the branches of a function, and remove the blocks that are no longer entered."""
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
