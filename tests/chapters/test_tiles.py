"""Collectives of 2-D tiles, on the host and in kernels: the elements between the rows and around the tiles stay."""

from __future__ import annotations

import contextlib
import ctypes
from typing import Any

import collective_model as model
import halves
import numpy as np
import pytest
from common import CHECKING, KERNEL_TYPES, dpctl, dpex, dpnp, kapi, one_line, pattern, refused, same
from test_kernels_collectives import forms, shapes
from test_kernels_reductions import values
from test_registered_memory import registered_arrays

import ishmem
from ishmem.common.collective_table import COLLECTIVES
from ishmem.common.type_tables import HALVES, REDUCTIONS, RMA_TYPES
from ishmem.graph import Graph
from ishmem.runtime import graph_recording

ROUTINES = [name for name, routine in COLLECTIVES.items() if routine.tiles]
SIZES = [(0, 5), (3, 0), (1, 1), (5, 1), (1, 7), (3, 7), (33, 129)]


@dpex.kernel
def add_one(item: kapi.Item, a):
    a[1:4, 2:7][item.get_id(0), item.get_id(1)] += 1


def move(item, dest, gathered, source, root, team, code):  # type: ignore
    group = item.get_group()
    code[0] = ishmem.broadcast_work_group(dest, source, root, group, team)
    code[1] = ishmem.fcollect_work_group(gathered, source, group, team)


def sum_up(item, dest, in_place, source, root, team, code):  # type: ignore
    group = item.get_group()
    code[0] = ishmem.sum_reduce_work_group(dest, source, group, team)
    code[1] = ishmem.max_reduce_work_group(in_place, in_place, group, team)


MOVES, SUMS = forms(move), forms(sum_up)


def parts(rows: int, columns: int, shape: tuple[int, int, int], dtype: str, seed: int) -> tuple[Any, ...]:
    """Return matrices with a tile each, and all elements of all PEs: for a source, a block, blocks and in place."""
    size, made = shape[2], []
    for number, high in enumerate((rows, rows, rows * size, rows)):
        whole = [values(dtype, (high + 3) * (columns + 4), seed, number, pe) for pe in range(ishmem.n_pes())]
        whole = [each.reshape(high + 3, columns + 4) for each in whole]
        a = ishmem.array(whole[ishmem.my_pe()])
        window = (slice(1, 1 + high), slice(1 + number, 1 + number + columns))
        made.append((a, whole, (slice(1, 1 + high), slice(3 - number, 3 - number + columns)) if number else window))
    return tuple(made)


def check_shape(dtype: str, rows: int, columns: int, shape: tuple[int, int, int], form: str, seed: int) -> None:
    """Call all forms on a team; compare whole matrices."""
    team, root = ishmem.TEAM_WORLD.split_strided(*shape), seed % shape[2]
    members, made = [shape[0] + k * shape[1] for k in range(shape[2])], parts(rows, columns, shape, dtype, seed)
    (source, sources, at), *others = made
    tiles = [sources[pe][at] for pe in members]
    (dest, _, to), (gathered, _, blocks), (twice, both, own) = others
    reduces = dtype in REDUCTIONS["max_reduce"]
    wanted = [whole[ishmem.my_pe()].copy() for _, whole, _ in made]
    code = dpnp.zeros(2, dtype="int64")

    def compare(about: str) -> None:
        for (a, _, _), each in zip(made, wanted):
            same(a, each, f"{about} {dtype} {rows} x {columns} {shape} {form}")
        ishmem.sync_all()

    ishmem.sync_all()
    if form == "host" and team:
        ishmem.broadcast(dest[to], source[at], root, team)
        ishmem.fcollect(gathered[blocks], source[at], team)
    elif form != "host":
        arguments = dest[to], gathered[blocks], source[at], root, team.handle, code
        dpex.call_kernel(*MOVES[form], *arguments)
        same(code, np.full(2, 0 if team else -1))
    if team:
        wanted[1][to], wanted[2][blocks] = tiles[root], np.concatenate(tiles)
    compare("movement")
    if reduces and form == "host" and team:
        ishmem.sum_reduce(dest[to], source[at], team)
        ishmem.max_reduce(twice[own], twice[own], team)
    elif reduces and form != "host":
        dpex.call_kernel(*SUMS[form], dest[to], twice[own], source[at], root, team.handle, code)
        same(code, np.full(2, 0 if team else -1))
    if reduces and team:
        wanted[1][to] = model.combined("sum_reduce", tiles, 0)
        wanted[3][own] = model.combined("max_reduce", [both[pe][own] for pe in members], 0)
    compare("reduction")
    team.destroy()
    for a, _, _ in made:
        ishmem.free(a)


