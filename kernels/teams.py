"""Device implementations of ``ishmem.teams``. A team that a kernel names, or receives as an argument, is its handle.

Queries return -1 if the handle is not a team of this PE, or if the team was destroyed.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any, NamedTuple

from numba.core import ir, types
from numba.core.rewrites import register_rewrite
from numba.extending import typeof_impl

from ishmem import memory, teams
from ishmem.common.layout import LINE, TWIN, TeamRecord
from ishmem.common.violations import argument_number, routine_number
from ishmem.teams import Team

from .atomic_instructions import atomic_load_word
from .forms import array_and_integers, form, integers
from .intrinsics import compiled, load_word, without_elements
from .options import CHECK
from .rewrites import AssignmentRewrite, constant_of
from .runtime_checks import is_team_pe
from .spec_constants import pe_count, team_records, this_pe

TEAM_PTR, PE = routine_number("team_ptr"), argument_number("pe")
WORLD = 0  # the handle of TEAM_WORLD, whose members are constants of the process
START, STRIDE, SIZE, ME, PES = (TeamRecord.at(field) for field in ("start", "stride", "size", "me", "pes"))


class TeamMembers(NamedTuple):
    """The members of a team: member ``i`` is PE ``start + i * stride``; this PE is member ``me`` of ``size``.

    In a team without a stride, kernels use the numbers of `Layout.alias` for its members.
    """

    start: int
    stride: int
    size: int
    me: int


@compiled
def is_team(team):
    """Return whether ``team`` is the handle of an existing team that contains this PE."""
    return team == WORLD or (0 <= team < TWIN and atomic_load_word(team_records() + LINE * team + SIZE) > 0)


@compiled
def members_of(team):
    """Return the `TeamMembers` of a team of this PE; a team does not change while kernels use it."""
    if team == WORLD:
        return TeamMembers(0, 1, pe_count(), this_pe())
    record = team_records() + LINE * team
    return TeamMembers(
        load_word(record + START), load_word(record + STRIDE), load_word(record + SIZE), load_word(record + ME)
    )


@compiled
def pe_of(members, member):
    """Return the number by which kernels reach a member: its PE number, except in a team without a stride."""
    return members.start + member * members.stride


@compiled
def listed_pes(team):
    """Return the address of the list of PE numbers of a team without a stride; 0 for other teams."""
    return 0 if team == WORLD else load_word(team_records() + LINE * team + PES)


@compiled
def world_pe(team, members, member):
    """Return the PE number in the job of member number ``member`` of a team."""
    listed = listed_pes(team)
    return pe_of(members, member) if listed == 0 else load_word(listed + 8 * member)


@compiled
def member_of(team, members, pe):
    """Return the member number of PE ``pe`` in a team; -1 if it is not a member."""
    listed, distance = listed_pes(team), pe - members.start
    if listed != 0:
        for member in range(members.size):
            if load_word(listed + 8 * member) == pe:
                return member
        return -1
    member = distance // members.stride
    return member if distance % members.stride == 0 and 0 <= member < members.size else -1


def _team_my_pe(team):
    return members_of(team).me if is_team(team) else -1


def _team_n_pes(team):
    return members_of(team).size if is_team(team) else -1


def _team_translate_pe(src_team, src_pe, dest_team):
    if not is_team(src_team) or not is_team(dest_team):
        return -1
    source = members_of(src_team)
    if src_pe < 0 or src_pe >= source.size:
        return -1
    return member_of(dest_team, members_of(dest_team), world_pe(src_team, source, src_pe))


def _team_ptr(team, a, pe):
    if is_team(team):
        members = members_of(team)
        if is_team_pe(TEAM_PTR, PE, pe, members.size) if CHECK else 0 <= pe < members.size:
            return memory.ptr(a, world_pe(team, members, pe))
    return without_elements(a)


form(teams.team_my_pe, integers, _team_my_pe)
form(teams.team_n_pes, integers, _team_n_pes)
form(teams.team_translate_pe, integers, _team_translate_pe)
form(teams.team_ptr, array_and_integers, _team_ptr)


# ---- teams as handles


@typeof_impl.register(Team)
def _typeof(_team: Team, _context: Any) -> Any:
    return types.int64


@register_rewrite("before-inference")
class TeamConstants(AssignmentRewrite):
    """Replaces teams by their handles: ``ishmem.TEAM_WORLD``, global and closure variables, and their ``handle``."""

    def replacement(self, statement: Any) -> list[Any] | None:
        """Return the assignment of the handle of a team, if a statement assigns a team; else None."""
        team, loc = _team(self.func_ir, statement.value), statement.loc
        return None if team is None else [ir.Assign(ir.Const(team.handle, loc), statement.target, loc)]


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
