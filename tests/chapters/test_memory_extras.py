"""realloc, hints of malloc_with_hints, static host objects, and views as other dtypes."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from common import dpex, dpnp, kapi, pattern, refused, ring, same, symmetric

import ishmem
from ishmem.common.type_tables import RMA_TYPES


def live() -> int:
    from ishmem.runtime import job

    return len(job.current().heap.allocator.live)


# ---- realloc


@pytest.mark.ishmem
def test_realloc_of_arrays() -> None:
    me, n, right, left = ring()
    for dtype, order in (("i4", "C"), ("c16", "F"), ("?", "C")):
        values = pattern(dtype, 60, me).reshape(5, 12)
        a = symmetric(np.asarray(values, order=order))  # type: ignore[call-overload]
        before = live()
        memory = values.ravel(order=order)  # type: ignore[call-overload]
        for shape in ((7, 20), (33,), (0,), 4, (2, 3, 5)):
            a = ishmem.realloc(a, shape)
            count = int(np.prod(shape))
            grown = np.zeros(count, dtype)
            grown[: min(count, memory.size)] = memory[:count]
            memory = grown
            assert a.dtype == np.dtype(dtype) and live() == before and ishmem.is_symmetric(a)
            assert a.shape == (shape if isinstance(shape, tuple) else (shape,))
            same(a, memory.reshape(a.shape, order=order))  # type: ignore[call-overload]
        ishmem.barrier_all()
        ishmem.put(a, np.full(a.shape, me).astype(dtype), right)
        ishmem.barrier_all()
        same(a, np.full(a.shape, left).astype(dtype))
        ishmem.free(a)


@pytest.mark.ishmem
def test_realloc_of_memory() -> None:
    me = ishmem.my_pe()
    memory = ishmem.realloc(None, 100)
    assert memory is not None and memory.nbytes == 100
    values = pattern("u1", 100, me)
    memory.copy_from_host(values)
    for size in (1000, 64, 5, 1 << 20):
        memory = ishmem.realloc(memory, size)
        assert memory.nbytes == size
        kept = min(size, values.size)
        values = values[:kept]
        assert (memory.copy_to_host()[:kept] == values).all()
    before = live()
    assert ishmem.realloc(memory, 0) is None
    assert live() == before - 1


@pytest.mark.ishmem
def test_wrong_reallocs_raise_on_all_pes() -> None:
    me, n = ishmem.my_pe(), ishmem.n_pes()
    a = ishmem.full(8, me, dtype="i4")
    before = live()
    cases: list[tuple[type[Exception], str, Any, Any]] = [
        (ishmem.HeapExhausted, "does not fit", a, 1 << 40),
        (ValueError, "takes a whole allocation, got 28 bytes .* not a slice", a[1:], 4),
        (ishmem.SymmetryError, "not allocated on the symmetric heap", dpnp.zeros(4), 8),
        (TypeError, "realloc takes a symmetric array", "a", 8),
        (TypeError, "shape is an integer", a, "x"),
        (ValueError, "must not be negative", a, -1),
    ]
    for error, words, what, size in cases:
        refused(error, words, ishmem.realloc, what, size)
    if n > 1:
        refused(ishmem.SymmetryError, "disagree", ishmem.realloc, a, 8 + (me == 1))
        # One PE refuses its own arguments: the others must not wait for it.
        with pytest.raises(TypeError if me == n - 1 else ishmem.SymmetryError):
            ishmem.realloc("no" if me == n - 1 else a, 16)
    assert live() == before
    same(a, np.full(8, me, "i4"))


# ---- hints


@pytest.mark.ishmem
def test_hints_of_malloc() -> None:
    me, n = ishmem.my_pe(), ishmem.n_pes()
    both = ishmem.MALLOC_ATOMICS_REMOTE | ishmem.MALLOC_SIGNAL_REMOTE
    for hints in (0, ishmem.MALLOC_ATOMICS_REMOTE, ishmem.MALLOC_SIGNAL_REMOTE, both, int(both)):
        memory = ishmem.malloc_with_hints(256, hints)
        assert memory is not None and memory.nbytes == 256 and memory._pointer % 64 == 0
        ishmem.free(memory)
    assert ishmem.malloc_with_hints(0, both) is None
    for error, words, arguments in (
        (ValueError, "MALLOC_ATOMICS_REMOTE, MALLOC_SIGNAL_REMOTE", (8, 4)),
        (ValueError, "must not be negative", (-8, 0)),
        (TypeError, "hints is an integer, got str", (8, "x")),
    ):
        with pytest.raises(error, match=words):
            ishmem.malloc_with_hints(*arguments)  # type: ignore[arg-type]
    if n > 1:
        refused(ishmem.SymmetryError, "disagree", ishmem.malloc_with_hints, 8, int(me == 0))


# ---- static objects


@pytest.mark.one_type("int32")
@pytest.mark.ishmem([1, 2, 3, 4])
@pytest.mark.parametrize("dtype", RMA_TYPES)
def test_puts_and_gets_of_static_objects(dtype: str) -> None:
    me, n, right, left = ring()
    a = ishmem.static(dtype, (4, 50), dtype)
    assert type(a) is np.ndarray and a.shape == (4, 50) and a.dtype == dtype and not a.any()
    assert ishmem.static(dtype, [4, 50], np.dtype(dtype)) is a
    mine, theirs = pattern(dtype, 200, me).reshape(4, 50), pattern(dtype, 200, left).reshape(4, 50)
    device = dpnp.asarray(mine)
    symmetric_source = symmetric(mine)
    for source in (mine, device, symmetric_source):
        a[...] = 0
        ishmem.barrier_all()
        ishmem.put(a[1, 3:40], source[1, 5:42], right)
        ishmem.put_nbi(a[2], source[2], right, nelems=0)
        ishmem.p(a, mine[0, 0].item() if dtype != "float16" else float(mine[0, 0]), right, 199)
        ishmem.quiet()
        ishmem.barrier_all()
        wanted = np.zeros((4, 50), dtype)
        wanted[1, 3:40], wanted[3, 49] = theirs[1, 5:42], theirs[0, 0]
        same(a, wanted)
        ishmem.barrier_all()
    a[...] = mine
    ishmem.barrier_all()
    local, on_device = np.zeros((4, 50), dtype), ishmem.zeros((4, 50), dtype=dtype)
    ishmem.get(local, a, left)
    ishmem.get_nbi(on_device, a, left)
    ishmem.quiet()
    same(local, theirs)
    same(on_device, theirs)
    assert ishmem.g(a, left, 60) == theirs[1, 10]
    if (view := ishmem.ptr(a[1:, 2:], left)) is not None:  # not on another node
        same(view, theirs[1:, 2:])
    event = ishmem.get_on_queue(on_device, a, right)
    event.wait()
    ishmem.barrier_all()
    ishmem.put_on_queue(a, on_device, me).wait()
    same(a, pattern(dtype, 200, (me + 1) % ishmem.n_pes()).reshape(4, 50))
    ishmem.barrier_all()


@pytest.mark.ishmem
@pytest.mark.parametrize("dtype", ["int32", "uint64"])
def test_atomics_signals_and_waits_of_static_objects(dtype: str) -> None:
    me, n = ishmem.my_pe(), ishmem.n_pes()
    right = (me + 1) % n
    a = ishmem.static(f"sync {dtype}", 8, dtype)
    signal = ishmem.static("signal", 1, "uint64")
    a[...], signal[...] = 0, 0
    ishmem.barrier_all()
    for _ in range(100):
        for pe in range(n):
            ishmem.atomic_add(a, 1, pe, 2)
    ishmem.atomic_set(a, 7, right, 3)
    ishmem.barrier_all()
    assert a.tolist() == [0, 0, 100 * n, 7, 0, 0, 0, 0]
    ishmem.barrier_all()
    assert ishmem.atomic_compare_swap(a, 7, me + 1, right, 3) == 7
    assert ishmem.atomic_fetch(a, right, 3) == me + 1
    ishmem.put_signal(a[4:], np.full(4, me + 1, dtype), signal, 1, ishmem.SIGNAL_ADD, right)
    assert ishmem.signal_wait_until(signal, ishmem.CMP_GE, 1) == 1
    assert a[4:].tolist() == [(me - 1) % n + 1] * 4
    ishmem.barrier_all()
    ishmem.atomic_set(a, 9, right, 0)
    ishmem.wait_until(a, ishmem.CMP_EQ, 9)
    assert ishmem.test(a, ishmem.CMP_EQ, 9)
    ishmem.iput(a[1:], np.arange(3, dtype=dtype), 2, 1, 3, me)
    assert a[1::2][:3].tolist() == [0, 1, 2]
    ishmem.barrier_all()


@pytest.mark.ishmem(2, env={"ISHMEM_HOST_ATOMICS": "kernel", "ISHMEM_COPY_CUTOVER": "1"}, exact=True)
def test_static_without_coherent_host_atomics() -> None:
    """Static objects are host memory: their atomics are the host's own, whatever the device can do."""
    a = ishmem.static("coherent", 4, "int64")
    for pe in range(2):
        ishmem.atomic_add(a, 1, pe, 1)
    ishmem.barrier_all()
    assert a.tolist() == [0, 2, 0, 0]