def check_all(dtype: str, form: str, sizes: list[tuple[int, int]] = SIZES) -> None:
    for seed, (rows, columns) in enumerate(sizes):
        for shape in shapes(ishmem.n_pes()):
            check_shape(dtype, rows, columns, shape, form, seed)


@pytest.mark.slow_cases("the same by a work-group", *(f"{n}pes-single" for n in (1, 2, 3, 4)))
@pytest.mark.ishmem([1, 2, 3, 4])
@pytest.mark.parametrize("form", ["host", *MOVES])
def test_tiles_of_each_size_and_team(form: str) -> None:
    check_all("int32", form)


@pytest.mark.ishmem(2)
@pytest.mark.parametrize("dtype", [each for each in RMA_TYPES if each not in HALVES])
def test_tiles_of_each_type_on_the_host(dtype: str) -> None:
    check_all(dtype, "host", [(3, 7), (2, 129)])


@pytest.mark.slow_cases("other types, and int32", "2pes-int64", "2pes-uint8", "2pes-float32")
@pytest.mark.slow_types
@pytest.mark.ishmem(2)
@pytest.mark.parametrize("dtype", [each for each in KERNEL_TYPES if each not in HALVES])
def test_tiles_of_each_type_in_kernels(dtype: str) -> None:
    check_all(dtype, "group", [(3, 7), (20, 129)])


@pytest.mark.ishmem(3)
@pytest.mark.parametrize("routine", [name for name in REDUCTIONS if COLLECTIVES[name].tiles])
def test_each_reduction_of_tiles(routine: str) -> None:
    made = [pattern("uint16", 60, pe).reshape(6, 10) for pe in range(3)]
    a, wanted = ishmem.array(made[ishmem.my_pe()]), made[ishmem.my_pe()].copy()
    getattr(ishmem, routine)(a[1:4, 2:7], a[1:4, 2:7])
    wanted[1:4, 2:7] = model.combined(routine, [each[1:4, 2:7] for each in made], 0)
    same(a, wanted)


@pytest.mark.slow_cases("bfloat16", *(f"3pes-{form}-float16" for form in ("queue", "graph")))
@pytest.mark.ishmem(3)
@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("form", ["host", "queue", "graph"])
def test_tiles_of_floats_of_16_bits(form: str, dtype: str) -> None:
    numbers = [halves.values(dtype, 60, pe).reshape(6, 10) for pe in range(3)]
    a, wanted = ishmem.array(numbers[ishmem.my_pe()]), numbers[ishmem.my_pe()].copy()
    tile, graph = a[1:4, 2:7], Graph() if form == "graph" else None
    with graph.record() if graph else contextlib.nullcontext():
        (ishmem.sum_reduce if form == "host" else ishmem.sum_reduce_on_queue)(tile, tile, **halves.named(dtype))
    (graph.replay() if graph else ishmem.quiet_on_queue()).wait()
    tiles = [each[1:4, 2:7].ravel() for each in numbers]
    wanted[1:4, 2:7] = halves.combined("sum_reduce", tiles, 0, dtype).reshape(3, 5)
    halves.same(a, wanted, dtype)


@pytest.mark.ishmem(2)
@pytest.mark.parametrize("form", ["host", "group"])
def test_tiles_of_registered_memory(form: str) -> None:
    with registered_arrays():
        check_all("int32", form, [(3, 7), (20, 129)])


