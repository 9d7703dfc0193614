"""put, get, p, g and their forms, on the host and in kernels, and ptr."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from common import GRID, KERNEL_TYPES, SAMPLE, WIDTH, dpex, dpnp, kapi, pattern, refused, ring, same, symmetric

import ishmem
from ishmem.common.type_tables import RMA_TYPES

LARGE = (1 << 20) + 5


class Cases:
    """Every PE moves every case to and from every PE, each to a slot of its own with guard elements around it."""

    def __init__(self, dtype: str, cases: list[tuple[int, int, int]]) -> None:
        self.dtype, self.cases = dtype, cases
        self.me, self.n = ishmem.my_pe(), ishmem.n_pes()
        self.sources = [pattern(dtype, WIDTH, pe) for pe in range(self.n)]
        self.source = symmetric(self.sources[self.me])

    @property
    def count(self) -> int:
        return self.n * len(self.cases) * WIDTH

    def guard(self) -> np.ndarray:
        return pattern(self.dtype, self.count, 99)

    def places(self, pe: int) -> Iterator[tuple[int, int, int]]:
        """Give size, source offset and destination of the cases that belong to a PE."""
        for number, (size, source, dest) in enumerate(self.cases):
            yield size, source, (pe * len(self.cases) + number) * WIDTH + dest

    def expected(self) -> np.ndarray:
        """Return what arrives on this PE, for put and get alike: in slot j, the source of PE j."""
        result = self.guard()
        for pe in range(self.n):
            for size, source, place in self.places(pe):
                result[place : place + size] = self.sources[pe][source : source + size]
        return result


def check_host_cases(dtype: str, cases: list[tuple[int, int, int]]) -> None:
    c = Cases(dtype, cases)
    put, put_nbi, get, get_nbi = (symmetric(c.guard()) for _ in range(4))
    for pe in range(c.n):
        for size, start, place in c.places(c.me):
            ishmem.put(put[place : place + size], c.source[start : start + size], pe)
            ishmem.put_nbi(put_nbi[place:], c.source[start:], pe, nelems=size)
        for size, start, place in c.places(pe):
            ishmem.get(get[place : place + size], c.source[start : start + size], pe)
            ishmem.get_nbi(get_nbi[place:], c.source[start:], pe, nelems=size)
    ishmem.barrier_all()
    for result in (put, put_nbi, get, get_nbi):
        same(result, c.expected())


@pytest.mark.one_type("int16")
@pytest.mark.ishmem
@pytest.mark.parametrize("dtype", RMA_TYPES)
def test_host_copies_of_each_type_and_alignment(dtype: str) -> None:
    check_host_cases(dtype, GRID if ishmem.n_pes() == 2 else SAMPLE)


@pytest.mark.one_type("complex128")
@pytest.mark.ishmem
@pytest.mark.parametrize("dtype", RMA_TYPES)
def test_p_and_g_of_each_type(dtype: str) -> None:
    me, n, count = ishmem.my_pe(), ishmem.n_pes(), 9
    values = [pattern(dtype, count, pe) for pe in range(n)]
    guard = pattern(dtype, n * (count + 2), 99)
    source, dest = symmetric(values[me]), symmetric(guard)
    for pe in range(n):
        for index in range(count):
            ishmem.p(dest, values[me][index], pe, me * (count + 2) + index)
            assert ishmem.g(source, pe, index) == values[pe][index].item()
    ishmem.p(dest[-1:], values[me][0].item(), me)
    ishmem.barrier_all()
    expected = guard.reshape(n, count + 2).copy()
    expected[:, :count] = values
    expected[-1, -1] = values[me][0]
    same(dest, expected.ravel())


@pytest.mark.ishmem(1)
def test_p_stores_extreme_values() -> None:
    """A host p stores the ends of each range, and not a number, exactly."""
    me = ishmem.my_pe()
    for dtype in RMA_TYPES:
        kind, cell = np.dtype(dtype), ishmem.zeros(3, dtype=dtype)
        info = np.iinfo(kind) if kind.kind in "iu" else np.finfo(kind) if kind.kind in "fc" else None
        for value in (info.min, info.max) if info else (False, True):
            ishmem.p(cell, value, me, 1)
            assert ishmem.g(cell, me, 1) == value
            same(cell, np.array([0, value, 0], dtype))
        for value in (np.inf, -np.inf, np.nan) if kind.kind in "fc" else ():
            ishmem.p(cell, value, me, 1)
            same(cell, np.array([0, value, 0], dtype))


@pytest.mark.ishmem
@pytest.mark.parametrize("dtype", ["uint8", "complex128"])
def test_host_copies_of_large_arrays(dtype: str) -> None:
    """More than 1 MiB, to and from every PE, off the 16-byte grid at one end."""
    me, n = ishmem.my_pe(), ishmem.n_pes()
    count = LARGE // np.dtype(dtype).itemsize + 3
    sources = [pattern(dtype, count, pe) for pe in range(n)]
    guard = pattern(dtype, count + 4, 99)
    source, dest = symmetric(sources[me]), symmetric(guard)
    off_heap, host = dpnp.empty(count, dtype=dtype), np.empty(count, dtype)
    for step in range(n):
        to, origin = (me + step) % n, (me - step) % n
        ishmem.put(dest[3:-1], source, to)
        ishmem.barrier_all()
        same(dest, np.concatenate([guard[:3], sources[origin], guard[-1:]]))
        ishmem.get(off_heap, source, to)
        ishmem.get_nbi(host[1:], source[1:], to)
        ishmem.quiet()
        same(off_heap, sources[to])
        same(host[1:], sources[to][1:])
        ishmem.barrier_all()


@pytest.mark.ishmem
def test_objects_with_the_buffer_protocol() -> None:
    """Other objects with Python's buffer protocol are arrays too, with the dtype of their items."""
    me, n = ishmem.my_pe(), ishmem.n_pes()
    dest, chars = ishmem.zeros(6, dtype="f8"), ishmem.zeros(4, dtype="u1")
    ishmem.put(dest[:5], memoryview(np.arange(5.0) + me), (me + 1) % n)
    ishmem.put(chars[:3], b"abc", (me + 1) % n)
    ishmem.barrier_all()
    same(dest, np.append(np.arange(5.0) + (me - 1) % n, 0))
    same(chars, np.array([97, 98, 99, 0], "u1"))
    got = np.zeros(6)
    ishmem.get(memoryview(got), dest, me)
    same(got, dest.asnumpy())
    for source, dtype in ((memoryview(np.zeros(3, "i4")), "int32"), (b"abc", "uint8"), (bytearray(3), "uint8")):
        refused(TypeError, f"{dtype}.*float64|float64.*{dtype}", ishmem.put, dest[:3], source, me)
    refused(TypeError, "nelems is an integer, got bool", ishmem.put, dest, np.ones(6), me, True)
    for value in (1j, np.complex128(1 + 2j), np.complex64(1)):
        refused(TypeError, "complex", ishmem.p, dest, value, me)