@pytest.mark.ishmem(2, init=False)
def test_static_objects_outlive_the_job() -> None:
    with ishmem.init():
        a = ishmem.static("a", 3, "i4")
        b = ishmem.ptr(a, 0)
        ishmem.put(a, np.full(3, 5, "i4"), 1 - ishmem.my_pe())
        ishmem.barrier_all()
    assert a.tolist() == b.tolist() == [5, 5, 5]
    with pytest.raises(ishmem.StateError):
        ishmem.static("a", 3, "i4")


@dpex.kernel
def read_first(item: kapi.Item, out, a):
    out[0] = a[0]


@pytest.mark.ishmem
def test_wrong_static_objects_are_refused() -> None:
    me, n = ishmem.my_pe(), ishmem.n_pes()
    a = ishmem.static("errors", (3,), "i4")
    cases: list[tuple[type[Exception], str, tuple[Any, ...]]] = [
        (ValueError, "'errors' is of shape", ("errors", (4,), "i4")),
        (ValueError, "'errors' is of shape", ("errors", (3,), "i8")),
        (TypeError, "allowed are bool, int8", ("other", 3, "datetime64[s]")),
        (ValueError, "1 to 64 bytes", ("", 3, "i4")),
        (ValueError, "1 to 64 bytes", ("n" * 65, 3, "i4")),
        (TypeError, "name is a string, got int", (3, 3, "i4")),
        (ValueError, "must not be negative", ("other", -3, "i4")),
    ]
    for error, words, arguments in cases:
        refused(error, words, ishmem.static, *arguments)
    if n > 1:
        for arguments in (("name" if me else "other", 3, "i4"), ("x", 3 + me, "i4"), ("x", 3, "i4" if me else "u4")):
            refused(ishmem.SymmetryError, "disagree", ishmem.static, *arguments)
    assert ishmem.static("errors", 3, "i4") is a
    assert ishmem.is_symmetric(a) and ishmem.is_symmetric(a[1:]) and ishmem.addr_accessible(a, n - 1)
    assert not ishmem.is_symmetric(np.zeros(3, "i4"))
    refused(ishmem.SymmetryError, "not on the symmetric heap", ishmem.put, np.zeros(3, "i4"), a, 0)
    refused(IndexError, f"pe is {n}", ishmem.put, a, a, n)
    refused(IndexError, "elements 0 to 2", ishmem.p, a, 1, 0, 3)
    refused(Exception, "got ndarray", dpex.call_kernel, read_first, kapi.Range(1), dpnp.zeros(1, dtype="i4"), a)
    empty = ishmem.static("empty", (0, 5), "i4")
    ishmem.put(empty, np.zeros((0, 5), "i4"), 0)
    descriptors = len(os.listdir("/proc/self/fd"))
    ishmem.static("last", 1 << 20, "u1")
    assert len(os.listdir("/proc/self/fd")) <= descriptors + n  # maps, no descriptors of ours
    ishmem.barrier_all()


