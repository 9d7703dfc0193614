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
START, STRIDE, SIZE, ME, PES = (TeamRecord.at(field) for field in ("start", "stride", "size", "me", "pes"))


class Members(NamedTuple):
    """The members of a team: member ``i`` is PE ``start + i * stride``; this PE is member ``me`` of ``size``.

    Those of a team without a stride have the numbers of `Layout.alias`, by which kernels reach them.
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
    """Return the `Members` of a team of this PE; a team does not change while kernels use it."""
    if team == WORLD:
        return Members(0, 1, pe_count(), this_pe())
    record = team_records() + LINE * team
    return Members(
        load_word(record + START), load_word(record + STRIDE), load_word(record + SIZE), load_word(record + ME)
    )


@compiled
def pe_of(members, member):
    """Return the number by which kernels reach a member: its PE number, except in a team without a stride."""
    return members.start + member * members.stride


@compiled
def listed_pes(team):
    """Return the address of the PE numbers of a team without a stride, else 0."""
    return 0 if team == WORLD else load_word(team_records() + LINE * team + PES)


@compiled
def world_pe(team, members, member):
    """Return the PE number of a member."""
    listed = listed_pes(team)
    return pe_of(members, member) if listed == 0 else load_word(listed + 8 * member)


@compiled
def member_of(team, members, pe):
    """Return the number in a team of a PE; -1 if it is not a member."""
    listed, distance = listed_pes(team), pe - members.start
    if listed != 0:
        for member in range(members.size):
            if load_word(listed + 8 * member) == pe:
                return member
        return -1
    member = distance // members.stride
    return member if distance % members.stride == 0 and 0 <= member < members.size else -1


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
        source = members_of(src_team)
        if src_pe < 0 or src_pe >= source.size:
            return -1
        return member_of(dest_team, members_of(dest_team), world_pe(src_team, source, src_pe))

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
                return memory.ptr(a, world_pe(team, members, pe))
        return without_elements(a)

    return impl
