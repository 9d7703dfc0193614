"""Data movement collectives in kernels: every routine, root, size and team; memory around dest is unchanged."""

from __future__ import annotations

from typing import Any, Callable

import collective_model as model
import halves
import numpy as np
import pytest
from collective_model import DST, SST
from common import both_forms, dpex, dpnp, kapi, one_line, pattern, same, symmetric

import ishmem
from ishmem.common.type_tables import HALVES, RMA_TYPES

ROUTINES = ("broadcast", "fcollect", "collect", "alltoall", "alltoalls", "gather", "scatter")
GUARD = 5
LARGE = 4099
"""Elements of a block that do not fit into a slot, whatever the dtype, and divide by nothing."""


def call_all(item, b, f, c, a, s, g, t, source, n, root, team, code):  # type: ignore
    group = item.get_group()
    code[0] = ishmem.broadcast_work_group(b, source, root, group, team, n)
    code[1] = ishmem.fcollect_work_group(f, source, group, team, n)
    code[2] = ishmem.collect_work_group(c, source, group, team, n + ishmem.team_my_pe(team))
    code[3] = ishmem.alltoall_work_group(a, source, group, team, n)
    code[4] = ishmem.alltoalls_work_group(s, source, DST, SST, n, group, team)
    code[5] = ishmem.gather_work_group(g, source, root, group, team, n)
    code[6] = ishmem.scatter_work_group(t, source, root, group, team, n)


SPACES = {"group": kapi.NdRange((24,), (24,)), "single": kapi.Range(1)}


def forms(function: Callable[..., None]) -> dict[str, tuple[Any, Any]]:
    """Return kernel and index space of each form."""
    return {name: (kernel, SPACES[name]) for name, kernel in zip(SPACES, both_forms(function))}


FORMS = forms(call_all)


