"""Device implementations of ``ishmem.teams``; kernels pass ``team.handle``.

Queries return -1 if the handle is not a team of this PE, or if the team was destroyed.
"""

from __future__ import annotations

from typing import NamedTuple

from ishmem import memory, teams
from ishmem.common.layout import LINE, TWIN, TeamRecord
from ishmem.common.violations import argument_number, number

from . import type_checks
from .intrinsics import atomic_load_word, compiled, device, load_word, without_elements
from .options import CHECK
from .runtime_checks import is_team_pe
from .spec_constants import pe_count, team_records, this_pe

WORLD = 0  # the handle of TEAM_WORLD, whose members are constants of the process
START, STRIDE, SIZE, ME = (TeamRecord.at(field) for field in ("start", "stride", "size", "me"))


class Members(NamedTuple):
    """The members of a team: member ``i`` is PE ``start + i * stride``; this PE is member ``me`` of ``size``."""

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
    """Return the `Members` of a team of this PE; a team does not change while kernels use it."""
    if team == WORLD:
        return Members(0, 1, pe_count(), this_pe())
    record = team_records() + LINE * team
    return Members(
        load_word(record + START), load_word(record + STRIDE), load_word(record + SIZE), load_word(record + ME)
    )


@compiled
def pe_of(members, member):
    """Return the PE number of a member."""
    return members.start + member * members.stride


@device(teams.team_my_pe)
def _team_my_pe(team):
    type_checks.integer("team_my_pe", "team", team)
    return lambda team: members_of(team).me if is_team(team) else -1


@device(teams.team_n_pes)
def _team_n_pes(team):
    type_checks.integer("team_n_pes", "team", team)
    return lambda team: members_of(team).size if is_team(team) else -1


@device(teams.team_translate_pe)
def _team_translate_pe(src_team, src_pe, dest_team):
    for name, kind in (("src_team", src_team), ("src_pe", src_pe), ("dest_team", dest_team)):
        type_checks.integer("team_translate_pe", name, kind)

    def impl(src_team, src_pe, dest_team):
        if not is_team(src_team) or not is_team(dest_team):
            return -1
        source, dest = members_of(src_team), members_of(dest_team)
        distance = source.start + src_pe * source.stride - dest.start
        if src_pe < 0 or src_pe >= source.size or distance % dest.stride != 0:
            return -1
        member = distance // dest.stride
        return member if 0 <= member < dest.size else -1

    return impl


@device(teams.team_ptr)
def _team_ptr(team, a, pe):
    type_checks.integer("team_ptr", "team", team)
    type_checks.array("team_ptr", "a", a)
    type_checks.integer("team_ptr", "pe", pe)
    routine, argument = number("team_ptr"), argument_number("pe")

    def impl(team, a, pe):
        if is_team(team):
            members = members_of(team)
            if is_team_pe(routine, argument, pe, members.size) if CHECK else 0 <= pe < members.size:
                return memory.ptr(a, pe_of(members, pe))
        return without_elements(a)

    return impl
