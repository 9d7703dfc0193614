"""barrier_all and sync_all, on the host and in kernels; collectives of the host, compared with numpy."""

from __future__ import annotations

import contextlib
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import collective_calls as calls
import collective_model as model
import numpy as np
import pytest
from common import both_forms, dpex, dpnp, kapi, refused, same, symmetric
from hypothesis import given, settings, strategies as st

import ishmem
from ishmem import _core
from ishmem.common import algorithms
from ishmem.common.collective_table import COLLECTIVES
from ishmem.common.type_tables import HALVES, REDUCTIONS
from ishmem.testing import Pes

WORLD = ishmem.TEAM_WORLD
OTHER_REDUCTIONS = [name for name in REDUCTIONS if name.endswith("_reduce") and name != "sum_reduce"]


@pytest.mark.ishmem
@pytest.mark.parametrize("routine", ["barrier_all", "sync_all"])
def test_no_pe_leaves_a_host_barrier_early(routine: str) -> None:
    """Every PE puts its round to all others; no PE is ever behind, or more than one round ahead."""
    rounds = 1200 // ishmem.n_pes()
    me, n = ishmem.my_pe(), ishmem.n_pes()
    slots, seen = ishmem.zeros(n, dtype="int64"), np.empty(n, "int64")
    wait = getattr(ishmem, routine)
    for r in range(1, rounds + 1):
        for pe in range(n):
            ishmem.p(slots, r, pe, me)
        ishmem.quiet()
        wait()
        ishmem.get(seen, slots, me)
        assert seen.min() >= r, (r, seen)
        assert seen.max() <= r + 1, (r, seen)


def rounds_by_group(item, slots, rank, wrong, first, rounds):  # type: ignore
    group = item.get_group()
    me, n, size = ishmem.my_pe(), ishmem.n_pes(), rank.size
    mine = rank[0] * 0
    for axis in range(item.dimensions):
        mine = mine * item.get_local_range(axis) + item.get_local_id(axis)
    for r in range(first, first + rounds):
        for pe in range(n):
            ishmem.p(slots, r, pe, me * size + mine)
        if r % 2:
            ishmem.barrier_all_work_group(group)
        else:
            ishmem.quiet_work_group(group)
            ishmem.sync_all_work_group(group)
        for pe in range(n):
            seen = ishmem.g(slots, me, pe * size + (mine + 1) % size)
            if seen < r or seen > r + 1:
                wrong[mine] += 1


ROUNDS = both_forms(rounds_by_group)


@pytest.mark.slow_cases("the same on 2 PEs", *(f"{n}pes-{shape}" for n in (1, 3) for shape in ((5, 7), (3, 5, 2))))
@pytest.mark.ishmem
@pytest.mark.parametrize("shape", ["alone", (1,), (7,), (24,), (5, 7), (3, 5, 2)], ids=str)
def test_no_work_item_leaves_a_barrier_early(shape: Any) -> None:
    """Stores of any work-item before the barrier are visible to all after it; host barriers are between kernels."""
    alone, n = shape == "alone", ishmem.n_pes()
    rounds = {1: 500, 2: 100, 3: 12, 4: 8}[n] if alone else {1: 20, 2: 8, 3: 4, 4: 2}[n]
    shape = (1,) if alone else shape
    kernel, space, size = ROUNDS[alone], kapi.NdRange(shape, shape), int(np.prod(shape))
    slots, wrong, rank = ishmem.zeros(n * size, dtype="int64"), *(dpnp.zeros(size, dtype="int64") for _ in range(2))
    dpex.call_kernel(kernel, space, slots, rank, wrong, 1, 0)
    ishmem.barrier_all()
    for part in range(3):
        dpex.call_kernel(kernel, space, slots, rank, wrong, 1 + part * rounds, rounds)
        if part:
            ishmem.barrier_all()
    ishmem.barrier_all()
    same(wrong, np.zeros(size, "int64"))
    same(slots, np.full(n * size, 3 * rounds))


