"""``ISHMEM_CHECK``: bad calls in kernels are skipped and raised on the host; a lost device is an error."""

from __future__ import annotations

import os

import numpy as np
import pytest
from common import CHECKING, dpex, dpnp, kapi, one_of
from subprocesses import program, run_program

import ishmem
from ishmem.runtime import job
from ishmem.testing import Pes

PUT_7 = "ishmem.p(a, 7, pe, 2)"
TOO_FAR = "ishmem.atomic_add(a, 3, pe, 10)"
# Calls, the error of each, and words of its message.
VIOLATIONS: dict[str, tuple[str, ...]] = {
    "ishmem.p(a, 1, 99)": ("IndexError", "p in a kernel on PE {me}", "pe is 99; PEs are numbered 0 to {last}"),
    "local[0] = ishmem.g(a, pe - pe - 1)": ("IndexError", "g in a kernel", "pe is -1"),
    "ishmem.put(a[4:8], a, pe)": (
        "ValueError", "put in a kernel", "dest has 4 elements and source has 10; pass equal slices, or nelems=",
    ),
    "ishmem.put(local, a, pe)": ("SymmetryError", "put in a kernel", "is not on the symmetric heap"),
    TOO_FAR: ("IndexError", "atomic_add in a kernel", "element 10 on"),
    "ishmem.iput(a, local, 5, 1, 3, pe)": ("IndexError", "iput", "11 elements"),
    "ishmem.wait_until(local, ishmem.CMP_EQ, 7)": (
        "SymmetryError", "wait_until in a kernel", "is not on the symmetric heap",
    ),
    "ishmem.put(a, local[3:], pe, nelems=9)": (
        "ValueError", "put in a kernel", "nelems is 9; dest has 10 elements and source has 7",
    ),
    "ishmem.get(local, a, pe, nelems=11)": (
        "ValueError", "get in a kernel", "nelems is 11; dest has 10 elements and source has 10",
    ),
    "ishmem.signal_wait_until(signal, ishmem.CMP_EQ, 7)": ("SymmetryError", "is not on the symmetric heap"),
    "ishmem.signal_add(signal, 1, pe)": (
        "SymmetryError", "put_signal, signal_set or signal_add in a kernel", "is not on the symmetric heap",
    ),
    "ishmem.wait_until_all(local, ishmem.CMP_EQ, 7)": (
        "SymmetryError", "wait_until_all", "is not on the symmetric heap",
    ),
    "ishmem.test_lock(a, 10)": ("IndexError", "test_lock in a kernel", "element 10 on"),
    "ishmem.put(a, local, 1 << 60)": ("IndexError", "put in a kernel", "pe is 1152921504606846976"),
    "ishmem.iput(a, local, 1, 1, 3, 1 << 60)": ("IndexError", "iput", "pe is 1152921504606846976"),
    "ishmem.get(local[::2], a[::2], 1 << 60)": ("IndexError", "get in a kernel", "pe is 1152921504606846976"),
    "ishmem.team_ptr(ishmem.TEAM_WORLD, a, 5)": (
        "IndexError", "team_ptr in a kernel on PE {me}: pe is 5; PEs of the team are numbered 0 to {last}",
    ),
    "ishmem.test_any(local, ishmem.CMP_EQ, 7)": (
        "SymmetryError", "test_all, _any or _some in a kernel", "is not on the symmetric heap",
    ),
    "ishmem.test_all(local[::2], ishmem.CMP_EQ, 1)": ("SymmetryError", "is not on the symmetric heap"),
    "ishmem.test_some(a, local[:3], ishmem.CMP_GE, 0)": (
        "ValueError", "ivars has 10 elements and indices has 3; it needs at least as many",
    ),
    "ishmem.test_all(a, ishmem.CMP_EQ, 0, local[:3])": (
        "ValueError", "ivars has 10 elements and status has 3; the counts must be equal",
    ),
    "ishmem.wait_until_all_vector(a, ishmem.CMP_EQ, local[:3])": (
        "ValueError", "wait_until_all, _any or", "ivars has 10 elements and cmp_values has 3; the counts must be equal",
    ),
}  # fmt: skip
BAD_CALLS = [*VIOLATIONS, PUT_7]
bad_call = dpex.kernel(one_of(BAD_CALLS, "a", "local", "signal", "pe", called="bad_call"))


