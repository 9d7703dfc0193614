"""Teams: splits, numbers, synchronisation, limits and errors, on the host and in kernels."""

from __future__ import annotations

import time
import warnings

import numpy as np
import pytest
from common import dpex, dpnp, kapi, refused, same

import ishmem
from ishmem.runtime import job
from ishmem.testing import Pes

INVALID, WORLD = ishmem.TEAM_INVALID, ishmem.TEAM_WORLD


def splits(size: int) -> list[tuple[int, int, int]]:
    """Give every start, stride and size that a team of ``size`` PEs can be split by."""
    return [
        (start, stride, count)
        for start in range(size)
        for stride in range(-size + 1, size)
        for count in range(1, size + 1)
        if (stride != 0 or count == 1) and 0 <= start + (count - 1) * stride < size
    ]


def check_numbers(team, members: list[int]) -> None:
    """Compare a team with the list of its members in the world."""
    me = ishmem.my_pe()
    assert bool(team) == (me in members), (team, members)
    if not team:
        assert team == INVALID
        assert (team.my_pe(), team.n_pes(), team.handle) == (-1, -1, -1)
        assert team.translate_pe(0, WORLD) == WORLD.translate_pe(0, team) == -1
        return
    assert (team.my_pe(), team.n_pes()) == (members.index(me), len(members))
    assert (ishmem.team_my_pe(team), ishmem.team_n_pes(team)) == (members.index(me), len(members))
    for number in range(-1, len(members) + 1):
        inside = 0 <= number < len(members)
        assert team.translate_pe(number, WORLD) == (members[number] if inside else -1)
    for pe in range(ishmem.n_pes()):
        assert ishmem.team_translate_pe(WORLD, pe, team) == (members.index(pe) if pe in members else -1)


@pytest.mark.ishmem
def test_numbers_of_strided_splits() -> None:
    for start, stride, count in splits(ishmem.n_pes()):
        team = WORLD.split_strided(start, stride, count)
        check_numbers(team, [start + stride * k for k in range(count)])
        team.destroy()


@pytest.mark.ishmem
def test_numbers_of_splits_of_splits() -> None:
    """Splits of a split one; those not in it get TEAM_INVALID without calling anything."""
    n = ishmem.n_pes()
    with WORLD.split_strided(n - 1, -1, n) as parent:
        assert parent.my_pe() == n - 1 - ishmem.my_pe()
        for start, stride, count in splits(n):
            with parent.split_strided(start, stride, count) as team:
                check_numbers(team, [n - 1 - start - stride * k for k in range(count)])
                size = team.n_pes()
                inner = ishmem.team_split_strided(team, size - 1, -1, size, num_contexts=2)
                check_numbers(inner, [n - 1 - start - stride * k for k in reversed(range(count))])
                assert inner.translate_pe(0, team) == size - 1 if inner else not team
                if inner:
                    assert ishmem.team_get_config(inner).num_contexts == 2
                    assert team.get_config().num_contexts == 0
                ishmem.team_destroy(inner)


