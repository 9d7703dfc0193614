"""Teams inside kernels: the device forms of ``ishmem.teams``, on ``team.handle``.

A handle that is no team of this PE, and one whose team was destroyed, has -1 for everything.
"""

from __future__ import annotations

from ishmem import query, teams
from ishmem.common.layout import LINE, TWIN, TeamRecord

from . import type_checks
from .intrinsics import atomic_load_word, compiled, device
from .spec_constants import team_records

START, STRIDE, SIZE, ME = (TeamRecord.at(field) for field in ("start", "stride", "size", "me"))


@compiled
def is_team(team):
    """Return whether this PE is in a team with that handle."""
    return 0 <= team < TWIN and atomic_load_word(team_records() + LINE * team + SIZE) > 0


@compiled
def team_facts(team):
    """Return start, stride, size and the number of this PE, of a team that is one."""
    record = team_records() + LINE * team
    start, stride = atomic_load_word(record + START), atomic_load_word(record + STRIDE)
    return start, stride, atomic_load_word(record + SIZE), atomic_load_word(record + ME)


@device(teams.team_my_pe)
def _team_my_pe(team):
    type_checks.integer("team_my_pe", "team", team)
    return lambda team: team_facts(team)[3] if is_team(team) else -1


@device(teams.team_n_pes)
def _team_n_pes(team):
    type_checks.integer("team_n_pes", "team", team)
    return lambda team: team_facts(team)[2] if is_team(team) else -1


@device(teams.team_translate_pe)
def _team_translate_pe(src_team, src_pe, dest_team):
    for name, kind in (("src_team", src_team), ("src_pe", src_pe), ("dest_team", dest_team)):
        type_checks.integer("team_translate_pe", name, kind)

    def impl(src_team, src_pe, dest_team):
        if not is_team(src_team) or not is_team(dest_team):
            return -1
        first, step, count, _me = team_facts(src_team)
        start, stride, size, _me = team_facts(dest_team)
        distance = first + src_pe * step - start
        if src_pe < 0 or src_pe >= count or distance % stride != 0:
            return -1
        member = distance // stride
        return member if 0 <= member < size else -1

    return impl


@device(teams.team_ptr)
def _team_ptr(team, a, pe):
    type_checks.integer("team_ptr", "team", team)
    type_checks.array("team_ptr", "a", a)
    type_checks.integer("team_ptr", "pe", pe)

    def impl(team, a, pe):
        start, stride, _size, _me = team_facts(team)
        return query.ptr(a, start + pe * stride)

    return impl