@CHECKING
def test_violations_are_left_out_and_raised() -> None:
    me, n = ishmem.my_pe(), ishmem.n_pes()
    a, local, signal = ishmem.zeros(10, dtype="i8"), dpnp.ones(10, dtype="i8"), dpnp.zeros(1, dtype="u8")
    for case, (kind, *words) in enumerate(VIOLATIONS.values()):
        dpex.call_kernel(bad_call, kapi.Range(1), a, local, signal, (me + 1) % n, case)
        with pytest.raises((IndexError, ValueError, ishmem.SymmetryError)) as caught:
            ishmem.barrier_all()
        assert type(caught.value).__name__ == kind
        for word in (*words, f"(bad_call, <string>:{case + 2})"):
            assert word.format(me=me, last=n - 1) in str(caught.value)
        ishmem.barrier_all()  # it is reported once, and the job goes on
        assert not a.asnumpy().any()
    ishmem.barrier_all()  # every PE has looked
    dpex.call_kernel(bad_call, kapi.Range(1), a, local, signal, (me + 1) % n, len(VIOLATIONS))
    ishmem.barrier_all()
    assert a.asnumpy().tolist() == [0, 0, 7, *[0] * 7]


# Calls of 8 work-items; for each the routine, the argument that differs, and how many pass another one than the first.
UNLIKE = {
    "ishmem.put_work_group(a, b, me if rank != 3 else 1 - me, group=group)": ("put_work_group", "pe", 1),
    "ishmem.get_work_group(a, b, me, group, nelems=8 if rank < 4 else 7)": ("get_work_group", "nelems", 4),
    "ishmem.put_nbi_work_group(a[:4], b[:4] if rank == 0 else b[4:], me, group=group)": (
        "put_nbi_work_group", "source", 7,
    ),
    "ishmem.broadcast_work_group(a, b, 1 if rank > 5 else 0, group=group)": ("broadcast_work_group", "root", 2),
    "value = rank // 3 if rank < 6 else 0; "
    "ishmem.put_signal_work_group(a, b, signal, value, ishmem.SIGNAL_SET, me, group=group)": (
        "put_signal_work_group", "signal", 3,
    ),
    "ishmem.put_work_group(a, -0.0 if rank < 2 else 0.0, me, group, nelems=1)": ("put_work_group", "source", 6),
    "ishmem.test_work_group(grid, ishmem.CMP_GE, 0, group, index=(0, 1 if rank > 4 else 0))": (
        "test_work_group", "index", 3,
    ),
}  # fmt: skip
OWN = "group, me, rank = item.get_group(), ishmem.my_pe(), item.get_local_id(0); "
GROUP_CALLS = [OWN + each for each in (*UNLIKE, "ishmem.put_work_group(a, b, me, group=group)")]
call = dpex.kernel(one_of(GROUP_CALLS, "a", "b", "signal", "grid", called="call"))


@CHECKING
def test_work_items_of_a_group_that_pass_different_arguments() -> None:
    me, a, b, signal = ishmem.my_pe(), ishmem.zeros(8), ishmem.ones(8), ishmem.zeros(1, dtype="u8")
    grid, space = ishmem.zeros((2, 2), dtype="i8"), kapi.NdRange((8,), (8,))
    for case, (routine, argument, others) in enumerate(UNLIKE.values()):
        dpex.call_kernel(call, space, a, b, signal, grid, case)
        with pytest.raises(ValueError, match=f"^{routine} in a kernel on PE {me}: {argument} differs") as caught:
            ishmem.barrier_all()
        assert f": {others} of 8 pass another one than the first; all pass the same" in str(caught.value)
        assert str(caught.value).endswith(f"(call, <string>:{case + 2})")
    ishmem.barrier_all()
    dpex.call_kernel(call, space, a, b, signal, grid, len(UNLIKE))
    ishmem.barrier_all()
    assert a.asnumpy().tolist() == [1] * 8