@pytest.mark.ishmem
def test_numbers_of_2d_splits() -> None:
    n, me = ishmem.n_pes(), ishmem.my_pe()
    for reverse in (False, True):
        parent = WORLD.split_strided(n - 1, -1, n) if reverse else WORLD
        world = [n - 1 - k for k in range(n)] if reverse else list(range(n))
        mine = parent.my_pe()
        for xrange in range(1, n + 2):
            width = min(xrange, n)
            x, y = parent.split_2d(xrange)
            row, column = mine // width, mine % width
            check_numbers(x, [world[k] for k in range(n) if k // width == row])
            check_numbers(y, [world[k] for k in range(n) if k % width == column])
            x.sync(), y.sync()
            assert (x.my_pe(), y.my_pe()) == (column, row), me
            x.destroy(), y.destroy()
        if reverse:
            parent.destroy()
    assert ishmem.team_split_2d(INVALID, 1) == (INVALID, INVALID)


@pytest.mark.ishmem
def test_predefined_teams() -> None:
    everyone, near = list(range(ishmem.n_pes())), list(job.current().node.pes)
    teams = (WORLD, "WORLD", everyone), (ishmem.TEAM_SHARED, "SHARED", near), (ishmem.TEAM_NODE, "NODE", near)
    for team, name, members in teams:
        check_numbers(team, members)
        team.sync()
        assert repr(team) == f"ishmem.TEAM_{name}"
        refused(ValueError, f"TEAM_{name} lives from init to finalize", team.destroy)
    assert ishmem.TEAM_SHARED != WORLD
    assert not INVALID
    INVALID.destroy()
    assert INVALID.split_strided(0, 1, 1) == INVALID
    for call in (INVALID.sync, INVALID.get_config):
        refused(ValueError, "TEAM_INVALID", call)
    refused(TypeError, "pe is an integer", WORLD.translate_pe, 0.5, WORLD)
    refused(TypeError, "in", ishmem.team_sync_work_group, 0, None)


@pytest.mark.ishmem
def test_wrong_splits_are_refused_on_all_pes() -> None:
    """Wrong arguments on one PE or on all raise on every PE, and the next split works."""
    me, n = ishmem.my_pe(), ishmem.n_pes()
    for arguments, error, words in (
        ((0, 1, n + 1), ValueError, f"reaches PE {n}"),
        ((n, 1, 1), ValueError, f"start={n}, stride=1, size=1 reaches PE {n}"),
        ((-1, 1, 1), ValueError, "reaches PE -1"),
        ((0, -1, 2), ValueError, "reaches PE -1"),
        ((0, 0, 2), ValueError, "stride is 0 and size is 2"),
        ((0, 1, 0), ValueError, "size is 0; it must be at least 1"),
        ((0, 1, 0.5), TypeError, "size is an integer, got float"),
        (("a", 1, 1), TypeError, "start is an integer, got str"),
    ):
        refused(error, words, WORLD.split_strided, *arguments)
        if n > 1:
            with pytest.raises((error, ishmem.SymmetryError), match=words):
                WORLD.split_strided(*(arguments if me == n - 1 else (0, 1, n)))
    for xrange, error in ((0, ValueError), (-3, ValueError), (None, TypeError)):
        refused(error, "xrange is", WORLD.split_2d, xrange)
    refused(ValueError, "num_contexts is -1", WORLD.split_strided, 0, 1, n, num_contexts=-1)
    if n > 1:
        for differing in ((me, 1, 1), (0, 1, 1 + me)):
            refused(ishmem.SymmetryError, "split_strided: the PEs disagree", WORLD.split_strided, *differing)
        refused(ishmem.SymmetryError, "split_2d: the PEs disagree", WORLD.split_2d, 1 + me)
    test_numbers_of_strided_splits()


@pytest.mark.ishmem
def test_destroyed_teams_are_refused() -> None:
    n = ishmem.n_pes()
    old = WORLD.split_strided(0, 1, n)
    handle = old.handle
    old.destroy()
    new = WORLD.split_strided(n - 1, -1, n)
    assert new.handle == handle
    assert old != new
    moves = ((old.translate_pe, 0, WORLD), (WORLD.translate_pe, 0, old), (old.split_strided, 0, 1, 1))
    for call, *arguments in ((old.my_pe,), (old.n_pes,), (old.sync,), (old.destroy,), (old.get_config,), *moves):
        refused(ishmem.StateError, "was destroyed", call, *arguments)
    new.sync()
    with pytest.raises(KeyError), new:
        raise KeyError
    assert new.n_pes() == n  # an error leaves it alone
    new.destroy()


def check_limit(limit: int) -> None:
    n = ishmem.n_pes()
    teams = [WORLD.split_strided(0, 1, n) for _ in range(limit - 4)]
    single = WORLD.split_strided(0, 1, 1)  # the last that PE 0 can be in
    refused(ishmem.IshmemError, f"ISHMEM_TEAMS_MAX is {limit}", WORLD.split_strided, 0, 1, n)
    with pytest.raises(ishmem.IshmemError, match=f"ISHMEM_TEAMS_MAX is {limit}"):
        WORLD.split_2d(n)  # PEs but 0 have room for one of the two
    if n > 1:
        last = WORLD.split_strided(1, 1, n - 1)
        assert last.handle == single.handle or not (last and single)
        refused(ishmem.IshmemError, "too many teams", WORLD.split_strided, 0, 1, 1)
        last.destroy()
    teams.pop(0).destroy()
    teams.append(WORLD.split_strided(0, 1, n))
    for team in (*teams, single):
        team.destroy()
    x, y = WORLD.split_2d(n)
    x.destroy(), y.destroy()


def test_teams_are_limited(pes: Pes) -> None:
    with Pes(pes.n) as alone:  # where no other test has left a team
        alone.run(check_limit, 64)


@pytest.mark.ishmem(2, init=False, env={"ISHMEM_TEAMS_MAX": "4"})
def test_the_limit_of_teams_is_a_setting() -> None:
    """The predefined teams can be named before init; a team that is left alive is no leak."""
    assert repr(WORLD) == "ishmem.TEAM_WORLD" and ishmem.TEAM_NODE and not INVALID
    with ishmem.init(), warnings.catch_warnings():
        warnings.simplefilter("error")
        team = WORLD.split_strided(0, 1, 2)
        for _ in range(2):
            refused(ishmem.IshmemError, "ISHMEM_TEAMS_MAX is 4", WORLD.split_strided, 0, 1, 2)
        assert ishmem.team_ptr(team, ishmem.zeros(1), 0) is not None
        ishmem.free_all()


# --- synchronisation


@pytest.mark.ishmem
def test_no_pe_leaves_a_sync_early() -> None:
    """No PE leaves a sync before all of the team have entered it; with overlapping teams and reused handles."""
    rounds = 150
    me, n = ishmem.my_pe(), ishmem.n_pes()
    count = ishmem.zeros(1, dtype="i8")
    for number in range(rounds):
        start, stride, size = splits(n)[7 * number % len(splits(n))]
        team = WORLD.split_strided(start, stride, size)
        if team:
            if number % 3 == 0 and team.my_pe() == 0:
                time.sleep(0.002)
            for turn in range(1, 2 + number % 5):
                for pe in range(size):
                    ishmem.atomic_inc(count, team.translate_pe(pe, WORLD))
                ishmem.quiet()  # a sync completes nothing
                team.sync()
                assert ishmem.g(count, me) >= turn * size
                ishmem.team_sync(team)
                assert ishmem.g(count, me) >= turn * size
            team.sync()
            ishmem.p(count, 0, me)
        team.destroy()


@pytest.mark.ishmem
def test_teams_synchronise_independently() -> None:
    """Halves of the world synchronise as often as they like, on their own.

    Fails only by a time-out: a sync waits for the other half.
    """
    me, n = ishmem.my_pe(), ishmem.n_pes()
    team = [WORLD.split_strided(k, 2, (n - k + 1) // 2) for k in range(min(2, n))][me % 2]
    for _ in range(100 * (1 + me % 2)):
        team.sync()
    ishmem.barrier_all()
    team.destroy()


@pytest.mark.ishmem(3, init=False)
def test_a_pe_finalises_while_others_synchronise() -> None:
    """The last PE finalises while the others synchronise a team."""
    with ishmem.init():
        team = WORLD.split_strided(0, 1, 2)
        for _ in range(200 if team else 0):
            time.sleep(0.001 * (ishmem.my_pe() == 0))
            team.sync()


# --- in kernels


@dpex.kernel
def look(item: kapi.Item, handles, out, array, near, written):
    for i in range(handles.size):
        out[i, 0] = ishmem.team_my_pe(handles[i])
        out[i, 1] = ishmem.team_n_pes(handles[i])
        place = 2
        for j in range(handles.size):
            for pe in range(-1, ishmem.n_pes() + 1):
                out[i, place] = ishmem.team_translate_pe(handles[i], pe, handles[j])
                place += 1
        for pe in range(-1, ishmem.n_pes() + 1):
            out[i, place] = ishmem.team_ptr(handles[i], array, pe) is not None
            place += 1
    for i in range(near.size):
        ishmem.team_ptr(handles[0], array, near[i])[ishmem.my_pe()] = written


@dpex.kernel
def meet(item: kapi.NdItem, handles, count, out, rounds):
    group = item.get_group()
    first = item.get_local_id(0) == 0
    for turn in range(1, rounds + 1):
        for i in range(handles.size):
            team = handles[i]
            size = ishmem.team_n_pes(team)
            if first:
                for pe in range(size):
                    ishmem.atomic_inc(count, ishmem.team_translate_pe(team, pe, 0), i)
                ishmem.quiet()  # which a sync does not do
            if turn % 2 == 0:
                ishmem.team_sync_work_group(team, group)
            elif first:
                out[1] = ishmem.team_sync(team)
            if first and size > 0 and ishmem.atomic_fetch(count, ishmem.my_pe(), i) < turn * size:
                out[0] += 1
    if first:
        out[2] = ishmem.team_sync(-1)
        out[3] = ishmem.team_sync(64)


def check_kernel(rounds: int) -> None:
    me, n = ishmem.my_pe(), ishmem.n_pes()
    back = WORLD.split_strided(n - 1, -1, n)
    even, row = WORLD.split_strided(0, 2, (n + 1) // 2), WORLD.split_2d(2)[0]
    gone = WORLD.split_strided(0, 1, n)
    gone.destroy()
    teams = [back, WORLD, even, row, INVALID]
    handles = dpnp.asarray(np.array([team.handle for team in teams] + [gone.handle, 1000], "i8"))
    out, array = dpnp.zeros((7, 2 + 8 * (n + 2)), dtype="i8"), ishmem.zeros(n, dtype="i4")
    node = [pe for pe in range(n) if ishmem.ptr(array, pe) is not None]
    near = dpnp.asarray(np.array([WORLD.translate_pe(pe, back) for pe in node]))
    dpex.call_kernel(look, kapi.Range(1), handles, out, array, near, me + 1)
    wanted = np.full(out.shape, -1)
    wanted[:, -n - 2 :] = 0
    for i, team in enumerate(teams):
        wanted[i, :2] = team.my_pe(), team.n_pes()
        for j, other in enumerate(teams):
            for pe in range(-1, n + 1):
                wanted[i, 2 + j * (n + 2) + pe + 1] = team.translate_pe(pe, other)
        for pe in range(n):
            wanted[i, -n - 1 + pe] = team.translate_pe(pe, WORLD) in node
    same(out, wanted)
    ishmem.barrier_all()
    same(array, np.array([pe + 1 if pe in node else 0 for pe in range(n)], "i4"))
    # Each of them counts of its own, whatever the others are at.
    for _ in range(2):
        count, result = ishmem.zeros(5, dtype="i8"), dpnp.zeros(4, dtype="i8")
        dpex.call_kernel(meet, kapi.NdRange((6,), (6,)), handles[:4], count, result, rounds)
        same(result, np.array([0, 0 if row else -1, -1, -1]))
        ishmem.barrier_all()
        same(count, np.array([rounds * max(team.n_pes(), 0) for team in teams]))
        # A handle that was used in kernels serves another team.
        back.destroy()
        back = WORLD.split_strided(0, 1, n)
        assert back.handle == int(handles[0])
        teams[0] = back
    for team in (back, even, row):
        team.destroy()


@pytest.mark.ishmem
def test_numbers_and_syncs_in_kernels() -> None:
    check_kernel(20 if ishmem.n_pes() < 3 else 4)
