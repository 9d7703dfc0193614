"""Calls that the compilation of a kernel refuses, with the host's error messages."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from common import dpex, dpnp, kapi, one_line, same
from numba.core.errors import NumbaError
from subprocesses import program, run_program

import ishmem

ABC = ("a", "b", "c")


def said_by_host(text: str, *arrays: Any) -> str:
    with pytest.raises((TypeError, ValueError)) as caught:
        one_line(text, *ABC)(None, *arrays)
    return str(caught.value)


def said_by_kernel(text: str, *arrays: Any) -> str:
    kernel, space = dpex.kernel(one_line(text, *ABC)), kapi.Range(1)
    with pytest.raises(NumbaError) as caught:
        dpex.call_kernel(kernel, space, *arrays)
    return str(caught.value)


# What both sides say, for the arrays a, b and c of the dtypes given.
SAME = {
    "ishmem.atomic_inc(a, 0)": ("float64", "atomic_inc: dest has dtype float64; allowed are int32, int64"),
    "ishmem.atomic_add(a, 1, 0)": ("int16", "atomic_add: dest has dtype int16; allowed are int32, int64"),
    "ishmem.atomic_fetch_xor(a, 1, 0)": ("int8", "atomic_fetch_xor: dest has dtype int8; allowed are int32"),
    "ishmem.atomic_compare_swap(a, 1, 2, 0)": ("float32", "atomic_compare_swap: dest has dtype float32; allowed are"),
    "ishmem.atomic_fetch(a, 0)": ("int16", "atomic_fetch: source has dtype int16; allowed are int32"),
    "ishmem.wait_until(a, 1, 1)": ("float64", "wait_until: ivar has dtype float64; allowed are int32"),
    "ishmem.test(a, 1, 1)": ("uint8", "test: ivar has dtype uint8; allowed are int32"),
    "ishmem.put(a, b, 0)": ("int32 int64", "dest has dtype int32 and source has dtype int64; they must be equal"),
    "ishmem.get(a, b, 0)": ("float32 int32", "dest has dtype float32 and source has dtype int32; they must be equal"),
    "ishmem.put_nbi(a, b, 0)": ("uint32 int32", "dest has dtype uint32 and source has dtype int32; they must be equal"),
    "ishmem.put(a, b, 0.5)": ("int32 int32", "pe is an integer, got float"),
    "ishmem.p(a, 1, 0, 0.5)": ("int32", "index is an integer, got float"),
    "ishmem.p(a, 0.5, 0)": ("int32", "not of the kind of dtype int32"),
    "ishmem.p(a, 1j, 0)": ("float64", "not of the kind of dtype float64"),
    "ishmem.atomic_set(a, 0.5, 0)": ("uint64", "not of the kind of dtype uint64"),
    "ishmem.wait_until(a, 1, 0.5)": ("int64", "not of the kind of dtype int64"),
    "ishmem.p(a, 2**40 + 3, 0)": ("int32", "value is 1099511627779, which does not fit dtype int32"),
    "ishmem.p(a, -1, 0)": ("uint64", "value is -1, which does not fit dtype uint64"),
    "ishmem.put(a, 300, 0)": ("uint8", "is 300, which does not fit dtype uint8"),
    "ishmem.atomic_add(a, -1, 0)": ("uint32", "value is -1, which does not fit dtype uint32"),
    "ishmem.atomic_compare_swap(a, 2**40, 7, 0)": ("int32", "is 1099511627776, which does not fit dtype int32"),
    "ishmem.signal_set(a, -1, 0)": ("uint64", "is -1, which does not fit dtype uint64"),
    "ishmem.put_signal(b, b, a, -2, 0, 0)": ("uint64 int32", "is -2, which does not fit dtype uint64"),
    "ishmem.put_signal(b, b, a, 1, 7, 0)": ("uint64 int32", "sig_op is 7; allowed are SIGNAL_SET, SIGNAL_ADD"),
    "ishmem.put_signal(b, b, a, 1, ishmem.CMP_LE, 0)": ("uint64 int32", "allowed are SIGNAL_SET, SIGNAL_ADD"),
    "ishmem.test(a, 99, 0)": ("int64", "cmp is 99; allowed are CMP_EQ, CMP_NE, CMP_GT, CMP_GE, CMP_LT, CMP_LE"),
    "ishmem.wait_until(a, 0, 0)": ("int64", "cmp is 0; allowed are CMP_EQ"),
    "ishmem.wait_until_all(a, 7, 0)": ("int64", "cmp is 7; allowed are CMP_EQ"),
    "ishmem.signal_wait_until(a, -1, 0)": ("uint64", "cmp is -1; allowed are CMP_EQ"),
    "ishmem.test(a, ishmem.CMP_EQ, cmp_value=2**40)": ("int32", "is 1099511627776, which does not fit dtype int32"),
    "ishmem.atomic_inc(a[::2], 0)": ("int64", "dest is not contiguous"),
    "ishmem.wait_until(a[::2], 1, 1)": ("int64", "ivar is not contiguous"),
}


@pytest.mark.ishmem(2)
def test_same_words() -> None:
    for text, (dtypes, words) in SAME.items():
        arrays = arrays_of(dtypes)
        for said in (said_by_host(text, *arrays), said_by_kernel(text, *arrays)):
            assert re.search(re.escape(words), said), (text, said)


# What kernels say for the arrays a, b and c of the dtypes given; the host says it in words of its own.
OF_KERNELS = {
    "ishmem.put_signal(a, a, b, 1, 0, 0)": ("float64", "put_signal: sig_addr has dtype float64; allowed are int32"),
    "ishmem.signal_add(b, 1.5, 0)": ("float64 uint64", "signal_add: signal is float64"),
    "ishmem.put_signal(a, a, b, 1, 0.5, 0)": ("float64 uint64", "; allowed are SIGNAL_SET, SIGNAL_ADD"),
    "ishmem.test_any(b, 1, 1)": ("int64 float32", "test_any: ivars has dtype float32; allowed are int32"),
    "ishmem.wait_until_all(a, 1, 1, b)": ("int64 float32", "wait_until_all: status has dtype float32"),
    "ishmem.test_all_vector(a, 1, a[0])": ("int64", "test_all_vector: cmp_values is an array, got int64"),
    "ishmem.iput(a, a, 1.5, 1, 1, 0)": ("int32", "iput: dst is an integer, got float64"),
    "ishmem.ibget(a, b, 1, 1, 1, 1, 0)": ("complex64 float32", "dest has dtype complex64 and source has dtype float32"),
    "ishmem.team_sync(a[0])": ("float32", "team_sync: team is an integer, got float32"),
    "ishmem.set_lock(a)": ("float32", "set_lock: lock has dtype float32; allowed are int64"),
    "ishmem.atomic_inc(a, 0, order=9)": ("int64", "order is 9; allowed are ORDER_RELAXED"),
    "ishmem.pe_quiet(1.5)": ("int64", "target_pes is a PE number, or a tuple or an array"),
    "ishmem.pe_quiet((0.5, 0.5))": ("int64", "target_pes is a PE number, or a tuple or an array"),
    "ishmem.pe_quiet(a)": ("float64", "target_pes is a PE number, or a tuple or an array"),
    "ishmem.view(a[::2], 'int64')[0] = 1": ("int32", "not contiguous"),
    "ishmem.view(a, 3)[0] = 1": ("int32", "dtype is a type of elements"),
}


def arrays_of(dtypes: str) -> list[Any]:
    return [ishmem.zeros(8, dtype=dtype) for dtype in (dtypes.split() * 3)[:3]]


# Calls that the host supports, or has no such form of, for an array of (4, 6) int64 twice, and a local one of int32.
ONLY_KERNELS = {
    "ishmem.p(a, 1, -1)": "p: pe is -1; it is at least 0",
    "ishmem.get(a, a, 0, nelems=-3)": "get: nelems is -3; it is at least 0",
    "ishmem.atomic_inc(a, 0, -1)": "atomic_inc: index is -1; it is at least 0",
    "ishmem.iget(a, a, 0, 1, 2, 0)": "iget: dst is 0; it is at least 1",
    "ishmem.put_signal(a, a, b, 1, c, 0)": "; allowed are SIGNAL_SET, SIGNAL_ADD",
    "ishmem.test(a, c, 0)": "; allowed are CMP_EQ, CMP_NE",
    "ishmem.iput(a[:, 1], b[:, 0], 1, 1, 2, 0)": "iput: dest is not contiguous",
    "ishmem.get(a, 1, 0)": "get: source is an array, got",
    "ishmem.atomic_fetch_add_nbi(c, a, 1, 0)": "dest has dtype int64",
    "ishmem.gatherv(a, b, c, 0)": "gatherv: counts is a contiguous device array of int64 of one dimension, with",
    "ishmem.gatherv(a, b, b[0], 0, 5)": "gatherv: displs is a contiguous device array of int64",
    "ishmem.scatterv(a, b, (1, 2), 0)": "scatterv: counts is a contiguous device array of int64",
    "ishmem.scatterv(a, b, b[0], 0.5)": "scatterv: root is an integer",
    "ishmem.alltoallv(a, b, b[0], a)": "alltoallv: source_counts is a contiguous device array of int64",
    "ishmem.alltoallv(a, b, b[0], b[0], b[:, 0])": "alltoallv: dest_displs is a contiguous device array",
    "ishmem.barrier_all(7)": "barrier_all: too many arguments, the last one is",
    "ishmem.team_sync(0, (1, 2))": "team_sync: too many arguments, the last one is",
    "ishmem.sync_all(call_site=7)": "sync_all: too many arguments, the last one is",
    "ishmem.wait_until(a, 1, 1, 0, 5)": "wait_until: too many arguments, the last one is",
}


@pytest.mark.ishmem(1)
def test_words_of_kernels() -> None:
    for text, (dtypes, words) in OF_KERNELS.items():
        assert words in said_by_kernel(text, *arrays_of(dtypes)), text
    a = ishmem.zeros((4, 6), dtype="int64")
    for text, words in ONLY_KERNELS.items():
        assert words in said_by_kernel(text, a, a, dpnp.zeros(1, dtype="int32")), text
    same(a, np.zeros((4, 6), "int64"))


@pytest.mark.ishmem(1)
def test_work_group_on_host() -> None:
    """The work-group forms raise an error on the host."""
    a = ishmem.zeros(4)
    for name in ("put", "get", "put_nbi", "get_nbi"):
        with pytest.raises(TypeError, match=f"{name}_work_group is called inside kernels only"):
            getattr(ishmem, f"{name}_work_group")(a, a, 0, None)
    for name in ("fence", "quiet", "barrier_all", "sync_all"):
        with pytest.raises(TypeError, match=f"{name}_work_group is called inside kernels only"):
            getattr(ishmem, f"{name}_work_group")(None)


def test_outside() -> None:
    result = run_program(program("kernels_outside_of_a_job"), 2, env={"ISHMEM_CHECK": "1"})
    assert result.stdout.count("good") == 2, result