@pytest.mark.slow_cases("without access", "nodes", "late")
@pytest.mark.parametrize(
    "mode",
    [
        pytest.param({"nodes": [1, 2]}, id="nodes"),
        pytest.param({"env": {"ISHMEM_SIM_PEERS": "none"}}, id="access"),
        pytest.param({"env": {"ISHMEM_SIM_ORDER": "late:4"}}, id="late"),
    ],
)
def test_tiles_without_access_to_peers(pool_with, mode: dict[str, Any]) -> None:
    pool = pool_with(3, **mode)
    for form in ("host", "group"):
        pool.run(check_all, "int32", form, [(3, 7), (20, 129)])
    pool.run(test_tiles_of_registered_memory, "group")


@pytest.mark.ishmem(2)
def test_wrong_tiles_are_refused() -> None:
    me, a = ishmem.my_pe(), ishmem.zeros((8, 12), dtype="int32")
    private = dpnp.zeros((8, 12), dtype="int32")
    good = a[:2, 6:9], a[:2, 1:4]
    for error, words, call in (
        (ValueError, r"shape \(2, 3\) and source \(3, 3\)", lambda: ishmem.sum_reduce(good[0], a[:3, 1:4])),
        (ValueError, "dest has 2 times the rows", lambda: ishmem.fcollect(*good)),
        (ValueError, "dest and source overlap", lambda: ishmem.sum_reduce(a[:2, :3], a[1:3, :3])),
        (ValueError, "nelems is for contiguous", lambda: ishmem.sum_reduce(*good, nelems=2)),
        (ValueError, "rows of consecutive elements", lambda: ishmem.sum_reduce(good[0], a[:2, 0:6:2])),
        (ValueError, "dest is not contiguous", lambda: ishmem.sum_reduce(a[0, :12:2], a[1, :12:2])),
        (ishmem.SymmetryError, "not on the symmetric heap", lambda: ishmem.sum_reduce(good[0], private[:2, :3])),
        (TypeError, "dest has dtype uint8", lambda: ishmem.sum_reduce((ctypes.c_int * 2)(), a[0, :4:2])),
        (TypeError, "float32", lambda: ishmem.and_reduce(ishmem.ptr(a, me).view("f4")[:2, :3], good[1])),
        (IndexError, "root", lambda: ishmem.broadcast(*good, 2)),
        (ValueError, "not contiguous", lambda: ishmem.alltoall(*good)),
    ):
        if me:
            refused(error, words, call)
        else:
            refused(ishmem.SymmetryError, words, ishmem.sum_reduce, *good)
    refused(ishmem.SymmetryError, "the PEs disagree", ishmem.broadcast, a[:2, 7 - me : 10 - me], good[1], 0)
    refused(ishmem.SymmetryError, "the PEs disagree", ishmem.sum_reduce, *(good if me else (a[0], a[1])))
    ishmem.sum_reduce(*good)


sums = dpex.kernel(one_line("ishmem.sum_reduce(dest, source)", "dest", "source"))


@pytest.mark.ishmem(2)
def test_shapes_that_differ_are_refused_in_kernels() -> None:
    """Tiles that do not fit are an error of quiet, with or without ISHMEM_CHECK; no element changes."""
    a = ishmem.ones((8, 12), dtype="int32")
    for source in (a[4:6, :5], a[4:7, :4], a[4:6, 0:8:2], a[5:3:-1, :4]):
        dpex.call_kernel(sums, kapi.Range(1), a[:2, :4], source)
        refused(ValueError, r"sum_reduce in a kernel.*dest has 1 times the rows of source", ishmem.quiet)
        ishmem.sync_all()
    same(a, np.ones((8, 12), "int32"))
    refused(Exception, "both are tiles, of 2 dimensions", dpex.call_kernel, sums, kapi.Range(1), a[0, ::2], a[1, ::2])


@CHECKING
def test_kernels_check_tiles() -> None:
    me, a, private = ishmem.my_pe(), ishmem.zeros((8, 12), dtype="int32"), dpnp.zeros((8, 12), dtype="int32")
    for source in (a[2:4, 1:5] if me else a[2:5, 1:5], private[2:4, 1:5]):
        dpex.call_kernel(sums, kapi.Range(1), a[: source.shape[0], 7:11], source)
        refused((ishmem.SymmetryError, IndexError), r"disagree|not on the symmetric heap", ishmem.quiet)
        ishmem.sync_all()