def check_forced(routine: str, counts: tuple[int, ...], dtype: str) -> None:
    """Every algorithm, root and size."""
    n = ishmem.n_pes()
    dest, source = calls.arrays(routine, dtype, n, max(counts))
    for algorithm in calls.algorithms_of(routine):
        calls.force(algorithm)
        for seed, count in enumerate(counts):
            for root in range(n) if routine in model.ROOTED else [0]:
                calls.compare(routine, dest, source, WORLD, count, root, seed)
    calls.reset()


@pytest.mark.ishmem
@pytest.mark.parametrize("routine", COLLECTIVES)
def test_each_algorithm_root_and_size(routine: str) -> None:
    check_forced(routine, (0, 1, 3, 1000), "int64")


@pytest.mark.ishmem([2, 3])
@pytest.mark.parametrize("routine", COLLECTIVES)
def test_each_algorithm_with_large_arrays(routine: str) -> None:
    if routine in REDUCTIONS:
        check_forced(routine, ((1 << 17) + 3,), "int64")
    else:
        check_forced(routine, (999 if routine == "alltoalls" else (1 << 20) + 1,), "uint8")


@pytest.mark.ishmem(2)
@pytest.mark.parametrize("routine", ["alltoall", "fcollect"])
def test_blocks_larger_than_caches(routine: str) -> None:
    """Blocks so large that they are copied past the caches, from the start and from the end; nothing is aligned."""
    count = (16 << 20) + 21
    dest, source = calls.arrays(routine, "uint8", ishmem.n_pes(), count + 1)
    for seed in range(2):
        calls.compare(routine, dest[1:], source[2:], WORLD, count, seed=seed)
    ishmem.free(dest), ishmem.free(source)


@pytest.mark.ishmem(2)
def test_each_dtype_at_unaligned_offsets() -> None:
    """Every dtype of the table; reductions by every algorithm."""
    n = ishmem.n_pes()
    for routine, collective in COLLECTIVES.items():
        reduces = routine in REDUCTIONS
        for dtype in sorted({*collective.types} - {*HALVES}) if reduces else collective.types:
            dest, source = calls.arrays(routine, dtype, n, 37, guard=4)
            for algorithm in calls.algorithms_of(routine) if reduces else [""]:
                calls.force(algorithm) if reduces else calls.reset()
                reordered = reduces and calls.in_levels(algorithm) and "float" in dtype
                close, atol = reordered or (reduces and "complex" in dtype), 1e-5 if reordered else 0.0
                calls.compare(routine, dest[1:], source[3:], WORLD, 36, n - 1, close=close, atol=atol)
            if not reduces:
                calls.compare(routine, dest, source, WORLD, 1)
            ishmem.free(dest), ishmem.free(source)
    calls.reset()