@pytest.mark.one_type("float32")
@pytest.mark.parametrize("dtype", RMA_TYPES)
@pytest.mark.ishmem
def test_arrays_off_the_heap(dtype: str) -> None:
    """Sources and destinations that are numpy arrays, dpnp arrays and scalars."""
    me, n, right, left = ring()
    values = [pattern(dtype, 33, pe) for pe in range(n)]
    guard = pattern(dtype, 5 * 40, 99)
    dest = symmetric(guard)
    frozen = values[me].copy()
    frozen.flags.writeable = False
    ishmem.put(dest[1:34], values[me], right)
    ishmem.put(dest[41:74], frozen, right)
    ishmem.put_nbi(dest[81:114], dpnp.asarray(values[me]), right)
    ishmem.put(dest[121:124], dpnp.asarray(values[me])[7:], right, nelems=3)
    ishmem.put(dest[160:161], values[me][4].item(), right)
    ishmem.put(dest[162:163], values[me][5], right)
    ishmem.barrier_all()
    expected = guard.copy()
    for start, first, last in [(1, 0, 33), (41, 0, 33), (81, 0, 33), (121, 7, 10), (160, 4, 5), (162, 5, 6)]:
        expected[start : start + last - first] = values[left][first:last]
    same(dest, expected)
    host, device = pattern(dtype, 35, 98), dpnp.asarray(pattern(dtype, 35, 98))
    ishmem.get(host[1:-1], dest[1:34], right)
    ishmem.get_nbi(device[1:-1], dest[1:34], right)
    ishmem.quiet()
    wanted = np.concatenate([pattern(dtype, 35, 98)[:1], values[me], pattern(dtype, 35, 98)[-1:]])
    same(host, wanted)
    same(device, wanted)