@pytest.mark.ishmem([1, 2, 3])
@pytest.mark.parametrize("kind", [(), ("in_order",)])
def test_tiles_on_queues_and_in_graphs(kind: tuple[str, ...]) -> None:
    """Between kernels, and one after the other in a graph that is replayed."""
    me, n = ishmem.my_pe(), ishmem.n_pes()
    made = [np.arange(60, dtype="i4").reshape(6, 10) * (pe + 1) for pe in range(n)]
    a, b, c = ishmem.array(made[me]), ishmem.zeros((6 * n, 10), dtype="i4"), ishmem.zeros((6, 10), dtype="i4")
    queue = dpctl.SyclQueue(a.sycl_queue.sycl_context, a.sycl_device, property=kind)

    def calls(*depends: Any) -> Any:
        event = ishmem.broadcast_on_queue(c[1:4, 2:7], a[1:4, 2:7], n - 1, sycl_queue=queue, depends=depends)
        ishmem.fcollect_on_queue(b[: 3 * n, 1:6], c[1:4, 2:7], sycl_queue=queue)
        return event, ishmem.sum_reduce_on_queue(a[1:4, 2:7], c[1:4, 2:7], sycl_queue=queue)

    def check(turns: int) -> None:
        """Compare with the tile of the last PE, which each call but the first has multiplied by the number of PEs."""
        wanted, tile = np.zeros((6 * n, 10), "i4"), (made[n - 1][1:4, 2:7] + 1) * n ** (turns - 1)
        wanted[: 3 * n, 1:6] = np.tile(tile, (n, 1))
        same(b, wanted)
        mine = made[me].copy()
        mine[1:4, 2:7] = tile * n
        same(a, mine)
        ishmem.barrier_all()

    ready = dpex.call_kernel_async(add_one, kapi.Range(3, 5), (), a)[1]
    for event in calls(ready):
        event.wait()
    check(1)
    if graph_recording.HAS_GRAPHS:
        graph = Graph()
        with graph.record(queue):
            calls()
        graph.replay(queue)
        graph.replay(queue).wait()
        check(3)
    refused(ValueError, "has the shape", ishmem.sum_reduce_on_queue, a[1:4, 2:7], c[1:3, 2:7], sycl_queue=queue)
    width = 3 if me else 2
    ishmem.fcollect_on_queue(b[:n, 1 : 1 + width], a[:1, :width], sycl_queue=queue).wait()
    with pytest.raises(ishmem.SymmetryError, match="disagree") if n > 1 else contextlib.nullcontext():
        ishmem.quiet_on_queue(queue)


broadcast = dpex.kernel(one_line("ishmem.broadcast(dest, source, root)", "dest", "source", "root"))
exchange = dpex.kernel(one_line("ishmem.alltoalls(dest, source, dst, sst, 1)", "dest", "source", "dst", "sst"))


@CHECKING
def test_roots_and_distances() -> None:
    """Errors name the roots of calls, also where rows are thousands of elements apart; ids differ where those do."""
    me, a = ishmem.my_pe(), ishmem.zeros((4, 1 << 13), dtype="int32")
    flat = ishmem.zeros(1 << 16, dtype="int32")
    calls = ["PE 0: broadcast of 8 elements of dtype int32", "PE 1: broadcast of 8 elements of dtype int32 with root 1"]
    dpex.call_kernel(broadcast, kapi.Range(1), a[:2, :4], a[2:, :4], me)
    refused(ishmem.SymmetryError, rf"disagree; {calls[me]}; {calls[1 - me]} \(", ishmem.quiet)
    ishmem.sync_all()
    refused(ishmem.SymmetryError, "root", ishmem.broadcast, a[:2, :4], a[2:, :4], me)
    for dst, sst in ((4096 + 4096 * me, 1), (1, 4096 + 4096 * me), (1 + me, 1 + 4096 * (1 - me))):
        dpex.call_kernel(exchange, kapi.Range(1), flat, flat, dst, sst)
        words = r"disagree; PE \d: (alltoalls of .*, strides )0x(\w+); PE \d: \1(?!0x\2)"
        refused(ishmem.SymmetryError, words, ishmem.quiet)
        ishmem.sync_all()