@pytest.mark.ishmem
def test_sizes_come_from_the_arrays() -> None:
    """Without nelems, sizes come from the arrays."""
    me, n = ishmem.my_pe(), ishmem.n_pes()
    rows = np.arange(4 * n * n).reshape(n, n, 4)
    one, all_ = symmetric(rows[me, 0]), symmetric(rows[me])
    small, large = ishmem.zeros_like(one), ishmem.zeros_like(all_)
    ishmem.broadcast(small, one, n - 1)
    same(small, rows[n - 1, 0])
    for collect in (ishmem.fcollect, ishmem.collect):
        large[:] = 0
        collect(large, one)
        same(large, rows[:, 0])
    ishmem.alltoall(large, all_)
    same(large, rows[:, me])
    ishmem.scatter(small, all_, 0)
    same(small, rows[0, me])
    large[:] = 0
    ishmem.gather(large, one, n - 1)
    same(large, rows[:, 0] if me == n - 1 else np.zeros((n, 4), rows.dtype))
    ishmem.collect(large, one[: me + 1][: 4 if me < 4 else 0])
    same(large.ravel()[: n * (n + 1) // 2], np.concatenate([rows[j, 0, : j + 1] for j in range(n)]))
    ishmem.alltoallv(large.ravel(), all_.ravel(), [4] * n, [4] * n)
    same(large, rows[:, me])
    ishmem.gatherv(large.ravel(), one, [4] * n, 0)
    ishmem.scatterv(small, large.ravel(), [4] * n, 0)
    same(small, rows[me, 0])


@pytest.mark.ishmem
@pytest.mark.parametrize("count", [5, 5001])
def test_dest_may_be_source(count: int) -> None:
    me, n = ishmem.my_pe(), ishmem.n_pes()
    sources = [np.arange(count) + 1000 * j for j in range(n)]
    whole = np.concatenate(sources)
    for algorithm in ("slot", "mapped", "tree", "engine"):
        calls.force(algorithm)
        one, all_ = symmetric(sources[me]), symmetric(np.zeros(n * count, "int64"))
        own = all_[me * count : (me + 1) * count]
        ishmem.broadcast(one, one, n - 1)
        same(one, sources[n - 1])
        own[:] = symmetric(sources[me])
        ishmem.fcollect(all_, own)
        same(all_, whole)
        all_[:] = dpnp.asarray(np.where(np.arange(n * count) // count == me, whole, -1))
        ishmem.gather(all_, own, 0)
        same(all_, whole if me == 0 else np.where(np.arange(n * count) // count == me, whole, -1))
        all_[:] = dpnp.asarray(whole if me == n - 1 else 0 * whole)
        ishmem.scatter(own, all_, n - 1)
        same(own, sources[me])
    calls.reset()


def shapes(n: int) -> list[tuple[int, int, int]]:
    """Give teams with gaps, with negative strides, of one PE, and of all but one."""
    candidates = [(0, 2, (n + 1) // 2), (n - 1, -1, n), (n - 1, -2, (n + 1) // 2), (n - 1, 1, 1), (0, 1, max(n - 1, 1))]
    return [*candidates, *([(1, 1, n - 1)] if n > 1 else [])]


@pytest.mark.ishmem
@pytest.mark.parametrize("count", [4, 1500])
def test_each_shape_of_team(count: int) -> None:
    n = ishmem.n_pes()
    teams = [WORLD.split_strided(*shape) for shape in shapes(n)]
    pairs = {routine: calls.arrays(routine, "int32", n, count) for routine in COLLECTIVES}
    for seed, (routine, pair) in enumerate(pairs.items()):
        for team in filter(None, teams):
            for root in range(team.n_pes()) if routine in model.ROOTED else [0]:
                calls.compare(routine, *pair, team, count, root, seed)
        ishmem.barrier_all()
    for team in teams:
        team.destroy()


@pytest.mark.ishmem
def test_handles_are_used_again() -> None:
    """Teams by handle; a new team with the handle of a destroyed one; the destroyed one is refused."""
    n = ishmem.n_pes()
    dest, source = calls.arrays("fcollect", "int64", n, 2)
    old = None
    for k in range(6):
        team = WORLD.split_strided(n - 1 if k % 2 else 0, -1 if k % 2 else 1, n)
        for seed in range(k):
            calls.compare("fcollect", dest, source, team, 2, 0, seed)
        ishmem.fcollect(dest, source, team, nelems=2)
        if old:
            assert old.handle == team.handle
            refused(ishmem.StateError, "destroyed", ishmem.fcollect, dest, source, old, nelems=2)
        old = team
        team.destroy()
        refused(ishmem.StateError, "destroyed", ishmem.fcollect, dest, source, team, nelems=2)


@pytest.mark.ishmem
def test_teams_in_threads_at_once() -> None:
    """Collectives of several teams at once, from a thread each."""
    rounds = 20
    n = ishmem.n_pes()
    teams = [WORLD.split_strided(0, 1, n) for _ in range(3)]
    pairs = [calls.arrays("alltoall", "int64", n, 2000) for _ in teams]

    def work(k: int) -> None:
        for seed in range(rounds):
            calls.compare(("alltoall", "broadcast", "sum_reduce")[k], *pairs[k], teams[k], (3, 2000)[seed % 2], 0, seed)

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(work, range(3)))
    for team in teams:
        team.destroy()


@pytest.mark.ishmem
def test_static_objects_take_part() -> None:
    """Symmetric host objects, alone and with the heap."""
    me, n = ishmem.my_pe(), ishmem.n_pes()
    first, second = ishmem.static("collectives", n * 3000, "int64"), ishmem.static("more", n * 3000, "int64")
    heap = ishmem.zeros(n * 3000, dtype="int64")
    for algorithm in ("slot", "mapped", "engine"):
        calls.force(algorithm)
        for count in (2, 3000):
            wanted = np.concatenate([np.arange(count) + j for j in range(n)])
            for dest, source in ((first, second), (heap, second), (first, heap)):
                ishmem.put(source[:count], np.arange(count) + me, me)
                ishmem.fcollect(dest[: n * count], source[:count])
                np.testing.assert_array_equal(calls.read(dest[: n * count]), wanted)
                ishmem.sum_reduce(dest[:count], source[:count])
                np.testing.assert_array_equal(calls.read(dest[:count]), n * np.arange(count) + sum(range(n)))
    calls.reset()


@pytest.mark.slow_cases("the same by sum_reduce", *(f"{n}pes-{name}" for n in (1, 2, 3) for name in OTHER_REDUCTIONS))
@pytest.mark.ishmem
@pytest.mark.parametrize("routine", COLLECTIVES)
def test_calls_follow_each_other_without_barriers(routine: str) -> None:
    """Calls on the same buffers without barriers, with a different PE late each time."""
    me, n = ishmem.my_pe(), ishmem.n_pes()
    for algorithm in calls.algorithms_of(routine)[:3]:
        count = 3 if algorithm == "slot" else 700
        dest, source = calls.arrays(routine, "int64", n, count)
        calls.force(algorithm)
        for seed in range(34):
            if (seed * 7 + me) % 5 == 0:
                time.sleep(0.0002 * (seed % 4))
            calls.compare(routine, dest, source, WORLD, count, seed % n, seed)
    calls.reset()


STEP = st.tuples(
    st.sampled_from(list(COLLECTIVES)),
    st.sampled_from(("slot", "mapped", "levels", "tree", "engine")),
    st.sampled_from((0, 1, 2, 7, 64, 300)),
    st.integers(0, 3),
    st.integers(0, 3),
)


def check_program(programs: list[list[tuple[str, str, int, int, int]]]) -> None:
    """Run random sequences of collectives on the world and two teams."""
    n, me = ishmem.n_pes(), ishmem.my_pe()
    dest, source = ishmem.zeros(2 * n * 301, dtype="int64"), ishmem.zeros(3 * n * 301, dtype="int64")
    teams = [WORLD, WORLD.split_strided(n - 1, -1, n), WORLD.split_strided(0, 1, max(n - 1, 1))]
    for seed, steps in enumerate(programs):
        for routine, algorithm, count, root, which in steps:
            team = teams[which % 3]
            calls.force(algorithm)
            if team:
                calls.compare(routine, dest, source, team, count, root % team.n_pes(), seed + me * 0)
    calls.reset()
    for team in teams[1:]:
        team.destroy()


def test_random_sequences_of_calls(pes: Pes) -> None:
    @settings(max_examples=3, deadline=None, database=None, derandomize=True)
    @given(programs=st.lists(st.lists(STEP, min_size=5, max_size=30), min_size=3, max_size=5))
    def run(programs: list) -> None:
        pes.run(check_program, programs)

    run()


def wrong_calls() -> list[tuple[str, tuple, dict, type[Exception], str]]:
    """Give calls that are refused on a PE by itself: routine, arguments, keywords, error and words."""
    n = ishmem.n_pes()
    good, other = ishmem.zeros(12 * n, dtype="int64"), ishmem.zeros(12 * n, dtype="int64")
    part, off_heap = good[:12], dpnp.zeros(12, dtype="int64")
    return [
        ("broadcast", (part, other[:12], n), {}, IndexError, f"root is {n}; PEs of ishmem.TEAM_WORLD are numbered"),
        ("broadcast", (part, other[:12], None), {}, TypeError, "root is an integer, got NoneType"),
        ("broadcast", (part, other[:11], 0), {}, ValueError, "dest has 12 elements and source has 11"),
        ("broadcast", (part, other[:12], 0), {"nelems": 13}, ValueError, "nelems is 13; for .* PEs dest needs 13"),
        ("broadcast", (part, other[:12], 0), {"nelems": -1}, ValueError, "nelems is -1"),
        ("broadcast", (part, other[:12], 0), {"nelems": "x"}, TypeError, "nelems is an integer, got str"),
        ("broadcast", (part, off_heap, 0), {}, ishmem.SymmetryError, "source .* is not on the symmetric heap"),
        ("broadcast", (off_heap, part, 0), {}, ishmem.SymmetryError, "dest .* is not on the symmetric heap"),
        ("broadcast", (part, good[6:18] if n > 1 else good[:12:2], 0), {}, ValueError, "overlap|not contiguous"),
        ("broadcast", (good[:24:2], other[:12], 0), {"nelems": 6}, ValueError, "dest is not contiguous"),
        ("broadcast", (part, [1] * 12, 0), {}, TypeError, "source is a dpnp or numpy array, got list"),
        ("fcollect", (good[: 4 * n], good[1:5]), {}, ValueError, "dest and source"),
        ("fcollect", (good[: 4 * n + 1], other[:4]), {}, ValueError, f"dest has {4 * n + 1} elements and source has 4"),
        ("alltoall", (good, good), {}, ValueError, "overlap"),
        ("alltoalls", (good, other, 0, 1, 2), {}, ValueError, "dst is 0; strides are at least 1"),
        ("alltoalls", (good, other, 1, 1, None), {}, TypeError, "nelems is an integer"),
        ("alltoalls", (good, other, 20, 1, 2), {}, ValueError, "nelems is 2; for"),
        ("alltoallv", (good, other, [1] * n, [1] * (n + 1)), {}, ValueError, "source_counts has"),
        ("alltoallv", (good, other, [13] * n, [13] * n), {}, ValueError, "dest has .* elements; counts .* need"),
        ("alltoallv", (good, other, [0] * n, [0] * n, None, [2**64] * n), {}, ValueError, "allowed are numbers below"),
        ("gatherv", (good, other, 5, 0), {}, TypeError, "counts is a sequence"),
        ("scatterv", (good, other, [-1] * n, 0), {}, ValueError, "the numbers are at least 0"),
        ("sum_reduce", (part, other[:12].astype("bool")), {}, TypeError, "sum_reduce: source has dtype bool; allowed"),
        ("and_reduce", (part, dpnp.zeros(12, dtype="float32")), {}, TypeError, "and_reduce: source has dtype float32"),
        ("max_reduce", (part, good[1:13] if n > 1 else good[:11]), {}, ValueError, "dest"),
    ]


@pytest.mark.ishmem
def test_refused() -> None:
    """A wrong call raises on every PE that makes it, and the other PEs raise an error with the reason."""
    me, n = ishmem.my_pe(), ishmem.n_pes()
    dest, source = calls.arrays("fcollect", "int64", n, 3)
    for seed, (routine, arguments, keywords, error, words) in enumerate(wrong_calls()):
        function = getattr(ishmem, routine)
        refused(error, words, function, *arguments, **keywords)
        calls.compare("fcollect", dest, source, WORLD, 3, 0, seed)
        if n > 1 and me == n - 1:
            refused(error, words, function, *arguments, **keywords)
        elif n > 1:
            with pytest.raises(ishmem.SymmetryError, match=f"PE {n - 1}: {routine} refused: {error.__name__}"):
                ishmem.fcollect(dest, source, nelems=1)
        calls.compare("fcollect", dest, source, WORLD, 3, 0, seed)


@pytest.mark.ishmem([2, 3, 4])
def test_pes_that_disagree_raise() -> None:
    """PEs call with different arguments: every PE raises and names them, and the team works afterwards."""
    me, n = ishmem.my_pe(), ishmem.n_pes()
    last = me == n - 1
    a, b, small = ishmem.zeros(8 * n), ishmem.zeros(8 * n), ishmem.zeros(8 * n, dtype="float32")
    dest, source = calls.arrays("fcollect", "int64", n, 3)
    cases = [
        (lambda: ishmem.broadcast(a, b, 0, nelems=3 + last), f"PE {n - 1}: broadcast of 4 elements"),
        (lambda: ishmem.broadcast(a, b, int(last)), "root 1"),
        (lambda: ishmem.sum_reduce(a, b) if last else ishmem.prod_reduce(a, b), f"PE {n - 1}: sum_reduce of"),
        (lambda: ishmem.sum_reduce(*((small, small) if last else (a, a))), "of dtype float32"),
        (lambda: ishmem.fcollect(a, b, nelems=1) if last else ishmem.collect(a, b, nelems=1), "fcollect of 1"),
        (lambda: ishmem.alltoalls(a, b, 1 + last, 1, 2), "dst=2, sst=1"),
        (lambda: ishmem.gatherv(a, b, [1 + last] * n, 0), "counts and displacements"),
        (lambda: ishmem.alltoallv(a, b, [1 + last] * n, [1] * n), f"sends 1 elements to PE {n - 1}, which expects 2"),
    ]
    for seed, (function, words) in enumerate(cases):
        refused(ishmem.SymmetryError, words, function)
        calls.compare("fcollect", dest, source, WORLD, 3, 0, seed)
    with pytest.raises(ValueError, match=f"the PEs contribute {8 * n} elements, and dest of one"):
        ishmem.collect(a[: 8 * n - last], b, nelems=8)
    algorithms.install(algorithms.defaults(2**63), "broadcast=tree" if last else "")
    refused(ishmem.SymmetryError, "ISHMEM_ALGORITHM is the same on all PEs", ishmem.broadcast, a, b, 0)
    calls.reset()
    calls.compare("fcollect", dest, source, WORLD, 3)


@pytest.mark.ishmem
def test_an_error_of_the_copy_engine_is_raised() -> None:
    """An error of the copy engine in the middle of a call is raised by the call, and later calls are not disturbed."""
    from ishmem.host_collectives import device_algorithms

    me, n = ishmem.my_pe(), ishmem.n_pes()
    if ishmem.team_n_pes(ishmem.TEAM_SHARED) == 1 < n:
        pytest.skip("no PE has another whose memory its copy engine reaches")
    source, dest = symmetric(np.full(3, me)), symmetric(np.zeros(3 * n, "int64"))
    move = device_algorithms.move_by_device

    def fail(call: _core.CollectiveCall) -> None:
        move(call)
        raise OSError(f"PE {call.pes[call.me]} has no queue")

    calls.force("engine")
    device_algorithms.move_by_device = fail
    refused(OSError, f"PE {me} has no queue", ishmem.fcollect, dest, source)
    device_algorithms.move_by_device = move
    ishmem.barrier_all()
    ishmem.fcollect(dest, source)
    same(dest, np.repeat(np.arange(n), 3))
    calls.reset()


@pytest.mark.ishmem([2, 3, 4])
def test_pes_in_different_barriers_raise() -> None:
    """A PE in another barrier raises, as do the PEs that get its messages; the team works afterwards."""
    turns = 3 * ishmem.n_pes()
    me, n = ishmem.my_pe(), ishmem.n_pes()
    on_one_node = ishmem.team_n_pes(ishmem.TEAM_SHARED) == n
    for turn in range(turns):
        odd = turn % n
        told = {(odd + 2**k) % n for k in range((n - 1).bit_length())} | {odd}
        call, other = (ishmem.sync_all, "barrier_all") if me == odd else (ishmem.barrier_all, "sync_all or team_sync")
        words = f"on PE {me}: another PE has called {other}; all members"
        if me == odd or (on_one_node and me in told):
            refused(ishmem.SymmetryError, words, call)
        else:
            with contextlib.nullcontext() if on_one_node else contextlib.suppress(ishmem.SymmetryError):
                call()
        ishmem.barrier_all()
        ishmem.sync_all()


@pytest.mark.ishmem
def test_only_members_may_call() -> None:
    """Only members may call; other PEs raise at once."""
    n = ishmem.n_pes()
    a, b = ishmem.zeros(n), ishmem.zeros(n)
    team = WORLD.split_strided(0, 1, max(n - 1, 1))
    if team:
        ishmem.sum_reduce(a, b, team)
    else:
        for call in (ishmem.sum_reduce, ishmem.alltoall, ishmem.collect):
            refused(ValueError, "this PE is not in it", call, a, b, team)
        refused(ValueError, "this PE is not in it", ishmem.alltoallv, a, b, [1], [1], team=team)
    team.destroy()
