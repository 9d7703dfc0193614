"""Collective routines in kernels that move data: every routine, root, size and team, and what is around it."""

from __future__ import annotations

import numpy as np
import pytest
from common import dpex, dpnp, kapi, pattern, same, symmetric
from pes import Pool

import ishmem
from ishmem.table import RMA_TYPES

ROUTINES = ("broadcast", "fcollect", "collect", "alltoall", "alltoalls", "gather", "scatter")
DST, SST = 3, 2
GUARD = 5
LARGE = 4099
"""Elements of a block that do not fit into a slot, whatever the dtype, and divide by nothing."""


@dpex.kernel
def call_all(item: kapi.Item, b, f, c, a, s, g, t, source, n, root, team, code):  # type: ignore
    code[0] = ishmem.broadcast(b, source, root, team, n)
    code[1] = ishmem.fcollect(f, source, team, n)
    code[2] = ishmem.collect(c, source, team, n + ishmem.team_my_pe(team))
    code[3] = ishmem.alltoall(a, source, team, n)
    code[4] = ishmem.alltoalls(s, source, DST, SST, n, team)
    code[5] = ishmem.gather(g, source, root, team=team, nelems=n)
    code[6] = ishmem.scatter(t, source, root, team, nelems=n)


@dpex.kernel
def call_all_by_group(item: kapi.NdItem, b, f, c, a, s, g, t, source, n, root, team, code):  # type: ignore
    group = item.get_group()
    code[0] = ishmem.broadcast_work_group(b, source, root, group, team, n)
    code[1] = ishmem.fcollect_work_group(f, source, group, team, n)
    code[2] = ishmem.collect_work_group(c, source, group, team, n + ishmem.team_my_pe(team))
    code[3] = ishmem.alltoall_work_group(a, source, group, team, n)
    code[4] = ishmem.alltoalls_work_group(s, source, DST, SST, n, group, team)
    code[5] = ishmem.gather_work_group(g, source, root, group, team, n)
    code[6] = ishmem.scatter_work_group(t, source, root, group, team, n)


FORMS = {"single": (call_all, kapi.Range(1)), "group": (call_all_by_group, kapi.NdRange((24,), (24,)))}


def expected(routine: str, before: np.ndarray, sources: list[np.ndarray], me: int, n: int, root: int) -> np.ndarray:
    """Return what ``dest`` holds after a call, whatever it is."""
    after, size = before.copy(), len(sources)
    if routine == "broadcast":
        after[:n] = sources[root][:n]
    elif routine == "fcollect" or (routine == "gather" and me == root):
        after[: size * n] = np.concatenate([source[:n] for source in sources])
    elif routine == "collect":
        whole = np.concatenate([source[: n + k] for k, source in enumerate(sources)])
        after[: whole.size] = whole
    elif routine == "alltoall":
        after[: size * n] = np.concatenate([source[me * n : (me + 1) * n] for source in sources])
    elif routine == "alltoalls":
        for k, source in enumerate(sources):
            after[k * n * DST : (k + 1) * n * DST : DST] = source[me * n * SST : (me + 1) * n * SST : SST]
    elif routine == "scatter":
        after[:n] = sources[root][me * n : (me + 1) * n]
    return after


