"""iput, iget, ibput and ibget on the host and in kernels, and put and get of views that are not contiguous."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from common import KERNEL_TYPES, both_forms, dpex, dpnp, kapi, one_line, pattern, refused, ring, same, symmetric

import ishmem
from ishmem.common.type_tables import RMA_TYPES

LENGTH, WIDTH = 120, 140

# dst, sst, bsize, nblocks, offset of dest, offset of source
CASES = [
    (1, 1, 1, 0, 0, 0), (1, 1, 1, 1, 5, 3), (1, 1, 1, 33, 1, 2), (2, 1, 1, 17, 0, 1), (1, 3, 1, 17, 3, 0),
    (7, 5, 1, 9, 2, 1), (99, 1, 1, 2, 4, 0), (1000, 1000, 1, 1, 7, 7), (4, 4, 4, 5, 0, 0), (9, 4, 3, 5, 1, 2),
    (16, 20, 16, 4, 0, 0), (17, 16, 16, 4, 1, 3), (40, 33, 33, 3, 6, 5), (5, 5, 0, 9, 0, 0), (9, 9, 5, 0, 0, 0),
]  # fmt: skip


def chosen(first: int, step: int, size: int, count: int) -> list[int]:
    """Return the indices of the elements of blocks."""
    return [first + block * step + k for block in range(count) for k in range(size)]


class Cases:
    """Every PE moves every case to and from every PE, each to a slot of its own with guard elements around it."""

    def __init__(self, dtype: str) -> None:
        self.dtype, self.me, self.n = dtype, ishmem.my_pe(), ishmem.n_pes()
        self.values = [pattern(dtype, LENGTH, pe) for pe in range(self.n)]
        self.source = symmetric(self.values[self.me])
        self.guard = pattern(dtype, self.n * len(CASES) * WIDTH, 99)

    def places(self, pe: int) -> Iterator[tuple[int, ...]]:
        """Give place and case of the cases that belong to a PE."""
        for number, case in enumerate(CASES):
            yield ((pe * len(CASES) + number) * WIDTH, *case)

    def expected(self) -> np.ndarray:
        result = self.guard.copy()
        for pe in range(self.n):
            for place, dst, sst, size, count, to, origin in self.places(pe):
                result[chosen(place + to, dst, size, count)] = self.values[pe][chosen(origin, sst, size, count)]
        return result


def check_strides(dtype: str, form: str = "") -> None:
    """With host, symmetric and private arrays on this PE; blocks of one element by iput and iget as well.

    With ``form`` by the routines of that ending, which return events and take no gaps in host memory.
    """

    def move(name: str, *arguments: Any) -> None:
        event = getattr(ishmem, name + form)(*arguments)
        if form:
            event.wait()

    c = Cases(dtype)
    sources = c.values[c.me], c.source, dpnp.asarray(c.values[c.me])
    puts, gets = [symmetric(c.guard) for _ in sources], [dpnp.asarray(c.guard), symmetric(c.guard)]
    gets += [] if form else [c.guard.copy()]
    for pe in range(c.n):
        for place, dst, sst, size, count, to, origin in c.places(c.me):
            for k, (put, source) in enumerate(zip(puts, sources)):
                blocks = (count,) if size == 1 and k else (size, count)
                name = "iput" if len(blocks) == 1 else "ibput"
                move(name, put[place + to :], source[origin:], dst, sst, *blocks, pe)
        for place, dst, sst, size, count, to, origin in c.places(pe):
            for k, get in enumerate(gets):
                blocks = (count,) if size == 1 and k else (size, count)
                name = "iget" if len(blocks) == 1 else "ibget"
                move(name, get[place + to :], c.source[origin:], dst, sst, *blocks, pe)
    ishmem.barrier_all()
    for result in (*puts, *gets):
        same(result, c.expected())


@pytest.mark.one_type("int16")
@pytest.mark.ishmem([1, 2, 3, 4])
@pytest.mark.parametrize("dtype", RMA_TYPES)
def test_host_strides_of_each_type(dtype: str) -> None:
    check_strides(dtype)


@pytest.mark.ishmem(2, env={"ISHMEM_COPY_CUTOVER": "1"}, exact=True)
def test_strides_by_the_copy_engine() -> None:
    test_host_strides_of_each_type("int32")
    test_views_of_each_shape("float32", 0)
    test_views_of_each_shape("int8", 7)


@pytest.mark.ishmem(2)
def test_a_large_number_of_single_elements() -> None:
    """More than 1 MiB, in single elements."""
    me, n, count = ishmem.my_pe(), ishmem.n_pes(), 300_007
    source = ishmem.array(np.arange(2 * count, dtype="int32") * (me + 1))
    dest = ishmem.zeros(3 * count, dtype="int32")
    ishmem.iput(dest, source[1:], 3, 2, count, (me + 1) % n)
    ishmem.barrier_all()
    expected = np.zeros((count, 3), "int32")
    expected[:, 0] = (np.arange(count, dtype="int32") * 2 + 1) * ((me - 1) % n + 1)
    same(dest, expected.ravel())


# --- put and get of views


SHAPED: list[tuple[Any, Any]] = [
    (lambda a: a.T, lambda a: a.reshape(6, 5, 4)), (lambda a: a[:, 1:].T, lambda a: a[:, :4].T),
    (lambda a: a[:, :, 1], lambda a: a[:, :, 4]), (lambda a: a[1:3, 1:4, 2:5], lambda a: a[2:, :3, :3]),
    (lambda a: a[::2, ::-1, ::2], lambda a: a[:2, ::-1, 1::2]), (lambda a: a.transpose(1, 0, 2), lambda a: a),
    (lambda a: a[:, :4].transpose(2, 1, 0), lambda a: a[:, 1:].T), (lambda a: a[1], lambda a: a.T[:, :, 2]),
    (lambda a: a[1:3, :, ::3], lambda a: a[::3, :, 4:]), (lambda a: a[:, 1:3, :], lambda a: a.reshape(8, 15)[:, 3:9]),
    (lambda a: a[0:1, 3:4, 1:2], lambda a: a[2:3, ::9, ::8]), (lambda a: a[:, 2:2], lambda a: a[:, :, 3:3]),
    (lambda a: a[1:3], lambda a: a[2:]), (lambda a: a, lambda a: a.reshape(24, 5)),
    (lambda a: a[1, :, 2], lambda a: a[2, ::-1, 5]), (lambda a: a[2, 3, ::2], lambda a: a[1, 4, 1:4]),
    (lambda a: a[0, 0], lambda a: a[1:3, 2, :3]), (lambda a: a[2, 1, ::-1], lambda a: a[3, 2, ::-1]),
    (lambda a: a[1, 2, ::-2], lambda a: a[3, 4, 5:2:-1]), (lambda a: a[2, 1, ::-1], lambda a: a[0, 4]),
    (lambda a: a[1:3, 2, :3], lambda a: a[1, 0]), (lambda a: a[0, 1, 2, ...], lambda a: a[3, 4, 5, ...]),
]  # fmt: skip
"""Parts of an array of shape (4, 5, 6): of dest, and of the elements of source in C order."""
FORTRAN = [(lambda a: a.T, lambda a: a.T)]
"""Both in Fortran order: only whole, as the first elements are those in memory."""
PARTS = [("uint8", count) for count in (1, 2, 5, 13, 23)]


def check_views(dtype: str, count: int, put: Any, put_nbi: Any, get: Any, get_nbi: Any, on_host: bool = True) -> None:
    """The first elements of views in up to three dimensions, transposed and backwards, in C order; 0: all.

    Gets into private memory, and ``on_host`` into host memory as well.
    """
    me, n, right, left = ring()
    values = [pattern(dtype, 120, pe).reshape(4, 5, 6) for pe in range(n)]
    guard = pattern(dtype, 120, 99).reshape(4, 5, 6)
    source, private = symmetric(values[me]), dpnp.asarray(values[me])
    puts = [symmetric(guard) for _ in range(4)]
    gets = [symmetric(guard), dpnp.asarray(guard), *(guard.copy() for _ in range(2 * on_host))]
    for to, origin in SHAPED if count else SHAPED + FORTRAN:
        nelems = min(count, to(guard).size) if count else None
        for dest, given in zip(puts, (source, values[me], private)):
            put(to(dest), origin(given), right, nelems=nelems)
        put_nbi(to(puts[3]), origin(values[me]), right, nelems=nelems)
        for dest in gets[:-1]:
            get(to(dest), origin(source), right, nelems=nelems)
        get_nbi(to(gets[-1]), origin(source), right, nelems=nelems)
        ishmem.barrier_all()
        for results, pe in ((puts, left), (gets, right)):
            expected = guard.copy()
            places = to(np.arange(120).reshape(4, 5, 6)).ravel()[:nelems]
            expected.ravel()[places] = origin(values[pe]).ravel()[:nelems]
            for result in results:
                same(result, expected)
                result[...] = guard if isinstance(result, np.ndarray) else dpnp.asarray(guard)
        ishmem.barrier_all()


@pytest.mark.ishmem
@pytest.mark.parametrize(("dtype", "count"), [("bool", 0), ("int16", 0), ("float64", 0), ("complex128", 0), *PARTS])
def test_views_of_each_shape(dtype: str, count: int) -> None:
    check_views(dtype, count, ishmem.put, ishmem.put_nbi, ishmem.get, ishmem.get_nbi)


@pytest.mark.slow("test_chapters_on_nodes.py::test_chapter, on two nodes")
@pytest.mark.parametrize("environment", [{}, {"ISHMEM_SIM_ORDER": "late:3"}], ids=["at once", "late"])
def test_views_of_each_shape_on_nodes(pool_with, environment: dict[str, str]) -> None:
    for dtype, count in (("int32", 0), ("uint8", 7)):
        pool_with(3, environment, nodes=[1, 2]).run(test_views_of_each_shape, dtype, count)


class Labelled(np.ndarray):
    """A class derived from numpy's."""