def test_a_pe_that_a_kernel_ends_is_told_of_the_checks() -> None:
    advice = "if a kernel has used a wrong address: ISHMEM_CHECK=1 names the call"
    done = run_program(program("wrong_index_in_a_kernel"), 2)
    assert "PE 1 was ended by SIGSEGV" in done.stderr and advice in done.stderr, done
    done = run_program(program("wrong_index_in_a_kernel"), 2, env={"ISHMEM_CHECK": "1"})
    assert "IndexError: p in a kernel on PE 1" in done.stderr and advice not in done.stderr, done


@CHECKING
def test_the_first_violation_is_reported() -> None:
    a, local = ishmem.zeros(10, dtype="i8"), dpnp.ones(10, dtype="i8")
    signal = dpnp.zeros(1, dtype="u8")
    for text in (TOO_FAR, BAD_CALLS[0]):
        dpex.call_kernel(bad_call, kapi.Range(1), a, local, signal, 0, BAD_CALLS.index(text))
    with pytest.raises(IndexError, match="atomic_add in a kernel"):
        ishmem.quiet()
    ishmem.quiet()


@dpex.kernel
def fill_view(item: kapi.Item, a, first):
    seen = ishmem.view(a[first:], np.int32)
    for k in range(seen.size):
        seen[k] = 7


@CHECKING
@pytest.mark.skipif(dpex.HAS_NUMBA_DPEX, reason="numba-dpex has no views")
def test_views_are_aligned() -> None:
    a = ishmem.zeros(8, dtype="u1")
    dpex.call_kernel(fill_view, kapi.Range(1), a, 2)
    with pytest.raises(ValueError, match=r"view in a kernel on PE \d+: a begins at no multiple of 4 bytes, the size"):
        ishmem.quiet()
    assert not a.asnumpy().any()
    dpex.call_kernel(fill_view, kapi.Range(1), a, 4)
    ishmem.barrier_all()
    assert a.asnumpy().view("i4").tolist() == [0, 7]


@CHECKING
def test_freed_memory_is_set() -> None:
    a, b = ishmem.zeros(4), ishmem.zeros(3, dtype="i4")
    seen, numbers = a[1:], b[:]
    ishmem.free(a)
    ishmem.free(b)
    assert np.isnan(seen.asnumpy()).all() and (numbers.asnumpy() == -1).all()


def check_quarantine() -> list[int]:
    ishmem.free_all()
    old = ishmem.zeros(4, dtype="i8")
    ishmem.free(old)
    new = ishmem.zeros(4, dtype="i8")
    old[...] = 7
    assert not new.asnumpy().any()
    places = [new.get_array()._pointer - job.current().heap.base]
    ishmem.free(new)
    line = f"test_runtime_checks.py:{check_quarantine.__code__.co_firstlineno + 3}"
    with pytest.warns(RuntimeWarning, match=f"bytes 0 to 31 were written after it was freed at .*{line}") as caught:
        whole = ishmem.empty(job.current().heap.allocator.free_bytes, dtype="u1")  # needs what waits
    assert len(caught) == 1 and f"PE {ishmem.my_pe()}: zeros of 32 bytes" in str(caught[0].message)
    places.append(whole.get_array()._pointer - job.current().heap.base)
    ishmem.free(whole)
    return places


@CHECKING
def test_freed_memory_waits(pes: Pes) -> None:
    places = pes.run(check_quarantine)
    assert all(each == places[0] for each in places)


@pytest.mark.skipif(os.environ.get("ISHMEM_DEVICE") != "sim", reason="loses the device")
def test_a_lost_device_is_an_error() -> None:
    done = run_program(program("lost_device"), 1, options=["--no-prefix"])
    assert "zeDeviceGetStatus ZE_RESULT_ERROR_DEVICE_LOST" in done.stdout, done.stdout + done.stderr