def shapes(size: int) -> list[tuple[int, int, int]]:
    """Return teams: the world, the world in the other order, and one with gaps."""
    return [(0, 1, size), (size - 1, -1, size), (0, 2, (size + 1) // 2)][: 3 if size > 2 else size]


def check_all(dtype: str, form: str, sizes: tuple[int, ...]) -> None:
    kernel, space = FORMS[form]
    me, size = ishmem.my_pe(), ishmem.n_pes()
    room = GUARD + size * (max(sizes) * DST + size) + GUARD
    source, dests = ishmem.empty(room, dtype=dtype), [ishmem.empty(room, dtype=dtype) for _ in ROUTINES]
    code, round_ = dpnp.zeros(len(ROUTINES), dtype="i8"), 0
    for shape in shapes(size):
        team = ishmem.TEAM_WORLD.split_strided(*shape)
        for n in sizes:
            # Nobody waits between the rounds but in the calls, so sources of two rounds may not share memory.
            round_ += 1
            root = round_ % shape[2]
            sources = [pattern(dtype, room, round_, pe) for pe in range(size)]
            members, befores = [sources[shape[0] + k * shape[1]] for k in range(shape[2])], []
            ishmem.sync_all()
            source[:] = dpnp.asarray(sources[me])
            for k, dest in enumerate(dests):
                befores.append(pattern(dtype, room, round_, 99, k))
                dest[:] = dpnp.asarray(befores[-1])
            ishmem.sync_all()
            shift = round_ % GUARD  # so that the arrays of a round are not aligned alike
            moved = [dest[k % GUARD :] for k, dest in enumerate(dests)]
            dpex.call_kernel(kernel, space, *moved, source[shift:], n, root, team.handle, code)
            same(code, np.full(len(ROUTINES), 0 if team else -1))
            ishmem.sync_all()
            for k, routine in enumerate(ROUTINES):
                wanted = befores[k].copy()
                if team:
                    given = [values[shift:] for values in members]
                    wanted[k % GUARD :] = expected(routine, wanted[k % GUARD :], given, team.my_pe(), n, root)
                np.testing.assert_array_equal(dests[k].asnumpy(), wanted, f"{routine} {shape} {n} {root}")
        team.destroy()


@pytest.mark.pes(2)
@pytest.mark.parametrize("form", FORMS)
def test_all(pes: Pool, form: str) -> None:
    pes.run(check_all, "int32", form, (0, 1, 3, 1000, LARGE))


@pytest.mark.pes(1, 3, 4)
def test_other_numbers_of_pes(pes: Pool) -> None:
    form = list(FORMS)[pes.n % 2]  # one of them: the kernel takes long to compile, for each number of PEs
    pes.run(check_all, "int32", form, (0, 1, 1000) if pes.n < 4 else (1, 1000))


@pytest.mark.pes(2)
@pytest.mark.parametrize("dtype", ["bool", "complex128"])
def test_sizes_of_elements(pes: Pool, dtype: str) -> None:
    pes.run(check_all, dtype, "single", (1, 7, LARGE))


KERNEL_TYPES = [dtype for dtype in RMA_TYPES if dtype != "float16"]  # arrays of which kernels do not take


@dpex.kernel
def call_each_type(item: kapi.Item, a, b, c, d, e, f, g, h, i, j, k, l, m, root):  # type: ignore  # noqa: E741
    ishmem.broadcast(a, a, root)
    ishmem.broadcast(b, b, root)
    ishmem.broadcast(c, c, root)
    ishmem.broadcast(d, d, root)
    ishmem.broadcast(e, e, root)
    ishmem.broadcast(f, f, root)
    ishmem.broadcast(g, g, root)
    ishmem.broadcast(h, h, root)
    ishmem.broadcast(i, i, root)
    ishmem.broadcast(j, j, root)
    ishmem.broadcast(k, k, root)
    ishmem.broadcast(l, l, root)
    ishmem.broadcast(m, m, root)


def check_each_type() -> None:
    """In place, too."""
    me = ishmem.my_pe()
    for count, root in ((5, 1), (LARGE, 0)):
        arrays = [symmetric(pattern(dtype, count, me)) for dtype in KERNEL_TYPES]
        ishmem.sync_all()
        dpex.call_kernel(call_each_type, kapi.Range(1), *arrays, root)
        for array, dtype in zip(arrays, KERNEL_TYPES):
            same(array, pattern(dtype, count, root))
        ishmem.sync_all()


@pytest.mark.pes(2)
def test_each_type(pes: Pool) -> None:
    pes.run(check_each_type)


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


def test_back_to_back(pes: Pool) -> None:
    for n in (1, 300):
        pes.run(check_back_to_back, n, {1: 100, 2: 100, 3: 10, 4: 6}[pes.n])