# --- in kernels


@dpex.kernel
def move_cases(item: kapi.Item, put, put_nbi, get, get_nbi, p, g, source, cases, width):  # type: ignore
    me, n_cases = ishmem.my_pe(), cases.shape[0]
    for pe in range(ishmem.n_pes()):
        for c in range(n_cases):
            size, start = cases[c, 0], cases[c, 1]
            there = (me * n_cases + c) * width + cases[c, 2]
            here = (pe * n_cases + c) * width + cases[c, 2]
            ishmem.put(put[there : there + size], source[start : start + size], pe)
            ishmem.put_nbi(put_nbi[there:], source[start:], pe, nelems=size)
            ishmem.get(get[here : here + size], source[start : start + size], pe)
            ishmem.get_nbi(get_nbi[here:], source[start:], pe, nelems=size)
            for k in range(size):
                ishmem.p(p, source[start + k], pe, there + k)
                g[here + k] = ishmem.g(source, pe, start + k)
    ishmem.quiet()


def check_kernel_cases(dtype: str, cases: list[tuple[int, int, int]]) -> None:
    c = Cases(dtype, cases)
    results = [symmetric(c.guard()) for _ in range(6)]
    dpex.call_kernel(move_cases, kapi.Range(1), *results, c.source, dpnp.asarray(np.array(cases)), WIDTH)
    ishmem.barrier_all()
    for result in results:
        same(result, c.expected())


@pytest.mark.slow_cases("other types", "2pes-bool", "2pes-int64", "2pes-float32")
@pytest.mark.slow_types
@pytest.mark.one_type("int16")
@pytest.mark.parametrize("dtype", KERNEL_TYPES)
@pytest.mark.ishmem([1, 2, 3, 4])
def test_kernel_copies_of_each_type_and_alignment(dtype: str) -> None:
    check_kernel_cases(dtype, GRID if ishmem.n_pes() == 2 else SAMPLE)


@dpex.kernel
def move_by_group(item: kapi.NdItem, put, put_nbi, get, get_nbi, source, cases, width):  # type: ignore
    me, n_cases, group = ishmem.my_pe(), cases.shape[0], item.get_group()
    for pe in range(ishmem.n_pes()):
        for c in range(n_cases):
            size, start = cases[c, 0], cases[c, 1]
            there = (me * n_cases + c) * width + cases[c, 2]
            here = (pe * n_cases + c) * width + cases[c, 2]
            ishmem.put_work_group(put[there : there + size], source[start : start + size], pe, group)
            ishmem.put_nbi_work_group(put_nbi[there:], source[start:], pe, group, nelems=size)
            ishmem.get_work_group(get[here : here + size], source[start : start + size], pe, group)
            ishmem.get_nbi_work_group(get_nbi[here:], source[start:], pe, group, nelems=size)
    ishmem.quiet_work_group(group)


def check_group_cases(dtype: str, cases: list[tuple[int, int, int]], *groups: tuple[int, ...]) -> None:
    c = Cases(dtype, cases)
    for group in groups:
        results = [symmetric(c.guard()) for _ in range(4)]
        given = dpnp.asarray(np.array(cases))
        dpex.call_kernel(move_by_group, kapi.NdRange(group, group), *results, c.source, given, WIDTH)
        ishmem.barrier_all()
        for result in results:
            same(result, c.expected())
            ishmem.free(result)