@pytest.mark.ishmem(1)
def test_sources_that_share_memory() -> None:
    """A source whose elements share memory, other buffers, and fields of records."""
    me = ishmem.my_pe()
    dest, value = ishmem.zeros((3, 4), dtype="int32"), np.array([7], "int32")
    ishmem.put(dest[:, 1:3], np.broadcast_to(value, (3, 2)), me)
    windows = np.lib.stride_tricks.sliding_window_view(np.arange(5, dtype="int32"), 3)
    ishmem.put(dest.T[3], windows[:, 1], me)
    same(dest, np.array([[0, 7, 7, 1], [0, 7, 7, 2], [0, 7, 7, 3]], "int32"))
    ishmem.put(dest[:, 0], memoryview(np.arange(6, dtype="int32"))[::-2], me)
    ishmem.put(dest[:2, 3], np.arange(8, dtype="int32").view(Labelled)[2::3], me)
    same(dest, np.array([[5, 7, 7, 2], [3, 7, 7, 5], [1, 7, 7, 3]], "int32"))
    refused(TypeError, ">i4", ishmem.put, dest[:, 0], np.arange(6, dtype=">i4")[::2], me)
    records = np.zeros(4, [("a", "u1"), ("b", "i4")])
    with pytest.raises(ValueError, match="source has strides that are not multiples of its elements"):
        ishmem.put(dest[1], records["b"], me)
    with pytest.raises(ValueError, match=r"elements of dest share memory.*\(3, 3\).*\(1, 1\)"):
        ishmem.get(np.lib.stride_tricks.as_strided(np.zeros(5, "i4"), (3, 3), (4, 4)), dest[:, 1:], me)


