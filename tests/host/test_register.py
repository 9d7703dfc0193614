"""Memory of the program that all PEs register, as symmetric memory of host calls."""

from __future__ import annotations

import collective_calls as calls
import numpy as np
import pytest
from common import dpnp, refused, ring, same, tensor

import ishmem
from ishmem.common import algorithms
from ishmem.common.collective_table import COLLECTIVES
from ishmem.common.layout import Regions

GUARD = 5


def private(count: int, dtype: str) -> dpnp.ndarray:
    return dpnp.zeros(count, dtype=dtype)


def check_collectives(dtype: str, counts: tuple[int, ...]) -> None:
    """Every routine and algorithm, with registered memory on both sides, or on one."""
    n = ishmem.n_pes()
    room = 3 * n * (max(counts) + 2 * n) + 7
    owned = [private(room, dtype) for _ in range(2)]
    for each in owned:
        ishmem.register(each)
    dest, source = (each[GUARD:] for each in owned)
    for routine in COLLECTIVES:
        if routine.startswith(("and", "or", "xor")) and dtype.startswith("f"):
            continue
        for algorithm in algorithms.allowed(routine):
            calls.force(algorithm)
            for seed, count in enumerate(counts):
                calls.compare(routine, dest, source, ishmem.TEAM_WORLD, count, seed % n, seed)
    calls.reset()
    for each in owned:
        ishmem.deregister(each)


def check_moves(count: int) -> None:
    """Puts and gets of all kinds; guard elements stay."""
    me, n, right, left = ring()
    a, other = private(count + 2 * GUARD, "int32"), private(64, "int64")
    assert not ishmem.addr_accessible(a, right)
    ishmem.register(a)
    ishmem.register(other)
    assert ishmem.addr_accessible(a[::2], right) and ishmem.addr_accessible(other, right)
    data = np.arange(count, dtype="int32") + 1000 * me
    wanted = np.zeros(count + 2 * GUARD, "int32")
    for put in (ishmem.put, lambda *given: ishmem.put_on_queue(*given).wait()):
        put(a[GUARD:-GUARD], dpnp.asarray(data), right)
        ishmem.barrier_all()
        wanted[GUARD:-GUARD] = data + 1000 * (left - me)
        same(a, wanted)
        got = np.zeros(count, "int32")
        ishmem.get(got, a[GUARD:-GUARD], right)
        same(got, data)
        ishmem.barrier_all()
        a[:] = 0
        ishmem.barrier_all()
    flag = private(2, "uint64")
    ishmem.register(flag)
    ishmem.put_signal_on_queue(a[GUARD:-GUARD], data, flag, 1, ishmem.SIGNAL_SET, right, index=1)
    ishmem.wait_until_on_queue(flag, ishmem.CMP_EQ, 1, index=1).wait()
    same(a, wanted)
    a[:] = 0
    ishmem.barrier_all()
    ishmem.deregister(flag)
    ishmem.p(a, 7 + me, right, 1)
    ishmem.barrier_all()
    assert ishmem.g(a, me, 1) == 7 + left and ishmem.g(a, right, 1) == 7 + me
    ishmem.iput(a[GUARD:], data, 2, 1, count // 2, right)
    ishmem.barrier_all()
    same(a[GUARD : GUARD + 2 * (count // 2) : 2], (data + 1000 * (left - me))[: count // 2])
    ishmem.deregister(other)
    ishmem.get(got[:1], a[1:2], right)
    assert got[0] == 7 + me
    ishmem.deregister(a)
    refused(ishmem.SymmetryError, "not on the symmetric heap", ishmem.put, a, data[:1], right, nelems=1)
    ishmem.barrier_all()


@pytest.mark.ishmem([1, 2, 3])
def test_moves() -> None:
    for count in (2, 33, 100_001):
        check_moves(count)


@pytest.mark.ishmem([1, 2, 3])
def test_collectives() -> None:
    check_collectives("int64", (0, 1, 33, 3000))


@pytest.mark.ishmem(2)
def test_again() -> None:
    """The memory of one registration serves the next, under new numbers."""
    a, b = private(100, "float32"), private(100, "float32")
    for _ in range(20):
        ishmem.register(a)
        ishmem.register(b)
        a[:], b[:] = ishmem.my_pe(), -1
        ishmem.max_reduce(b, a)
        same(b, np.ones(100, "float32"))
        ishmem.deregister(a)
        ishmem.broadcast(b, b, 0)
        ishmem.deregister(b)


@pytest.mark.ishmem(2)
def test_errors() -> None:
    me = ishmem.my_pe()
    a, heap = private(8, "int64"), ishmem.zeros(8, dtype="int64")
    host = tensor.usm_ndarray(8, dtype="i8", buffer="host")
    for error, words, given in (
        (ValueError, "a is in the symmetric heap", heap),
        (ValueError, "allowed are arrays with elements in device memory", host),
        (ValueError, "not contiguous", a[::2]),
        (TypeError, "got int", 3),
    ):
        if me:
            refused(error, words, ishmem.register, given)
        else:
            refused(ishmem.SymmetryError, words, ishmem.register, a)
    refused(ishmem.SymmetryError, "of 64 bytes", ishmem.register, a if me else a[:4])
    refused(ishmem.SymmetryError, "8 bytes after a multiple of 16", ishmem.register, a[1:5] if me else a[:4])
    ishmem.register(a)
    refused(ValueError, "shares memory with registered memory", ishmem.register, a[4:])
    refused(ishmem.SymmetryError, "not on the symmetric heap", ishmem.host_view, a)
    assert not ishmem.is_symmetric(a)
    refused(ValueError, "a is not registered", ishmem.deregister, a[1:])
    ishmem.deregister(a)


@pytest.mark.ishmem(2)
def test_most() -> None:
    parts = [private(2, "int32") for _ in range(Regions.MOST)]
    for each in parts:
        ishmem.register(each)
    refused(ValueError, "128 arrays are registered, the most", ishmem.register, private(2, "int32"))
    ishmem.deregister(parts.pop(3))
    last = private(2, "int32")
    ishmem.register(last)
    ishmem.p(last, 5, 1 - ishmem.my_pe(), 1)
    ishmem.barrier_all()
    same(last, np.array([0, 5], "int32"))
    for each in [*parts, last]:
        ishmem.deregister(each)