@pytest.mark.slow_cases("other types", "2pes-bool", "2pes-int64")
@pytest.mark.slow_types
@pytest.mark.one_type("float32")
@pytest.mark.parametrize("dtype", KERNEL_TYPES)
@pytest.mark.ishmem([1, 2, 3, 4])
def test_group_copies_of_each_type_and_alignment(dtype: str) -> None:
    check_group_cases(dtype, SAMPLE, (24,))


@pytest.mark.ishmem(2)
@pytest.mark.parametrize("groups", [[(1,), (7,), (64,)], [(5, 7), (1, 3)], [(3, 5, 2), (2, 1, 9)]], ids=len)
def test_groups_of_each_shape(groups: list[tuple[int, ...]]) -> None:
    check_group_cases("uint8", SAMPLE, *groups)


@dpex.kernel
def put_in_turns(item: kapi.NdItem, rows, source, pe):
    """Fill ``source``, and put it to a row: in each turn, after a barrier of the group."""
    group, rank = item.get_group(), item.get_local_id(0)
    for turn in range(rows.shape[0]):
        for k in range(rank, source.shape[0], group.get_local_range(0)):
            source[k] = 100 * turn + k
        kapi.group_barrier(group)
        ishmem.put_work_group(rows[turn], source, pe, group)


@pytest.mark.ishmem
@pytest.mark.parametrize("count", [1, 20, 32, 77, 500])
def test_put_work_group_in_turns(count: int) -> None:
    me, n = ishmem.my_pe(), ishmem.n_pes()
    rows, source = ishmem.full((3, count), -1.0), ishmem.zeros(count)
    ishmem.barrier_all()
    dpex.call_kernel(put_in_turns, kapi.NdRange((32,), (32,)), rows, source, (me + 1) % n)
    ishmem.barrier_all()
    same(rows, 100.0 * np.arange(3)[:, None] + np.arange(count))


@dpex.kernel
def move_large(item: kapi.NdItem, put, get, by_group, source, to, nelems):  # type: ignore
    group = item.get_group()
    if item.get_local_id(0) == 0:
        ishmem.put(put[3:-1], source, to)
        ishmem.get(get[1:], source, to, nelems=nelems)
    ishmem.put_work_group(by_group[3:-1], source, to, group)
    ishmem.barrier_all_work_group(group)


def check_kernel_large(dtype: str, count: int) -> None:
    me, n = ishmem.my_pe(), ishmem.n_pes()
    to, origin = (me + 1) % n, (me - 1) % n
    sources = [pattern(dtype, count, pe) for pe in range(n)]
    guard = pattern(dtype, count + 4, 99)
    put, get, by_group, source = (symmetric(values) for values in (guard, guard, guard, sources[me]))
    dpex.call_kernel(move_large, kapi.NdRange((24,), (24,)), put, get, by_group, source, to, count)
    same(put, np.concatenate([guard[:3], sources[origin], guard[-1:]]))
    same(by_group, np.concatenate([guard[:3], sources[origin], guard[-1:]]))
    same(get, np.concatenate([guard[:1], sources[to], guard[count + 1 :]]))


@pytest.mark.ishmem
def test_kernel_copies_of_large_arrays() -> None:
    for count in (1001, LARGE):
        check_kernel_large("uint8", count)


@dpex.kernel
def put_rows(item: kapi.Item, dest, source, to):  # type: ignore
    row = item.get_id(0)
    ishmem.put(dest[row], source[source.shape[0] - 1 - row], to)
    ishmem.fence()
    ishmem.p(dest, source[row, 0], to, dest.shape[1] * row)


@pytest.mark.ishmem
def test_each_work_item_puts_a_row() -> None:
    """Every work-item puts a row of its own."""
    me, n = ishmem.my_pe(), ishmem.n_pes()
    values = [pattern("float32", 40 * 7, pe).reshape(40, 7) for pe in range(n)]
    source, dest = symmetric(values[me]), ishmem.zeros((40, 7), dtype="float32")
    dpex.call_kernel(put_rows, kapi.Range(40), dest, source, (me + 1) % n)
    ishmem.barrier_all()
    left = values[(me - 1) % n]
    expected = left[::-1].copy()
    expected[:, 0] = left[:, 0]
    same(dest, expected)