@pytest.mark.ishmem(2)
def test_large_views_are_copied() -> None:
    """Views that are copied without the interpreter's lock, also of static host memory."""
    me, n, right, left = ring()
    values = [pattern("float32", 512 * 400, pe).reshape(512, 400) for pe in range(n)]
    for dest in (ishmem.zeros((400, 512), dtype="float32"), ishmem.static("plate", (400, 512), "float32")):
        ishmem.put(dest[::2], values[me].T[1::2], right)
        ishmem.barrier_all()
        expected = np.zeros((400, 512), "float32")
        expected[::2] = values[left].T[1::2]
        same(dest, expected)


@pytest.mark.ishmem([1, 2])
def test_wrong_arguments_are_refused() -> None:
    a, b = ishmem.zeros((4, 6), dtype="int32"), ishmem.zeros(24, dtype="int32")
    off_heap, host = dpnp.zeros(24, dtype="int32"), np.zeros(24, "int32")
    frozen = host.copy()
    frozen.flags.writeable = False
    wrong: list[tuple[Any, type[Exception], str]] = [
        (lambda: ishmem.iput(b, host, 0, 1, 3, 0), ValueError, "dst is 0"),
        (lambda: ishmem.iput(b, host, 1, -1, 3, 0), ValueError, "sst is -1"),
        (lambda: ishmem.ibput(b, host, 3, 4, 4, 2, 0), ValueError, "dst is 3.*block, here 4"),
        (lambda: ishmem.iput(b, host, 1, 1, -1, 0), ValueError, "at least 0"),
        (lambda: ishmem.iput(b, host, 12, 1, 3, 0), ValueError, "dest has 24 elements.*need 25"),
        (lambda: ishmem.iget(host, b, 1, 8, 4, 0), ValueError, "source has 24 elements.*need 25"),
        (lambda: ishmem.iput(b, host, 2**62, 1, 3, 0), ValueError, "dest has 24 elements"),
        (lambda: ishmem.iput(b, host, 2**80, 1, 2, 0), ValueError, "dest has 24 elements"),
        (lambda: ishmem.iput(b, host, 1.0, 1, 2, 0), TypeError, "dst is an integer, got float"),
        (lambda: ishmem.iput(b, host, 1, 1, None, 0), TypeError, "nelems is an integer"),
        (lambda: ishmem.ibput(b, host, 1, 1, 1, "2", 0), TypeError, "nblocks is an integer"),
        (lambda: ishmem.iput(b, host, 1, 1, 2, ishmem.n_pes()), IndexError, "pe is"),
        (lambda: ishmem.iput(off_heap, b, 1, 1, 2, 0), ishmem.SymmetryError, "dest"),
        (lambda: ishmem.iget(host, off_heap, 1, 1, 2, 0), ishmem.SymmetryError, "source"),
        (lambda: ishmem.iget(frozen, b, 1, 1, 2, 0), ValueError, "read-only"),
        (lambda: ishmem.iput(b, host.astype("f4"), 1, 1, 2, 0), TypeError, "dtype"),
        (lambda: ishmem.iput(b, [1, 2], 1, 1, 2, 0), TypeError, "source is a dpnp or numpy array"),
        (lambda: ishmem.iput(a[:, 1], host, 1, 1, 2, 0), ValueError, "C-contiguous"),
        (lambda: ishmem.put(a[:3, :4], host.reshape(4, 6)[:, :3], 0), ValueError, r"\(3, 4\).*\(4, 3\), of which"),
        (lambda: ishmem.put(off_heap[::2], host[::2], 0), ishmem.SymmetryError, "dest"),
        (lambda: ishmem.put(off_heap[:0], host[::2], 0, nelems=0), ishmem.SymmetryError, "dest"),
        (lambda: ishmem.put(b[::2], host[::2], ishmem.n_pes()), IndexError, "pe is"),
        (lambda: ishmem.put(b[::2], host[::2], 0, nelems=13), ValueError, "13"),
        (lambda: ishmem.put(b[::2], host.astype("f4")[::2], 0), TypeError, "dtype"),
        (lambda: ishmem.put(b[::2], host, 0), ValueError, "dest has 12 elements and source has 24"),
        (lambda: ishmem.get(frozen[::2], b[::2], 0), ValueError, "read-only"),
    ]
    for call, kind, words in wrong:
        refused(kind, words, call)
    ishmem.barrier_all()
    same(b, np.zeros(24, "int32"))


