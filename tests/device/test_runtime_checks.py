"""``ISHMEM_CHECK``: bad calls in kernels are skipped and raised on the host; a lost device is an error."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from common import CHECKING, dpex, dpnp, kapi
from subprocesses import program, run_program

import ishmem
from ishmem.runtime import job
from ishmem.testing import Pes

FINE, NO_PE, NEGATIVE_PE, SLICE, LOCAL, INDEX, STRIDED, WAIT, SOURCE, GET, SIGNAL, ADD, SET, LOCK = range(14)
FAR_PUT, FAR_BLOCKS, FAR_TILE, TEAM_PE = range(14, 18)
TEST_SET, INDICES, STATUS, VALUES, SLICED_SET = range(18, 23)

NAMES = {value: name for name, value in globals().items() if name.isupper() and isinstance(value, int)}
LINES = list(enumerate(Path(__file__).read_text().splitlines(), 1))

# The error of each case, and words of its message.
EXPECTED = {
    NO_PE: ("IndexError", "p in a kernel on PE {me}", "pe is 99; PEs are numbered 0 to {last}", "runtime_checks.py"),
    NEGATIVE_PE: ("IndexError", "g in a kernel", "pe is -1"),
    SLICE: ("ValueError", "put in a kernel", "dest has 4 elements and source has 10; pass equal slices, or nelems="),
    LOCAL: ("SymmetryError", "put in a kernel", "is not on the symmetric heap"),
    INDEX: ("IndexError", "atomic_add in a kernel", "element 10 on"),
    STRIDED: ("IndexError", "iput", "11 elements"),
    WAIT: ("SymmetryError", "wait_until in a kernel", "is not on the symmetric heap"),
    SOURCE: ("ValueError", "put in a kernel", "nelems is 9; dest has 10 elements and source has 7"),
    GET: ("ValueError", "get in a kernel", "nelems is 11; dest has 10 elements and source has 10"),
    SIGNAL: ("SymmetryError", "is not on the symmetric heap"),
    ADD: ("SymmetryError", "put_signal, signal_set or signal_add in a kernel", "is not on the symmetric heap"),
    SET: ("SymmetryError", "wait_until_all", "is not on the symmetric heap"),
    LOCK: ("IndexError", "test_lock in a kernel", "element 10 on"),
    FAR_PUT: ("IndexError", "put in a kernel", "pe is 1152921504606846976"),
    FAR_BLOCKS: ("IndexError", "iput", "pe is 1152921504606846976"),
    FAR_TILE: ("IndexError", "get in a kernel", "pe is 1152921504606846976"),
    TEAM_PE: ("IndexError", "team_ptr in a kernel on PE {me}: pe is 5; PEs of the team are numbered 0 to {last}"),
    TEST_SET: ("SymmetryError", "test_all, _any or _some in a kernel", "is not on the symmetric heap"),
    INDICES: ("ValueError", "test_all, _any or", "ivars has 10 elements and indices has 3; it needs at least as many"),
    STATUS: ("ValueError", "ivars has 10 elements and status has 3; the counts must be equal"),
    VALUES: ("ValueError", "wait_until_all, _any or", "ivars has 10 elements and cmp_values has 3; the counts"),
    SLICED_SET: ("SymmetryError", "test_all", "is not on the symmetric heap"),
}


@dpex.kernel
def bad_call(item: kapi.Item, a, local, signal, pe, case):
    if case == FINE:
        ishmem.p(a, 7, pe, 2)
    if case == NO_PE:
        ishmem.p(a, 1, 99)
    if case == NEGATIVE_PE:
        local[0] = ishmem.g(a, pe - pe - 1)
    if case == SLICE:
        ishmem.put(a[4:8], a, pe)
    if case == LOCAL:
        ishmem.put(local, a, pe)
    if case == INDEX:
        ishmem.atomic_add(a, 3, pe, 10)
    if case == STRIDED:
        ishmem.iput(a, local, 5, 1, 3, pe)
    if case == WAIT:
        ishmem.wait_until(local, ishmem.CMP_EQ, 7)
    if case == SOURCE:
        ishmem.put(a, local[3:], pe, nelems=9)
    if case == GET:
        ishmem.get(local, a, pe, nelems=11)
    if case == SIGNAL:
        ishmem.signal_wait_until(signal, ishmem.CMP_EQ, 7)
    if case == ADD:
        ishmem.signal_add(signal, 1, pe)
    if case == SET:
        ishmem.wait_until_all(local, ishmem.CMP_EQ, 7)
    if case == LOCK:
        ishmem.test_lock(a, 10)
    if case == FAR_PUT:
        ishmem.put(a, local, 1 << 60)
    if case == FAR_BLOCKS:
        ishmem.iput(a, local, 1, 1, 3, 1 << 60)
    if case == FAR_TILE:
        ishmem.get(local[::2], a[::2], 1 << 60)
    if case == TEAM_PE:
        ishmem.team_ptr(ishmem.TEAM_WORLD, a, 5)
    if case == TEST_SET:
        ishmem.test_any(local, ishmem.CMP_EQ, 7)
    if case == INDICES:
        ishmem.test_some(a, local[:3], ishmem.CMP_GE, 0)
    if case == STATUS:
        ishmem.test_all(a, ishmem.CMP_EQ, 0, local[:3])
    if case == VALUES:
        ishmem.wait_until_all_vector(a, ishmem.CMP_EQ, local[:3])
    if case == SLICED_SET:
        ishmem.test_all(local[::2], ishmem.CMP_EQ, 1)


@CHECKING
def test_violations_are_left_out_and_raised() -> None:
    me, n = ishmem.my_pe(), ishmem.n_pes()
    a, local, signal = ishmem.zeros(10, dtype="i8"), dpnp.ones(10, dtype="i8"), dpnp.zeros(1, dtype="u8")
    for case, (kind, *words) in EXPECTED.items():
        dpex.call_kernel(bad_call, kapi.Range(1), a, local, signal, (me + 1) % n, case)
        with pytest.raises((IndexError, ValueError, ishmem.SymmetryError)) as caught:
            ishmem.barrier_all()
        assert type(caught.value).__name__ == kind
        line = next(number for number, text in LINES if f"case == {NAMES[case]}:" in text) + 1
        for word in (*words, f"(bad_call, test_runtime_checks.py:{line})"):
            assert word.format(me=me, last=n - 1) in str(caught.value)
        ishmem.barrier_all()  # it is reported once, and the job goes on
        assert not a.asnumpy().any()
    ishmem.barrier_all()  # every PE has looked
    dpex.call_kernel(bad_call, kapi.Range(1), a, local, signal, (me + 1) % n, FINE)
    ishmem.barrier_all()
    assert a.asnumpy().tolist() == [0, 0, 7, *[0] * 7]


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
    for case in (INDEX, NO_PE):
        dpex.call_kernel(bad_call, kapi.Range(1), a, local, signal, 0, case)
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
