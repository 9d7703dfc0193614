"""Teams in kernels: a team that a kernel names, or receives as an argument, is its handle."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from numba.core import ir, types
from numba.core.rewrites import Rewrite, register_rewrite
from numba.extending import typeof_impl

from ishmem.teams import Team

from .numba_ir import constant_of


@typeof_impl.register(Team)
def _typeof(_team: Team, _context: Any) -> Any:
    return types.int64


@register_rewrite("before-inference")
class TeamConstants(Rewrite):  # type: ignore[misc]
    """Replaces ``ishmem.TEAM_WORLD``, a global or closure variable that is a team, and its ``handle`` by the handle."""

    def match(self, func_ir: Any, block: Any, _typemap: Any, _calltypes: Any) -> bool:
        """Find the teams of a block."""
        self._block = block
        self._found: dict[Any, int] = {}
        for statement in block.find_insts(ir.Assign):
            team = _team(func_ir, statement.value)
            if team is not None:
                self._found[statement] = team.handle
        return bool(self._found)

    def apply(self) -> Any:
        """Return the block with handles."""
        block = self._block.copy()
        block.body = [self._replaced(statement) for statement in block.body]
        return block

    def _replaced(self, statement: Any) -> Any:
        if statement not in self._found:
            return statement
        loc = statement.loc
        return ir.Assign(ir.Const(self._found[statement], loc), statement.target, loc)


def _team(func_ir: Any, value: Any) -> Team | None:
    """Return the team that an expression names, also in ``team.handle``; None if it names none."""
    if isinstance(value, (ir.Global, ir.FreeVar)):
        return value.value if isinstance(value.value, Team) else None
    if not isinstance(value, ir.Expr) or value.op != "getattr":
        return None
    owner = constant_of(func_ir, value.value)
    if isinstance(owner, Team) and value.attr == "handle":
        return owner
    found = getattr(owner, value.attr, None) if isinstance(owner, ModuleType) else None
    return found if isinstance(found, Team) else None
