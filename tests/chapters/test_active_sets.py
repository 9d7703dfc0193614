"""Active sets: numbers, order, use by collectives, limits and errors."""

from __future__ import annotations

import numpy as np
import pytest
from common import refused, same

import ishmem
from ishmem.testing import Pes


def sets(n: int) -> list[tuple[int, int, int]]:
    """Give sets with gaps, backwards, of one PE and of all, that overlap."""
    every = [(s, d, k) for s in range(n) for d in (-2, -1, 0, 1, 2) for k in range(1, n + 1)]
    return [(s, d, k) for s, d, k in every if (d or k == 1) and 0 <= s + (k - 1) * d < n]


def members(start: int, stride: int, size: int) -> list[int]:
    return [start + stride * k for k in range(size)]


def check_sets(rounds: int) -> None:
    """Members call for sets that overlap, in one order, at different times; destroyed, they are made anew."""
    me, n = ishmem.my_pe(), ishmem.n_pes()
    for _ in range(rounds):
        made: dict[tuple[int, ...], ishmem.Team] = {}
        for wanted in sets(n):
            pes = members(*wanted)
            if me not in pes:
                continue
            team = ishmem.active_set(*wanted)
            made.setdefault(tuple(pes), team)
            assert team is made[tuple(pes)], wanted
            assert (team.my_pe(), team.n_pes()) == (pes.index(me), len(pes))
            assert [team.translate_pe(k, ishmem.TEAM_WORLD) for k in range(len(pes))] == pes
            team.sync()
        handles = [team.handle for team in made.values()]
        assert len(set(handles)) == len(handles)
        for pes, team in made.items():
            assert ishmem.active_set(pes[0], pes[1] - pes[0] if len(pes) > 1 else 7, np.int64(len(pes))) is team
            team.destroy()
            refused(ishmem.StateError, "was destroyed", team.sync)


@pytest.mark.ishmem
def test_collectives_take_active_sets() -> None:
    me, n = ishmem.my_pe(), ishmem.n_pes()
    count, total = ishmem.array(np.full(3, me + 1)), ishmem.zeros(3, dtype="i8")
    split = ishmem.TEAM_WORLD.split_strided(n - 1, -1, n)  # takes its handle between those of the sets
    for wanted in ((0, 2, (n + 1) // 2), (n - 1, -1, n)):
        pes = members(*wanted)
        if me in pes:
            ishmem.sum_reduce(total, count, team=ishmem.active_set(*wanted))
            same(total, np.full(3, sum(pe + 1 for pe in pes)))
            ishmem.broadcast(total, count, len(pes) - 1, team=ishmem.active_set(*wanted))
            same(total, np.full(3, pes[-1] + 1))
            ishmem.team_sync(ishmem.active_set(*wanted))
        later = ishmem.TEAM_WORLD.split_2d(2)
        for team in later:
            team.sync()
            team.destroy()
    for wanted in ((0, 2, (n + 1) // 2), (n - 1, -1, n)):
        if me in members(*wanted):
            ishmem.active_set(*wanted).destroy()
    split.destroy()


@pytest.mark.ishmem
def test_wrong_sets_are_refused() -> None:
    me, n = ishmem.my_pe(), ishmem.n_pes()
    for arguments, error, words in (
        ((0, 1, n + 1), ValueError, f"reaches PE {n}; PEs are numbered 0 to {n - 1}"),
        ((-1, 1, 1), ValueError, "reaches PE -1"),
        ((0, -1, 2), ValueError, "reaches PE -1"),
        ((0, 0, 2), ValueError, "stride is 0 and size is 2"),
        ((0, 1, 0), ValueError, "size is 0"),
        ((0, 1.5, 1), TypeError, "stride is an integer, got float"),
        (((me + 1) % n, 1, 1), ValueError, rf"PE {me} is not in the active set .* only PEs \[{(me + 1) % n}\]"),
    ):
        if n > 1 or "is not in" not in words:
            refused(error, words, ishmem.active_set, *arguments)


def check_full(limit: int) -> None:
    """When numbers run out all members raise, and the next that fits works."""
    me, n = ishmem.my_pe(), ishmem.n_pes()
    teams = [ishmem.TEAM_WORLD.split_strided(0, 1, n) for _ in range(limit - 3)]
    for _ in range(3):
        with pytest.raises(ishmem.IshmemError, match="active_set: too many teams are alive; ISHMEM_TEAMS_MAX is"):
            ishmem.active_set(0, 1, n)
    teams.pop(0).destroy()
    single = ishmem.active_set(0, 1, 1) if me == 0 else None
    if n > 1:
        with pytest.raises(ishmem.IshmemError, match="too many teams"):
            ishmem.active_set(0, 1, n)  # PE 0 has none free
    if single:
        single.destroy()
    whole = ishmem.active_set(0, 1, n)
    whole.sync()
    for team in (whole, *teams):
        team.destroy()


def test_sets_overlap_and_may_be_made_anew(pes: Pes) -> None:
    pes.run(check_sets, 3)
    with Pes(pes.n) as alone:  # where no other test has left a team
        alone.run(check_full, 64)


@pytest.mark.ishmem(4, init=False)
def test_members_that_disagree_raise() -> None:
    """PE 2 gets no message from a member that disagrees with it: PE 1 sends it the error."""
    asked = ((0, 1, 2), (0, 1, 3), (0, 1, 3), (3, 1, 1))
    said = [f"PE {pe}: start=0, stride=1, size={asked[pe][2]}" for pe in range(2)]
    first = {
        0: f"{said[0]}; {said[1]}", 1: f"{said[1]}; {said[0]}",
        2: r"the PEs disagree; PE 1 asks for start=0, stride=1, size=3, PE 0 does not|PE [01] has given up",
    }  # fmt: skip
    with ishmem.init():
        me, whole = ishmem.my_pe(), ishmem.active_set(0, 1, 4)
        for turn in range(5):
            if me == 3:
                ishmem.active_set(*asked[me])
            else:
                words = "an earlier call with an active set failed" if turn else first[me]
                refused(ishmem.SymmetryError, words, ishmem.active_set, *asked[me])
        whole.sync()