# ---- the bytes of an array as another dtype

VIEWED = tuple(name for name in RMA_TYPES if name != "bool")


@pytest.mark.parametrize("dtype", VIEWED)
@pytest.mark.ishmem(2)
def test_views_as_each_other_dtype(dtype: str) -> None:
    """Each dtype as each other one, of arrays, slices, matrices, memory and static objects; numpy's views agree."""
    me, n, right, left = ring()
    values = [pattern(dtype, 96, pe) for pe in range(n)]
    a, copy = ishmem.array(values[me]), ishmem.zeros(96, dtype=dtype)
    for name in VIEWED:
        seen = ishmem.view(a, name)
        assert seen.dtype == np.dtype(name) and ishmem.is_symmetric(seen)
        np.testing.assert_array_equal(seen.asnumpy(), values[me].view(name))
        ishmem.put(ishmem.view(copy, name), seen, right)
        ishmem.barrier_all()
        assert copy.asnumpy().tobytes() == values[left].tobytes()
        ishmem.barrier_all()
        copy[:] = 0
        matrix = ishmem.view(a.reshape(6, 16)[2:4], name)
        np.testing.assert_array_equal(matrix.asnumpy(), values[me].reshape(6, 16)[2:4].view(name))
        ishmem.barrier_all()
    item = ishmem.view(a, dtype)
    item[3] = 1
    assert a.asnumpy()[3] == 1