@dpex.kernel
def move_off_heap(item: kapi.Item, dest, source, back, to):  # type: ignore
    ishmem.put(dest[1:-1], source, to)
    ishmem.p(dest, 3, to, dest.size - 1)
    ishmem.get(back, dest[1:-1], ishmem.my_pe())


@pytest.mark.ishmem([1, 2])
def test_arrays_off_the_heap_in_kernels() -> None:
    """What need not be symmetric may be an ordinary dpnp array in kernels too."""
    me, n = ishmem.my_pe(), ishmem.n_pes()
    values = [pattern("int64", 33, pe) for pe in range(n)]
    dest, back = ishmem.zeros(35, dtype="int64"), dpnp.zeros(33, dtype="int64")
    dpex.call_kernel(move_off_heap, kapi.Range(1), dest, dpnp.asarray(values[me]), back, (me + 1) % n)
    ishmem.barrier_all()
    same(dest, np.concatenate([[0], values[(me - 1) % n], [3]]))
    dpex.call_kernel(move_off_heap, kapi.Range(1), dest, dpnp.asarray(values[me]), back, (me + 1) % n)
    same(back, values[(me - 1) % n])


SLICED = 5


@dpex.kernel
def put_slices(item: kapi.Item, flat, rows, source, grid, bounds, pe):  # type: ignore
    even = source[::2]
    for k in range(bounds.shape[0]):
        start, stop = bounds[k, 0], bounds[k, 1]
        cells = flat[k, 0]
        ishmem.put(cells[start:stop], source[start:stop], pe)
        cells = flat[k, 1]
        ishmem.put(cells[start : start + 1], source[start : start + 1], pe)
        cells = flat[k, 2]
        ishmem.get(cells[start : start + 3], source[start : start + 3], pe)
        cells = flat[k, 3]
        part = even[start : start + 1]
        ishmem.put(cells[: part.size], part, pe)
        ishmem.put(rows[k][start : start + 2], grid[start : start + 2], pe)


@pytest.mark.ishmem([1, 2])
def test_slices_in_kernel() -> None:
    """Slices are clipped as in numpy; neighbours of their elements stay as they are."""
    right = (ishmem.my_pe() + 1) % ishmem.n_pes()
    limits = [*range(-SLICED - 3, SLICED + 4), 2**62, -(2**62)]
    bounds = np.array([(start, stop) for start in limits for stop in limits])
    source, grid = np.arange(1, SLICED + 1), np.arange(1, 2 * SLICED + 1).reshape(SLICED, 2)
    flat = np.zeros((len(bounds), 4, SLICED), "int64")
    rows = np.zeros((len(bounds), SLICED, 2), "int64")
    for k, (start, stop) in enumerate(bounds.tolist()):
        for row, last in enumerate((stop, start + 1, start + 3)):
            flat[k, row, start:last] = source[start:last]
        part = source[::2][start : start + 1]
        flat[k, 3, : part.size] = part
        rows[k, start : start + 2] = grid[start : start + 2]
    to_flat, to_rows = ishmem.zeros(flat.shape, dtype="int64"), ishmem.zeros(rows.shape, dtype="int64")
    given, tiles, at = symmetric(source), dpnp.asarray(grid), dpnp.asarray(bounds)
    dpex.call_kernel(put_slices, kapi.Range(1), to_flat, to_rows, given, tiles, at, right)
    ishmem.barrier_all()
    same(to_flat, flat)
    same(to_rows, rows)


# --- the copy engine does all copies


def check_engine_is_used() -> None:
    from ishmem.runtime import job

    a = ishmem.zeros(4)
    ishmem.put_nbi(a[:2], a[2:], ishmem.my_pe())
    assert job.current().engine.outstanding
    ishmem.fence()
    assert not job.current().engine.outstanding


