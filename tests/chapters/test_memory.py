"""Arrays and memory on the symmetric heap."""

from __future__ import annotations

import gc
import itertools
from typing import Any, Callable

import numpy as np
import pytest
from common import dpex, dpnp, kapi, pattern, same
from subprocesses import program, run_program

import ishmem
from ishmem.common.type_tables import RMA_TYPES
from ishmem.testing import Pes


def offset_of(a: Any) -> int:
    from ishmem.runtime import job

    address = a._pointer if hasattr(a, "_pointer") else a.get_array()._pointer
    offset: int = address - job.current().heap.base
    return offset


def free_bytes() -> int:
    from ishmem.runtime import job

    return job.current().heap.allocator.free_bytes


def raises(kind: type[BaseException], words: str, call: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    """Require an exception of exactly this kind whose text has these words, and that the heap is as before."""
    before = free_bytes()
    with pytest.raises(kind) as caught:
        call(*args, **kwargs)
    assert caught.type is kind, caught.value
    assert words in str(caught.value), caught.value
    assert free_bytes() == before


# --- creation, against dpnp

SHAPES: tuple[Any, ...] = (7, (3, 5), (2, 3, 4), (), 0, (0, 3), (3, 0), 1, [2, 2], np.int64(3))


def alike(mine: Any, theirs: Any, values: bool = True) -> None:
    assert isinstance(mine, dpnp.ndarray)
    assert (mine.shape, mine.dtype) == (theirs.shape, theirs.dtype)
    orders = [(each.flags.c_contiguous, each.flags.f_contiguous) for each in (mine, theirs)]
    assert orders[0] == (orders[1] if any(orders[1]) else (True, False))
    assert ishmem.is_symmetric(mine)
    if values:
        same(mine, theirs.asnumpy())


@pytest.mark.ishmem
def test_creators_agree_with_dpnp() -> None:
    dtypes, shapes = ([None, *RMA_TYPES], ((3, 5), (), (0, 2))) if ishmem.n_pes() == 2 else ([None, "int32"], SHAPES)
    for dtype, shape, order in itertools.product(dtypes, shapes, "CF"):
        given = {"dtype": dtype, "order": order}
        alike(ishmem.empty(shape, **given), dpnp.empty(shape, **given), values=False)
        alike(ishmem.zeros(shape, **given), dpnp.zeros(shape, **given))
        alike(ishmem.ones(shape, **given), dpnp.ones(shape, **given))
        alike(ishmem.full(shape, 1, **given), dpnp.full(shape, 1, **given))
    ishmem.free_all()


@pytest.mark.ishmem(2)
def test_like_creators_agree_with_dpnp() -> None:
    for dtype in RMA_TYPES:
        model = dpnp.asarray(pattern(dtype, 12, 1)).reshape(3, 4)
        mine = ishmem.array(model)
        alike(mine, model)
        assert ishmem.is_symmetric(mine)
        assert not ishmem.is_symmetric(model)
        for given in ({}, {"dtype": "int16"}, {"order": "F"}, {"shape": (2, 5)}):
            alike(ishmem.empty_like(mine, **given), dpnp.empty_like(model, **given), values=False)
            alike(ishmem.zeros_like(mine, **given), dpnp.zeros_like(model, **given))
            alike(ishmem.ones_like(model, **given), dpnp.ones_like(model, **given))
            alike(ishmem.full_like(mine, 3, **given), dpnp.full_like(model, 3, **given))
        ishmem.free_all()


@pytest.mark.ishmem
def test_array_and_arange() -> None:
    me = ishmem.my_pe()
    block = np.arange(24, dtype="float32").reshape(4, 6)
    for given in (
        3, 2.5, True, 1j, [1, 2], [[1.5, 2], [3, 4]], (), [], [[], []], range(5), np.float32(2), block, block.T,
        block[::-1, ::2], np.asfortranarray(block), dpnp.asarray(block), dpnp.asarray(block)[1:, ::3],
        pattern("bool", 9, me), block[:, 0], block.reshape(2, 3, 4).transpose(1, 0, 2),
    ):  # fmt: skip
        alike(ishmem.array(given), dpnp.array(given))
    alike(ishmem.array(block, "int8"), dpnp.array(block, "int8"))
    exact = np.array([1, 2**63 - 2, 2**64 - 2], "uint64")  # as Python's integers without a dtype, they become float64
    same(ishmem.array(exact.tolist(), "uint64"), exact)
    alike(ishmem.array(block, order="F"), dpnp.array(block, order="F"))
    alike(ishmem.array(block.T, order="C"), dpnp.array(block.T, order="C"))
    for arguments in ((5,), (2, 9), (9, 2, -3), (0.5, 4), (5, 2), (0, 1, 0.25)):
        alike(ishmem.arange(*arguments), dpnp.arange(*arguments))
        alike(ishmem.arange(*arguments, dtype="float32"), dpnp.arange(*arguments, dtype="float32"))
    for value in (1, 2.5, True, 3j):
        alike(ishmem.full(3, value), dpnp.full(3, value))
    for value in (np.array(7), block[0], block[:, :1], np.arange(6), block):
        alike(ishmem.full((4, 6), value), dpnp.full((4, 6), value))
    mine = ishmem.full(4, me)
    for pe in range(ishmem.n_pes()):
        assert ishmem.g(mine, pe, 3) == pe, "set on every PE when the call returns"


@pytest.mark.ishmem([1, 2])
def test_a_symmetric_array_is_a_dpnp_array() -> None:
    """A symmetric array is a dpnp array; which results are symmetric: test_interop.py."""
    a = ishmem.arange(12, dtype="float64").reshape(3, 4)
    assert ishmem.is_symmetric(a[1:, ::-2])
    assert not ishmem.is_symmetric(np.zeros(3))
    assert not ishmem.is_symmetric("text")
    assert not ishmem.is_symmetric(ishmem.ptr(a, (ishmem.my_pe() + 1) % ishmem.n_pes())) or ishmem.n_pes() == 1
    same(dpnp.sum(a * 2, axis=0), np.array([24.0, 30, 36, 42]))
    assert dpnp.zeros(1).sycl_queue == a.sycl_queue


# --- raw memory


def check_raw() -> list[int]:
    me, n, offsets = ishmem.my_pe(), ishmem.n_pes(), []
    for alignment in [2**k for k in range(17)]:
        memory = ishmem.align(alignment, 100 + alignment)
        assert memory._pointer % max(alignment, 64) == 0
        assert memory.nbytes == 100 + alignment
        offsets.append(offset_of(memory))
    dirty = ishmem.malloc(1000)
    dirty.memset(255)
    offsets.append(offset_of(dirty))
    ishmem.free(dirty)
    clean = ishmem.calloc(125, 8)
    assert offset_of(clean) == offsets[-1]
    same(np.asarray(clean.copy_to_host()), np.zeros(1000, "u1"))
    ishmem.barrier_all()
    ishmem.put(clean, np.full(1000, me, "u1"), (me + 1) % n)
    ishmem.barrier_all()
    same(np.asarray(clean.copy_to_host()), np.full(1000, (me - 1) % n, "u1"))
    for nothing in (ishmem.malloc(0), ishmem.calloc(0, 8), ishmem.calloc(8, 0), ishmem.align(128, 0)):
        assert nothing is None
        ishmem.free(nothing)
    return offsets


def test_raw_memory_is_aligned_and_the_same_on_all_pes(pes: Pes) -> None:
    results = pes.run(check_raw)
    assert all(offsets == results[0] for offsets in results)


def check_reuse() -> list[int]:
    """Freed memory is reused, free neighbours are merged, and garbage collection frees nothing."""
    whole = free_bytes()
    a, b, c = (ishmem.zeros(1000, dtype="uint8") for _ in range(3))
    places = [offset_of(one) for one in (a, b, c)]
    for one in (a, c, b):
        ishmem.free(one)
    assert free_bytes() == whole
    again = ishmem.zeros(3000, dtype="uint8")
    assert offset_of(again) == places[0]
    ishmem.free(again)
    lost = ishmem.ones(500)
    used = whole - free_bytes()
    del lost
    gc.collect()
    assert whole - free_bytes() == used > 0
    ishmem.free_all()
    assert free_bytes() == whole
    everything = ishmem.empty(whole, dtype="uint8")
    assert free_bytes() == 0
    ishmem.free(everything)
    return places


def test_freed_memory_is_used_again(pes: Pes) -> None:
    results = pes.run(check_reuse)
    assert all(places == results[0] for places in results)


# --- disagreement


def check_disagreement(odd: int) -> None:
    """One PE passes other arguments: every PE raises, and names that PE."""
    me, n = ishmem.my_pe(), ishmem.n_pes()
    mine = me == odd
    a, b = ishmem.zeros(8), ishmem.zeros(8)
    for call in (
        lambda: ishmem.zeros(9 if mine else 8),
        lambda: ishmem.zeros(8, dtype="int64" if mine else "float64"),
        lambda: (ishmem.ones if mine else ishmem.zeros)(8),
        lambda: ishmem.malloc(65 if mine else 64),
        lambda: ishmem.align(128 if mine else 256, 64),
        lambda: (ishmem.malloc if mine else ishmem.empty)(8),
        lambda: ishmem.free(a if mine else b),
        lambda: ishmem.free(a) if mine else ishmem.zeros(8),
    ):
        before = free_bytes()
        with pytest.raises(ishmem.SymmetryError) as caught:
            call()
        assert f"PE {odd}" in str(caught.value)
        assert n == 2 or all(f"PE {pe}" not in str(caught.value) for pe in range(n) if pe != odd)
        assert free_bytes() == before
    ishmem.free(b)
    ishmem.free(a)


@pytest.mark.ishmem([2, 3, 4])
def test_pes_that_disagree_raise() -> None:
    for odd in {0, ishmem.n_pes() - 1}:
        check_disagreement(odd)


BAD: dict[str, tuple[type[BaseException], str, Callable[[], Any]]] = {
    "negative size": (ValueError, "-1", lambda: ishmem.zeros(-1)),
    "negative in shape": (ValueError, "-3", lambda: ishmem.empty((2, -3))),
    "float size": (TypeError, "float", lambda: ishmem.zeros(2.0)),
    "text size": (TypeError, "str", lambda: ishmem.zeros("7")),
    "text dtype": (TypeError, "", lambda: ishmem.ones(3, dtype="nonsense")),
    "dtype of text": (TypeError, "allowed are bool, int8", lambda: ishmem.ones(3, dtype="S3")),
    "dtype of objects": (TypeError, "allowed are bool, int8", lambda: ishmem.array([None])),
    "long double": (TypeError, "allowed are bool, int8", lambda: ishmem.zeros(3, dtype="longdouble")),
    "order": (ValueError, "'X'", lambda: ishmem.zeros(3, order="X")),
    "order of array": (ValueError, "'X'", lambda: ishmem.array([1, 2], order="X")),
    "other memory": (ValueError, "shared", lambda: ishmem.zeros(3, usm_type="shared")),
    "ragged": (ValueError, "", lambda: ishmem.array([[1, 2], [3]])),
    "step of zero": (ValueError, "step is 0", lambda: ishmem.arange(0, 5, 0)),
    "like nothing": (TypeError, "", lambda: ishmem.zeros_like(None)),
    "malloc": (ValueError, "-1", lambda: ishmem.malloc(-1)),
    "malloc of text": (TypeError, "str", lambda: ishmem.malloc("8")),
    "calloc": (ValueError, "negative", lambda: ishmem.calloc(-1, 8)),
    "calloc of two": (ValueError, "negative", lambda: ishmem.calloc(-1, -8)),
    "calloc of text": (TypeError, "str", lambda: ishmem.calloc("1", 8)),
    "alignment": (ValueError, "alignment is 48", lambda: ishmem.align(48, 8)),
    "alignment of 0": (ValueError, "alignment is 0", lambda: ishmem.align(0, 8)),
    "free of text": (TypeError, "str", lambda: ishmem.free("text")),
    "free of ordinary": (ishmem.SymmetryError, "not", lambda: ishmem.free(dpnp.zeros(3))),
    "free of host": (ishmem.SymmetryError, "not", lambda: ishmem.free(np.zeros(3))),
}


def check_bad(name: str, alone: bool) -> None:
    """A bad argument on one PE raises on every PE, and nothing stays allocated."""
    kind, words, call = BAD[name]
    last = ishmem.n_pes() - 1
    if ishmem.my_pe() == last or not alone:
        raises(kind, words, call)
    else:
        raises(ishmem.SymmetryError, f"PE {last}", ishmem.zeros, 3)
    ishmem.free(ishmem.zeros(5))


@pytest.mark.ishmem(2, timeout=60)
@pytest.mark.parametrize("name", BAD)
def test_bad_arguments_raise_on_all_pes(name: str) -> None:
    for alone in (False, True):
        check_bad(name, alone)


@pytest.mark.ishmem([1, 3])
def test_a_bad_fill_value_raises_on_all_pes() -> None:
    """A value that the dtype cannot hold on one PE: every PE raises, and the memory is given back."""
    last, before = ishmem.n_pes() - 1, free_bytes()
    with pytest.raises((ValueError, TypeError) if ishmem.my_pe() == last else ishmem.SymmetryError):
        ishmem.full(3, "text" if ishmem.my_pe() == last else 1, dtype="int32")
    assert free_bytes() == before
    for wrong in (None, np.float32):
        is_wrong = ishmem.my_pe() == last
        with pytest.raises(TypeError if is_wrong else ishmem.SymmetryError, match="fill_value is a number"):
            ishmem.full(3, wrong if is_wrong else 1, dtype="int32")
    alike(ishmem.full(3, 1, dtype="int32"), dpnp.full(3, 1, dtype="int32"))


@pytest.mark.ishmem
def test_free_takes_whole_live_allocations() -> None:
    a, m = ishmem.zeros((4, 6)), ishmem.malloc(100)
    raises(ValueError, "whole allocation", ishmem.free, a[1:])
    raises(ValueError, "whole allocation", ishmem.free, a[:2])
    raises(ishmem.SymmetryError, "not", ishmem.free, a + 1)
    ishmem.free(m)
    raises(ishmem.SymmetryError, "it was freed at ", ishmem.free, m)
    ishmem.free(a)
    raises(ishmem.SymmetryError, "it was freed at ", ishmem.free, a)
    raises(ishmem.SymmetryError, "was freed", ishmem.put, a, np.zeros((4, 6)), 0)
    raises(ishmem.SymmetryError, "was freed", ishmem.ptr, a, 0)
    assert not ishmem.is_symmetric(a)
    ishmem.free(None)


@pytest.mark.ishmem([1, 2])
def test_arrays_of_freed_memory_are_refused() -> None:
    """Calls refuse an array of a freed allocation, and its views, though another one is in its place.

    They were used before: the core's cache of array addresses ends with the allocation.
    """
    me, out = ishmem.my_pe(), np.zeros(8, "int64")
    old = ishmem.zeros((2, 8), dtype="int64")
    place, views = offset_of(old), (old, old[1], old.reshape(16)[:8], old.T[:, 0])
    for view in views:
        ishmem.put(view, np.full(view.shape, 3), me)
        assert ishmem.g(view[-1:], me) is not None and ishmem.atomic_fetch(old, me, 8) is not None
    ishmem.free(old)
    new = ishmem.full((2, 8), 5, dtype="int64")
    assert offset_of(new) == place
    for stale in views[1:]:
        words = "it was freed at "
        raises(ishmem.SymmetryError, words, ishmem.put, stale, np.arange(8), me)
        raises(ishmem.SymmetryError, words, ishmem.put, new[1], stale, me)
        raises(ishmem.SymmetryError, words, ishmem.get, stale, new[1], me)
        raises(ishmem.SymmetryError, words, ishmem.get, out, stale, me)
        raises(ishmem.SymmetryError, words, ishmem.put_nbi, stale, np.arange(8), me)
        raises(ishmem.SymmetryError, words, ishmem.p, stale, 1, me)
        raises(ishmem.SymmetryError, words, ishmem.g, stale, me)
        raises(ishmem.SymmetryError, words, ishmem.iput, stale, out, 1, 1, 4, me)
        raises(ishmem.SymmetryError, words, ishmem.atomic_add, stale, 1, me)
        raises(ishmem.SymmetryError, words, ishmem.wait_until, stale, ishmem.CMP_EQ, 5)
        raises(ishmem.SymmetryError, words, ishmem.ptr, stale, me)
        raises(ishmem.SymmetryError, words, ishmem.put_on_queue, stale, new[1], me)
        assert not ishmem.is_symmetric(stale)
    raises(ishmem.SymmetryError, "zeros of 128 bytes", ishmem.free, old)
    assert (new.asnumpy() == 5).all()
    new = ishmem.realloc(new, (512, 8))
    raises(ishmem.SymmetryError, "was freed", ishmem.p, old, 1, me)
    assert ishmem.g(new, me, 15) == 5 and ishmem.g(new, me, 4095) == 0
    memory = ishmem.malloc(64)
    part = dpnp.asarray(memory)[8:16]
    ishmem.p(part, 1, me)
    ishmem.free(memory)
    again = ishmem.zeros(64, dtype="uint8")
    raises(ishmem.SymmetryError, "malloc of 64 bytes", ishmem.p, part, 1, me)
    ishmem.p(again, 1, me)
    ishmem.free(again)
    ishmem.free(new)


@dpex.kernel
def fill(item: kapi.Item, a, pair, value):  # type: ignore
    a[item.get_id(0)] = value


@pytest.mark.skipif(dpex.HAS_NUMBA_DPEX, reason="numba-dpex offers no hook for the arguments of a launch")
@pytest.mark.ishmem([1, 2])
def test_launches_refuse_arrays_of_freed_memory() -> None:
    """A launch refuses an array of a freed allocation, also in a tuple, and changes nothing."""
    old = ishmem.zeros(8, dtype="int64")
    place, view = offset_of(old), old[2:6]
    ishmem.free(old)
    new = ishmem.full(8, 5, dtype="int64")
    assert offset_of(new) == place
    for position, arguments in (1, (view, (1, 2), 7)), (2, (new, (1, view), 7)):
        words = f"argument {position} of the kernel fill is not on the symmetric heap: it was freed at"
        raises(ishmem.SymmetryError, words, dpex.call_kernel, fill, kapi.Range(4), *arguments)
        raises(ishmem.SymmetryError, words, dpex.call_kernel_async, fill, kapi.Range(4), (), *arguments)
    assert (new.asnumpy() == 5).all()
    dpex.call_kernel(fill, kapi.Range(8), new, (1, 2), 7)
    assert (new.asnumpy() == 7).all()
    ishmem.free(new)


@pytest.mark.ishmem(1)
def test_unused_arrays_are_forgotten() -> None:
    """Of a freed allocation, nothing is kept that the program does not use."""
    from ishmem.runtime import job

    known = job.current().heap.freed
    before = list(known._freed)  # what other tests keep
    for _ in range(50):
        ishmem.free(ishmem.zeros(8))
    a = ishmem.zeros(8)
    assert [each for each in known._freed if each not in before] == []
    ishmem.free(a)
    assert len([each for each in known._freed if each not in before]) == 1


@pytest.mark.ishmem(1)
def test_the_address_of_a_wrapper_is_read_in_each_call() -> None:
    """The address of a dpnp array is read in every call: it may wrap another array by then."""
    me, pair = ishmem.my_pe(), [ishmem.full(4, k, dtype="int64") for k in range(2)]
    wrapper = pair[0][:]
    for k in (0, 1, 0):
        wrapper._array_obj = pair[k].get_array()
        assert ishmem.g(wrapper, me) == k
    wrapper._array_obj = pair[1].get_array()[1:]
    raises(IndexError, "index is 3", ishmem.g, wrapper, me, 3)
    for bad in (None, 3, np.zeros(4)):
        wrapper._array_obj = bad
        raises(TypeError, "dpnp or numpy array", ishmem.g, wrapper, me)


@pytest.mark.slow_cases("1 PE", "3pes")
@pytest.mark.slow_cases("other numbers of PEs", "2pes")
@pytest.mark.ishmem
def test_exhaustion() -> None:
    a = ishmem.ones(10)
    for call in (
        lambda: ishmem.zeros(free_bytes() + 1, dtype="uint8"),
        lambda: ishmem.malloc(2**62),
        lambda: ishmem.empty(10**30),
    ):
        with pytest.raises(ishmem.HeapExhausted) as caught:
            call()
        assert isinstance(caught.value, MemoryError)
        for words in ("used 128", f"free {free_bytes()}", "ISHMEM_SYMMETRIC_SIZE"):
            assert words in str(caught.value)
    b = ishmem.zeros(free_bytes(), dtype="uint8")
    raises(ishmem.HeapExhausted, "free 0", ishmem.zeros, 1)
    ishmem.free(b)
    same(a, np.ones(10))
    alike(ishmem.zeros(3), dpnp.zeros(3))


@pytest.mark.ishmem
def test_ptr() -> None:
    me, n = ishmem.my_pe(), ishmem.n_pes()
    a, ordinary = ishmem.zeros(8), dpnp.zeros(8)
    for pe in range(n):
        raises(ishmem.SymmetryError, "not on the symmetric heap", ishmem.ptr, ordinary, pe)
    assert ishmem.ptr(a, me) is a
    raises(IndexError, "pe is -1", ishmem.ptr, a, -1)
    raises(TypeError, "pe is an integer", ishmem.ptr, a, 0.0)


@pytest.mark.parametrize("leaks", ["auto", "warn", "error", "ignore"])
def test_leaks(leaks: str) -> None:
    result = run_program(program("leaks"), 1, env={"ISHMEM_LEAKS": leaks}, options=["--no-prefix"])
    assert result.returncode == 0, result
    kinds = {"auto": "warning ResourceWarning ", "warn": "warning RuntimeWarning ", "error": "error ", "ignore": ""}
    first = kinds[leaks]
    if leaks == "ignore":
        assert result.stdout == ""
        return
    assert result.stdout.startswith(f"{first}PE 0: 2 symmetric allocations were never freed (by ishmem.free; ")
    assert "zeros of 60 bytes" in result.stdout
    assert "leaks.py:8\n" in result.stdout
    assert "malloc of 77 bytes" in result.stdout
    assert "leaks.py:10\n" in result.stdout
    assert "leaks.py:9" not in result.stdout


def test_leaks_are_silent_by_default() -> None:
    result = run_program("import ishmem\nishmem.init(heap_size='1M')\nishmem.malloc(8)\nishmem.finalize()", 1)
    assert (result.returncode, result.stderr) == (0, "")


MANY_LEAKS = """
import ishmem
ishmem.init(heap_size="1M")
for size in (*range(1, 13), *[40] * 30):
    ishmem.malloc(size)
"""


def test_many_leaks_are_counted() -> None:
    result = run_program(MANY_LEAKS, 1, env={"ISHMEM_LEAKS": "warn"}, options=["--no-prefix"])
    assert result.returncode == 0, result
    lines = result.stderr.partition("PE 0: ")[2].splitlines()
    assert lines[0].startswith("42 symmetric allocations were never freed")
    assert lines[1].startswith("  malloc of 40 bytes, ")
    assert lines[1].endswith("program.py:5, 30 times")
    assert [line.startswith("  malloc of ") for line in lines[1:12]] == [True] * 10 + [False]
    assert lines[11] == "  and 3 more"