# --- in kernels


def move_cases(item, put, get, source, cases, width):  # type: ignore
    group = item.get_group()
    me, n_cases = ishmem.my_pe(), cases.shape[0]
    for pe in range(ishmem.n_pes()):
        for c in range(n_cases):
            dst, sst, size, count = cases[c, 0], cases[c, 1], cases[c, 2], cases[c, 3]
            there = put[(me * n_cases + c) * width + cases[c, 4] :]
            here = get[(pe * n_cases + c) * width + cases[c, 4] :]
            origin = source[cases[c, 5] :]
            if size == 1:
                ishmem.iput_work_group(there, origin, dst, sst, count, pe, group)
                ishmem.iget_work_group(here, origin, dst, sst, count, pe, group)
            else:
                ishmem.ibput_work_group(there, origin, dst, sst, size, count, pe, group)
                ishmem.ibget_work_group(here, origin, dst, sst, size, count, pe, group)
    ishmem.quiet_work_group(group)


MOVE_CASES = both_forms(move_cases)


def check_kernel(dtype: str, *groups: tuple[int, ...]) -> None:
    c = Cases(dtype)
    cases = dpnp.asarray(np.array(CASES))
    for group in (None, *groups):
        put, get = symmetric(c.guard), symmetric(c.guard)
        kernel, span = (MOVE_CASES[0], kapi.NdRange(group, group)) if group else (MOVE_CASES[1], kapi.Range(1))
        dpex.call_kernel(kernel, span, put, get, c.source, cases, WIDTH)
        ishmem.barrier_all()
        for result in (put, get):
            same(result, c.expected())
            ishmem.free(result)