def check_engine_is_waited_for() -> None:
    """Each call that completes operations does so, also when several contexts have copies under way."""
    me, n, count = ishmem.my_pe(), ishmem.n_pes(), 1 << 17
    right, dest, sources = (me + 1) % n, ishmem.zeros(count, dtype="int64"), []
    for turn in range(1, 9):
        sources.append(ishmem.full(count, 10 * turn + me, dtype="int64"))
        with ishmem.ctx_create() as other:
            other.put_nbi(dest[: count // 2], sources[-1][: count // 2], right)
            ishmem.put_nbi(dest[count // 2 :], sources[-1][count // 2 :], right)
            if turn % 2:
                ishmem.quiet()
                other.quiet()
                ishmem.sync_all()
            else:
                other.fence()
                ishmem.barrier_all()
        same(dest, np.full(count, 10 * turn + (me - 1) % n))
        ishmem.barrier_all()


@pytest.mark.ishmem(2, env={"ISHMEM_COPY_CUTOVER": "1"}, exact=True)
def test_engine() -> None:
    check_engine_is_used()
    check_engine_is_waited_for()
    test_host_copies_of_large_arrays("uint8")
    for dtype in ("uint8", "float16", "complex128", "bool"):
        check_host_cases(dtype, SAMPLE[::4])
        test_p_and_g_of_each_type(dtype)
        test_arrays_off_the_heap(dtype)


# --- ptr


@pytest.mark.ishmem
@pytest.mark.one_node
@pytest.mark.parametrize("dtype", ["int8", "float64", "complex128", "bool"])
def test_ptr_views(dtype: str) -> None:
    """Views of slices at every PE, read and written by dpnp."""
    me, n = ishmem.my_pe(), ishmem.n_pes()
    values = [pattern(dtype, 4 * 6, pe).reshape(4, 6) for pe in range(n)]
    a = symmetric(values[me])
    parts = [..., 2, (3, 5), slice(1, 3), slice(2, 2), slice(None, None, -1)]
    parts += [(slice(None), slice(1, 6, 2)), (slice(3, 0, -2), slice(5, 1, -3))]
    for pe in range(n):
        for part in parts:
            view = ishmem.ptr(a[part], pe)
            assert (view.shape, view.strides) == (a[part].shape, a[part].strides)
            same(view, values[pe][part])
        same(ishmem.ptr(a.T, pe), values[pe].T)
    ishmem.barrier_all()
    right = ishmem.ptr(a, (me + 1) % n)
    right[1:3, ::2] = dpnp.asarray(values[me][2:, 3:])
    ishmem.ptr(a[::-1, 1], (me + 1) % n)[...] = dpnp.asarray(values[me][:, 0])
    ishmem.barrier_all()
    expected = values[me].copy()
    expected[1:3, ::2] = values[(me - 1) % n][2:, 3:]
    expected[::-1, 1] = values[(me - 1) % n][:, 0]
    same(a, expected)


@dpex.kernel
def through_views(item: kapi.Item, a, given, total, to):  # type: ignore
    k = item.get_id(0)
    peer = ishmem.ptr(a, to)
    peer[k] = peer[k] + k
    total[k] = given[k] + ishmem.ptr(a[::2], ishmem.my_pe())[k // 2]


@pytest.mark.ishmem
@pytest.mark.one_node
def test_ptr_in_kernel() -> None:
    """A host view as a kernel's argument, and views made in the kernel."""
    me, n = ishmem.my_pe(), ishmem.n_pes()
    right, left, count = (me + 1) % n, (me - 1) % n, 50
    a, b = ishmem.full(count, me, dtype="int64"), symmetric(np.arange(count) * (me + 1))
    total = dpnp.zeros(count, dtype="int64")
    dpex.call_kernel(through_views, kapi.Range(count), a, ishmem.ptr(b, right), total, right)
    ishmem.barrier_all()
    same(a, me + np.arange(count))
    ishmem.barrier_all()  # the left neighbour changes this array next
    dpex.call_kernel(through_views, kapi.Range(count), a, ishmem.ptr(b[::-1], left), total, right)
    ishmem.barrier_all()
    same(a, me + 2 * np.arange(count))
    same(ishmem.ptr(a, right) + ishmem.ptr(a, left), right + left + 4 * np.arange(count))