def shapes(size: int) -> list[tuple[int, int, int]]:
    """Return teams: the world, the world in the other order, and one with gaps."""
    return [(0, 1, size), (size - 1, -1, size), (0, 2, (size + 1) // 2)][: 3 if size > 2 else size]


def check_calls(
    kernel: tuple[Any, Any],
    dtype: str,
    room: int,
    sizes: tuple[int, ...],
    count: int,
    arguments: Callable[[int, int, int], tuple[Any, ...]],
    expected: Callable[..., np.ndarray],
    make: Callable[..., np.ndarray] = pattern,
) -> None:
    """Call a kernel with its index space on every team for blocks of each size; compare whole arrays.

    It gets ``count`` arrays and a source, of ``room`` elements, then what ``arguments`` returns for the member, the
    number of members and the size. ``expected`` returns what an array holds after the call.
    """
    me, size = ishmem.my_pe(), ishmem.n_pes()
    source, dests = ishmem.empty(room, dtype=dtype), [ishmem.empty(room, dtype=dtype) for _ in range(count)]
    code, round_ = dpnp.zeros(count, dtype="i8"), 0
    for shape in shapes(size):
        team = ishmem.TEAM_WORLD.split_strided(*shape)
        for n in sizes:
            # Nobody waits between the rounds but in the calls, so sources of two rounds may not share memory.
            round_ += 1
            root, shift = round_ % shape[2], round_ % GUARD  # so that the arrays of a round are not aligned alike
            sources = [make(dtype, room, round_, pe) for pe in range(size)]
            befores = [pattern(dtype, room, round_, 99, k) for k in range(count)]
            given = [sources[shape[0] + k * shape[1]][shift:] for k in range(shape[2])]
            ishmem.sync_all()
            for array, values in zip([source, *dests], [sources[me], *befores]):
                array[:] = dpnp.asarray(values)
            ishmem.sync_all()
            moved = [dest[k % GUARD :] for k, dest in enumerate(dests)]
            others = arguments(max(team.my_pe(), 0), shape[2], n)
            dpex.call_kernel(*kernel, *moved, source[shift:], *others, root, team.handle, code)
            same(code, np.full(count, 0 if team else -1))
            ishmem.sync_all()
            for k, (dest, wanted) in enumerate(zip(dests, befores)):
                if team:
                    wanted[k % GUARD :] = expected(k, given, wanted[k % GUARD :], team, n, root)
                same(dest, wanted, f"{k} {dtype} {shape} {n} {root}")
        team.destroy()


def check_all(dtype: str, form: str, sizes: tuple[int, ...]) -> None:
    def expected(k: int, given: list[np.ndarray], dest: np.ndarray, team: Any, n: int, root: int) -> np.ndarray:
        return model.expected(ROUTINES[k], given, dest, team.my_pe(), n, root, lambda count, member: count + member)

    size = ishmem.n_pes()
    room = GUARD + size * (max(sizes) * max(DST, SST) + size) + GUARD
    check_calls(FORMS[form], dtype, room, sizes, len(ROUTINES), lambda _me, _size, n: (n,), expected)


MANY = (0, 1, 3, 1000, LARGE)
FEW = {1: (0, 1, 1000), 2: MANY, 3: (0, 1, 1000), 4: (1, 1000)}
"""Sizes of blocks, by the number of PEs."""


# On other numbers of PEs than 2 one form of each: the kernels take long to compile, for each number of PEs.
@pytest.mark.ishmem([1, 2, 3, 4])
def test_each_routine_size_and_team() -> None:
    n = ishmem.n_pes()
    for form in FORMS if n == 2 else [list(SPACES)[1 - n % 2]]:
        check_all("int32", form, FEW[n])


@pytest.mark.ishmem(2)
@pytest.mark.parametrize("dtype", ["bool", "complex128"])
def test_sizes_of_elements(dtype: str) -> None:
    check_all(dtype, "single", (1, 7, LARGE))


TYPES = [dtype for dtype in RMA_TYPES if dtype != "float16"]  # arrays of which numba-dpex does not take


def of_each_type(call: str, *others: str) -> Any:
    """Return the kernel that makes a call for an array of each type."""
    names = [f"array{k}" for k in range(len(TYPES))]
    text = "; ".join(call.format(name) for name in names)
    return dpex.kernel(one_line(text, *names, *others, called="call_each_type"))


broadcast_each_type = of_each_type("ishmem.broadcast({0}, {0}, root)", "root")
scatter_each_type = of_each_type("ishmem.scatterv({0}, {0}, counts, root, at)", "counts", "at", "root")


@pytest.mark.ishmem(2)
def test_broadcast_of_each_type_in_place() -> None:
    """In place, too."""
    me = ishmem.my_pe()
    for count, root in ((5, 1), (LARGE, 0)):
        arrays = [symmetric(pattern(dtype, count, me)) for dtype in TYPES]
        ishmem.sync_all()
        dpex.call_kernel(broadcast_each_type, kapi.Range(1), *arrays, root)
        for array, dtype in zip(arrays, TYPES):
            same(array, pattern(dtype, count, root))
        ishmem.sync_all()


def mover(kind: type) -> object:
    @dpex.kernel
    def move(item: kapi.Item, put, got, one, many, sent, element, source, n, right):  # type: ignore
        data = source.view(kind)
        ishmem.put(put.view(kind), data, right)
        ishmem.get(got.view(kind), data, right)
        ishmem.broadcast(one.view(kind), data, 0)
        ishmem.collect(many.view(kind), data)
        ishmem.alltoall(sent.view(kind), data, 0, n)
        ishmem.p(element.view(kind), ishmem.g(data, right, 1) / 2, right)

    return move


@pytest.mark.skipif(dpex.HAS_NUMBA_DPEX, reason="kernels of numba-dpex have no floats of 16 bits")
@pytest.mark.ishmem([1, 2, 3])
@pytest.mark.parametrize("dtype", HALVES)
def test_floats_of_16_bits_move(dtype: str) -> None:
    """What moves elements takes them; ``g`` and ``p`` convert them."""
    me, size = ishmem.my_pe(), ishmem.n_pes()
    right, left = (me + 1) % size, (me - 1) % size
    kernel, n = mover(kapi.bfloat16 if dtype == "bfloat16" else np.float16), 21
    sources = [halves.values(dtype, n * size, pe) for pe in range(size)]
    counts = (n * size, n * size, n * size, n * size * size, n * size, 1)
    arrays = [ishmem.zeros(count, dtype="i2") for count in counts]
    dpex.call_kernel(kernel, kapi.Range(1), *arrays, symmetric(sources[me].view("i2")), n, right)
    ishmem.barrier_all()
    half_of_me = halves.as_bits(halves.as_numbers(sources[me][1:2], dtype) / 2, dtype)
    blocks = np.concatenate([source[me * n : (me + 1) * n] for source in sources])
    wanted = (sources[left], sources[right], sources[0], np.concatenate(sources), blocks, half_of_me)
    for array, each in zip(arrays, wanted):
        halves.same(array.asnumpy().view(each.dtype), each, dtype)


@dpex.kernel
def back_to_back(item: kapi.Item, one, many, source, wrong, n, rounds, x, y):  # type: ignore
    for r in range(rounds):
        team = x if r % 2 else y
        me, size = ishmem.team_my_pe(team), ishmem.team_n_pes(team)
        for i in range(n):
            source[i] = 1000 * r + 10 * i + me
        root = r % size
        ishmem.broadcast(one, source, root, team, n)
        for i in range(n):
            wrong[0] += one[i] != 1000 * r + 10 * i + root
            source[i] += 5
        ishmem.fcollect(many, source, team, n)
        for pe in range(size):
            for i in range(n):
                source[i] = -1
                wrong[0] += many[pe * n + i] != 1000 * r + 10 * i + pe + 5


def check_back_to_back(n: int, rounds: int) -> None:
    """Nothing stands between calls on the same arrays, of two teams in turn, and of two rows or columns at once."""
    one, source, wrong = ishmem.zeros(n, dtype="i8"), ishmem.zeros(n, dtype="i8"), dpnp.zeros(1, dtype="i8")
    many = ishmem.zeros(n * ishmem.n_pes(), dtype="i8")
    x, y = ishmem.TEAM_WORLD.split_2d(2)
    dpex.call_kernel(back_to_back, kapi.Range(1), one, many, source, wrong, n, rounds, x.handle, y.handle)
    same(wrong, np.zeros(1, "i8"))
    x.destroy(), y.destroy()


@pytest.mark.ishmem
def test_calls_follow_each_other_without_barriers() -> None:
    for n in (1, 300):
        check_back_to_back(n, {1: 100, 2: 100, 3: 10, 4: 6}[ishmem.n_pes()])


# ---- blocks with counts and displacements of their own

COUNTED = ("gatherv", "scatterv", "alltoallv")


def call_counted(item, g, s, a, x, y, z, source, counts, at, to, to_at, of, of_at, root, team, code):  # type: ignore
    """With places, and without."""
    group = item.get_group()
    code[0] = ishmem.gatherv_work_group(g, source, counts, root, group, at, team)
    code[1] = ishmem.scatterv_work_group(s, source, counts, root, group, at, team)
    code[2] = ishmem.alltoallv_work_group(a, source, to, of, group, to_at, of_at, team)
    code[3] = ishmem.gatherv_work_group(x, source, counts, root, group, team=team)
    code[4] = ishmem.scatterv_work_group(y, source, counts, root, group, None, team)
    code[5] = ishmem.alltoallv_work_group(z, source, to, of, group, team=team)


COUNTED_TYPES = [("single", "int32"), ("group", "complex128")]
COUNTED_FORMS = forms(call_counted)
def backwards(counts: np.ndarray) -> np.ndarray:
    """Return places with gaps, the last block first."""
    return model.places_of(counts[::-1])[::-1]


def packed(counts: np.ndarray) -> np.ndarray:
    return np.cumsum(counts) - counts


def check_counted(dtype: str, form: str, sizes: tuple[int, ...]) -> None:
    def lists(me: int, size: int, n: int) -> tuple[Any, ...]:
        table = model.counts_of(size, n)
        both = [given for counts in (table[0], table[:, me], table[me]) for given in (counts, backwards(counts))]
        return tuple(dpnp.asarray(np.ascontiguousarray(given), dtype="i8") for given in both)

    def expected(k: int, given: list[np.ndarray], dest: np.ndarray, team: Any, n: int, root: int) -> np.ndarray:
        routine, places = (2 * COUNTED)[k], backwards if k < len(COUNTED) else packed
        table = model.counts_of(team.n_pes(), n)
        return model.expected_counted(routine, given, dest, team.my_pe(), root, table, places)

    room = GUARD + ishmem.n_pes() * (max(sizes) + 1) + GUARD
    check_calls(COUNTED_FORMS[form], dtype, room, sizes, 2 * len(COUNTED), lists, expected)


@pytest.mark.ishmem([1, 2, 3, 4])
def test_blocks_with_counts_and_places() -> None:
    n = ishmem.n_pes()
    for form, dtype in COUNTED_TYPES if n == 2 else [COUNTED_TYPES[n % 2]]:
        check_counted(dtype, form, FEW[n])


@pytest.mark.ishmem(2, exact=True)
def test_counts_that_disagree_copy_nothing() -> None:
    """Two PEs disagree on the count of a block: nothing is copied between them."""
    me, zeros = ishmem.my_pe(), np.zeros(2, "i8")
    source, dests = ishmem.full(8, me + 1, dtype="int32"), [ishmem.zeros(8, dtype="int32") for _ in 2 * COUNTED]
    to, of = ([2, 2], [2, 3 - me])  # PE 0 sends three elements to PE 1, which expects two
    lists = [dpnp.asarray(given, dtype="i8") for given in (zeros, zeros, to, [1, 4], of, [0, 3])]
    kernel, space = COUNTED_FORMS["single"]
    dpex.call_kernel(kernel, space, *dests, source, *lists, 0, 0, dpnp.zeros(len(dests), dtype="i8"))
    ishmem.sync_all()
    for dest, at in ((dests[2], (1, 4)), (dests[5], (0, 2))):
        wanted = np.zeros(8, "int32")
        for pe in range(me, 2):
            wanted[at[pe] :][:2] = pe + 1
        same(dest, wanted)


@pytest.mark.ishmem(2)
def test_scatterv_of_each_type() -> None:
    """From another part of the same array."""
    me = ishmem.my_pe()
    n = ishmem.n_pes()
    for counts, at, root in (([5, 3, 1, 0], [8, 5, 13, 0], 1), ([0, 301, 7, 70], [400, 301, 640, 610], 0)):
        counts, at = counts[:n], at[:n]
        arrays = [symmetric(pattern(dtype, 700, me)) for dtype in TYPES]
        lists = [dpnp.asarray(given, dtype="i8") for given in (counts, at)]
        ishmem.sync_all()
        dpex.call_kernel(scatter_each_type, kapi.Range(1), *arrays, *lists, root)
        for array, dtype in zip(arrays, TYPES):
            wanted = pattern(dtype, 700, me)
            wanted[: counts[me]] = pattern(dtype, 700, root)[at[me] :][: counts[me]]
            same(array, wanted)
        ishmem.sync_all()


@dpex.kernel
def counted_back_to_back(item: kapi.Item, many, one, source, to, of, wrong, n, rounds, x, y):  # type: ignore
    for r in range(rounds):
        team = x if r % 2 else y
        me, size = ishmem.team_my_pe(team), ishmem.team_n_pes(team)
        root, place = r % size, 0
        for pe in range(size):
            to[pe] = n + pe + r % 3  # from a PE, to each
            of[pe] = n + me + r % 3
            for i in range(of[pe]):
                source[place + i] = 1000 * r + 100 * me + 10 * pe + i
            place += of[pe]
        ishmem.alltoallv(many, source, to[:size], of[:size], team=team)
        place = 0
        for pe in range(size):
            for i in range(to[pe]):
                wrong[0] += many[place + i] != 1000 * r + 100 * pe + 10 * me + i
            place += to[pe]
        ishmem.gatherv(many, source, to[:size], root, team=team)  # what all have for the first
        ishmem.scatterv(one, many, to[:size], root, team=team)  # and back to where it was
        for i in range(to[me]):
            wrong[0] += one[i] != 1000 * r + 100 * me + i


@pytest.mark.ishmem([2, 4])
def test_counted_calls_follow_each_other_without_barriers() -> None:
    n, rounds = 3, 50 if ishmem.n_pes() < 3 else 4
    room = ishmem.n_pes() * (n + 8)
    many, one, source = ishmem.zeros(room, dtype="i8"), ishmem.zeros(room, dtype="i8"), ishmem.zeros(room, dtype="i8")
    to, of, wrong = (dpnp.zeros(ishmem.n_pes(), dtype="i8") for _ in range(3))
    x, y = ishmem.TEAM_WORLD.split_2d(2)
    dpex.call_kernel(
        counted_back_to_back, kapi.Range(1), many, one, source, to, of, wrong, n, rounds, x.handle, y.handle
    )
    same(wrong, np.zeros(ishmem.n_pes(), "i8"))
    x.destroy(), y.destroy()