@pytest.mark.slow_cases("uint8 and complex64", "2pes-bool", "2pes-int64")
@pytest.mark.slow_types
@pytest.mark.one_type("int16")
@pytest.mark.parametrize("dtype", KERNEL_TYPES)
@pytest.mark.ishmem([1, 2, 3, 4])
def test_kernel_strides_of_each_type(dtype: str) -> None:
    check_kernel(dtype, *([(1,), (7,)] if dtype == "int16" and ishmem.n_pes() != 2 else []))


@pytest.mark.slow_cases("other numbers", "2pes-1")
@pytest.mark.ishmem(2)
@pytest.mark.parametrize("group", [(64,), (5, 3), (2, 3, 4)], ids=len)
def test_strides_by_groups_of_each_shape(group: tuple[int, ...]) -> None:
    check_kernel({1: "complex128", 2: "uint8", 3: "int16"}[len(group)], group)


def move_transposed(item, put, get, source, pe):  # type: ignore
    group = item.get_group()
    ishmem.put_work_group(put, source, pe, group)
    ishmem.get_work_group(get, source, pe, group)
    ishmem.quiet_work_group(group)


MOVE_TRANSPOSED = both_forms(move_transposed)


@pytest.mark.slow_cases("float64", "1pes-uint8", "2pes-uint8")
@pytest.mark.slow_cases("the same on other numbers of PEs", "3pes-")
@pytest.mark.ishmem
@pytest.mark.parametrize("dtype", ["uint8", "float64"])
def test_kernels_copy_between_c_and_fortran_order(dtype: str) -> None:
    """Elements go to the same indices between arrays in C and in Fortran order."""
    me, n, right, left = ring()
    values = [pattern(dtype, 15, pe).reshape(5, 3) for pe in range(n)]
    for kernel, span in zip(MOVE_TRANSPOSED, (kapi.NdRange((4,), (4,)), kapi.Range(1))):
        for to_c, from_c in ((False, True), (True, False), (False, False)):
            source = symmetric(values[me]) if from_c else symmetric(np.ascontiguousarray(values[me].T)).T
            put, get = (symmetric(pattern(dtype, 15, 99).reshape((5, 3) if to_c else (3, 5))) for _ in range(2))
            results = (put, get) if to_c else (put.T, get.T)
            dpex.call_kernel(kernel, span, *results, source, right)
            ishmem.barrier_all()
            for whole, pe in ((put, left), (get, right)):
                same(whole, values[pe] if to_c else np.ascontiguousarray(values[pe].T))
            ishmem.barrier_all()


CALLS = ("ishmem.put(a.T, b, 0)", "ishmem.sum_reduce(a, b)", "ishmem.put(a, b, 0, 2)")
put_transposed, sum_transposed, put_part = (dpex.kernel(one_line(call, "a", "b")) for call in CALLS)


@pytest.mark.ishmem(1)
def test_transposed_on_one_pe() -> None:
    a, b = ishmem.zeros((4, 4), dtype="int32"), ishmem.zeros((4, 4), dtype="int32")
    values = pattern("int32", 16, 1).reshape(4, 4)
    b[:] = dpnp.asarray(values)
    if not dpex.HAS_NUMBA_DPEX:  # which does not compile a.T
        dpex.call_kernel(put_transposed, kapi.Range(1), a, b)
        same(a, values.T)
    words = "sum_reduce: the memory orders differ, dest in Fortran order and source in C order"
    refused(Exception, words, dpex.call_kernel, sum_transposed, kapi.Range(1), a.T, b)
    with pytest.raises(Exception, match="nelems is for contiguous arrays in the same memory order"):
        dpex.call_kernel(put_part, kapi.Range(1), a.T, b)