@pytest.mark.ishmem
def test_a_message_of_two_types() -> None:
    """A header and a payload of another type by one put, in memory and in a static object."""
    me, n = ishmem.my_pe(), ishmem.n_pes()
    left, memory = (me - 1) % n, ishmem.malloc(80)
    for message in (ishmem.view(memory, "u1"), ishmem.static("message", 80, "u1")):
        ours = np.concatenate([np.full(2, me, "i8").view("u1"), np.full(16, me + 0.5, "f4").view("u1")])
        ishmem.put(message, ours, (me + 1) % n)
        ishmem.barrier_all()
        same(ishmem.view(message[:16], "i8"), np.full(2, left))
        same(ishmem.view(message[16:], np.float32), np.full(16, left + 0.5, "f4"))
    ishmem.free(memory)


@dpex.kernel
def send_message(item: kapi.Item, message, dest, pe):  # type: ignore
    header, payload = ishmem.view(message[:16], np.int64), ishmem.view(message[16:], "float32")
    header[1] = ishmem.my_pe() + 1
    for k in range(payload.size):
        payload[k] = k + 0.5
    ishmem.put(dest, message, pe)
    ishmem.barrier_all()
    there = ishmem.view(dest[:16], "int64")
    ishmem.atomic_add(there, 100, pe, 0)


@pytest.mark.ishmem
@pytest.mark.skipif(dpex.HAS_NUMBA_DPEX, reason="it has no views as another dtype")
def test_a_message_of_two_types_in_a_kernel() -> None:
    me, n = ishmem.my_pe(), ishmem.n_pes()
    message, dest = ishmem.zeros(16 + 40, dtype="u1"), ishmem.zeros(16 + 40, dtype="u1")
    dpex.call_kernel(send_message, kapi.Range(1), message, dest, (me + 1) % n)
    ishmem.barrier_all()
    same(ishmem.view(dest[:16], "i8"), np.array([100, (me - 1) % n + 1]))
    same(ishmem.view(dest[16:], "f4"), np.arange(10, dtype="f4") + np.float32(0.5))


@pytest.mark.ishmem(2)
def test_wrong_views_are_refused() -> None:
    a, matrix = ishmem.zeros(24, dtype="u1"), ishmem.zeros((4, 8), dtype="i4")
    for wrong, dtype, kind, words in (
        (a[:9], "i8", ValueError, "the last axis of a has 9 bytes; new elements have 8"),
        (a[4:12], "i8", ValueError, "elements of 8 bytes begin at a multiple"),
        (a[::2], "i4", ValueError, "not in C order"),
        (matrix.T, "i4", ValueError, "not in C order"),
        (a, "U1", TypeError, "allowed are bool, int8"),
        (a, "x", TypeError, "x"),
        (np.zeros(8), "i4", ishmem.SymmetryError, "not on the symmetric heap"),
        (dpnp.zeros(8), "i4", ishmem.SymmetryError, "not on the symmetric heap"),
        ([1], "i4", TypeError, "list"),
    ):
        refused(kind, words, ishmem.view, wrong, dtype)
    kept = ishmem.view(a, "i8")
    ishmem.free(a)
    refused(ishmem.SymmetryError, "freed", ishmem.put, kept, np.zeros(3, "i8"), 0)
