"""``index=`` as a tuple of indices, on the host and in kernels; the element is that of numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from common import CHECKING, dpex, dpnp, kapi, refused, ring, same

import ishmem
from ishmem.common.type_tables import ATOMICS

SHAPES = [(7,), (3, 5), (2, 3, 4), (2, 3, 2, 5)]
PLACES = [(4,), (2, 1), (1, 0, 3), (1, 2, 1, 4)]


def check_elements(shape: tuple[int, ...], at: tuple[int, ...]) -> None:
    """p, g and every atomic of integers."""
    me, n, right, left = ring()
    a, wanted = ishmem.zeros(shape, dtype="i8"), np.zeros(shape, "i8")
    ishmem.p(a, me + 10, right, index=at)
    ishmem.barrier_all()
    wanted[at] = left + 10
    same(a, wanted)
    assert ishmem.g(a, right, at) == ishmem.atomic_fetch(a, right, at) == me + 10
    ishmem.barrier_all()
    for name, atomic in ATOMICS.items():
        operands = {"atomic_compare_swap": (0, 2)}.get(name, (2,) * len(atomic.operands))
        single, flat = (ishmem.zeros(shape, dtype="i8") for _ in range(2))
        results = [getattr(ishmem, name)(single, *operands, right, at)]
        results.append(getattr(ishmem, name)(flat, *operands, right, int(np.ravel_multi_index(at, shape))))
        ishmem.barrier_all()
        assert results[0] == results[1]
        same(single, flat.asnumpy())
        ishmem.barrier_all()
        if atomic.fetches:
            old = np.full(1, -1, "i8")
            getattr(ishmem, f"{name}_nbi")(old, single, *operands, right, at)
            ishmem.quiet()
            assert old[0] == ishmem.g(flat, right, at)


def check_signals(shape: tuple[int, ...], at: tuple[int, ...]) -> None:
    """Signals, waits and locks."""
    me, n, right, left = ring()
    signal, box, flag, lock = (ishmem.zeros(shape, dtype=dtype) for dtype in ("u8", "i8", "i4", "i8"))
    wanted = np.zeros(shape, "u8")
    ishmem.put_signal(box, np.full(shape, me), signal, 2, ishmem.SIGNAL_ADD, right, index=at)
    ishmem.put_signal_nbi(box, np.full(shape, me), signal, 2, ishmem.SIGNAL_ADD, right, index=at)
    ishmem.signal_add(signal, 3, right, at)
    assert ishmem.signal_wait_until(signal, ishmem.CMP_EQ, 7, index=at) == ishmem.signal_fetch(signal, at) == 7
    wanted[at] = 7
    same(signal, wanted)
    same(box, np.full(shape, left))
    ishmem.barrier_all()
    ishmem.signal_set(signal, 1, right, index=at)
    ishmem.atomic_set(flag, 1, right, at)
    ishmem.wait_until(flag, ishmem.CMP_EQ, 1, at)
    assert ishmem.test(flag, ishmem.CMP_EQ, 1, index=at)
    ishmem.wait_until_on_queue(flag, ishmem.CMP_EQ, 1, index=at).wait()
    ishmem.set_lock(lock, at)
    ishmem.atomic_add(box, 1, 0, at)
    ishmem.clear_lock(lock, at)
    while not ishmem.test_lock(lock, at):
        pass
    ishmem.clear_lock(lock, int(np.ravel_multi_index(at, shape)))
    ishmem.barrier_all()
    assert ishmem.g(box, 0, at) == 2 * n - 1


@pytest.mark.ishmem
def test_tuples_index_arrays_in_fortran_order() -> None:
    a: Any = ishmem.zeros((3, 5), dtype="i8", order="F")
    ishmem.p(a, 7, (ishmem.my_pe() + 1) % ishmem.n_pes(), (2, 1))
    ishmem.atomic_add(a, 1, (ishmem.my_pe() + 1) % ishmem.n_pes(), (2, 1))
    ishmem.barrier_all()
    assert a[2, 1] == 8 and a.sum() == 8


@pytest.mark.ishmem
@pytest.mark.parametrize(("shape", "at"), list(zip(SHAPES, PLACES)), ids=str)
def test_tuples_index_arrays_of_host_routines(shape: tuple[int, ...], at: tuple[int, ...]) -> None:
    check_elements(shape, at)
    check_signals(shape, at)


def check_by_kernel() -> None:
    a, pe = ishmem.zeros((3, 5), dtype="i8"), 1 - ishmem.my_pe()
    assert ishmem.atomic_fetch_add(a, 4, pe, (2, 1)) == 0
    ishmem.barrier_all()
    assert ishmem.g(a, pe, (2, 1)) == 4
    ishmem.p(a, 5, pe, (0, 4))
    ishmem.barrier_all()
    assert a.asnumpy().ravel().tolist() == [0, 0, 0, 0, 5, *[0] * 6, 4, 0, 0, 0]


def test_tuples_index_arrays_on_other_routes(pool_with) -> None:
    pool_with(2, {"ISHMEM_HOST_ATOMICS": "kernel", "ISHMEM_COPY_CUTOVER": "1"}).run(check_by_kernel)


@dpex.kernel
def two_axes(item: kapi.Item, a, old, signal, lock, pe, i, j):  # type: ignore
    at = (i, j)
    ishmem.set_lock(lock, (i, j))
    ishmem.clear_lock(lock, at)
    ishmem.p(a, 10, pe, (i, j))
    ishmem.quiet()
    ishmem.atomic_add(a, 5, pe, index=(i, j))
    old[0] = ishmem.atomic_fetch_add(a, 7, pe, at)
    old[1] = ishmem.atomic_compare_swap(a, 22, 23, pe, (i, j))
    ishmem.atomic_fetch_nbi(old[2:], a, pe, (i, j))
    ishmem.quiet()
    old[3] = ishmem.g(a, pe, (1, 2))
    ishmem.put_signal(a[2], a[1], signal, 3, ishmem.SIGNAL_ADD, pe, index=(0, 1))
    ishmem.signal_add(signal, 4, pe, (0, 1))
    ishmem.signal_wait_until(signal, ishmem.CMP_EQ, 7, index=(0, 1))
    ishmem.wait_until(a, ishmem.CMP_EQ, 23, (i, j))
    old[4] = ishmem.test(a, ishmem.CMP_EQ, 23, index=at)


@dpex.kernel
def by_unsigned_numbers(item: kapi.Item, a, b, signal, pe, two):  # type: ignore
    ishmem.put(b, a, pe, two)
    ishmem.put_nbi(b[two:], a[two:], pe, nelems=two)
    ishmem.quiet()
    ishmem.get(b[4:], a, pe, two)
    ishmem.put_signal(b[6:], a, signal, two, ishmem.SIGNAL_ADD, pe, two, two - two)
    ishmem.iput(b[8:], a, two, two, two, pe)
    ishmem.ibget(b[12:], a, two, two, two, two, pe)
    ishmem.p(b, two, pe, two + 9)


@dpex.kernel
def more_axes(item: kapi.Item, a, b, pe):  # type: ignore
    i = item.get_id(0)
    ishmem.atomic_max(a, 9, pe, (i, 2, 1))
    ishmem.p(b, 8, pe, (1, i, 0, np.int32(3)))


@pytest.mark.slow_cases("uint32 and uint64", "2pes-uint64-uint8")
@pytest.mark.ishmem(2)
@pytest.mark.parametrize(("pe_type", "number_type"), [("uint64", "uint8"), ("uint32", "uint64")])
def test_kernels_take_unsigned_numbers(pe_type: str, number_type: str) -> None:
    """PEs, numbers of elements, strides and indices may have any type of integers."""
    a, b, signal = ishmem.zeros(8, dtype="i4"), ishmem.zeros(16, dtype="i4"), ishmem.zeros(1, dtype="u8")
    a[:] = dpnp.arange(1, 9, dtype="i4")
    ishmem.barrier_all()
    pe, two = np.dtype(pe_type).type(ishmem.my_pe()), np.dtype(number_type).type(2)
    dpex.call_kernel(by_unsigned_numbers, kapi.Range(1), a, b, signal, pe, two)
    assert b.asnumpy().tolist() == [1, 2, 3, 4, 1, 2, 1, 2, 1, 0, 3, 2, 1, 2, 3, 4]
    assert signal.asnumpy().tolist() == [2]


@pytest.mark.ishmem
def test_tuples_index_arrays_in_kernels() -> None:
    me, n = ishmem.my_pe(), ishmem.n_pes()
    right = (me + 1) % n
    a, lock = ishmem.zeros((3, 5), dtype="i8"), ishmem.zeros((3, 5), dtype="i8")
    signal = ishmem.zeros((1, 2), dtype="u8")
    old = dpnp.full(5, -1, dtype="i8")
    dpex.call_kernel(two_axes, kapi.Range(1), a, old, signal, lock, right, 1, 2)
    ishmem.barrier_all()
    row = np.array([0, 0, 23, 0, 0])
    same(a, np.stack([0 * row, row, a.asnumpy()[2]]))
    same(old, np.array([15, 22, 23, 23, 1]))
    same(signal, np.array([[0, 7]], "u8"))
    three, four = ishmem.zeros((2, 3, 4), dtype="f4"), ishmem.zeros((2, 2, 2, 5), dtype="i4")
    dpex.call_kernel(more_axes, kapi.Range(2), three, four, right)
    ishmem.barrier_all()
    wanted, fourth = np.zeros((2, 3, 4), "f4"), np.zeros((2, 2, 2, 5), "i4")
    wanted[:, 2, 1], fourth[1, :, 0, 3] = 9, 8
    same(three, wanted)
    same(four, fourth)


@dpex.kernel
def add_at(item: kapi.Item, a, i, j):  # type: ignore
    ishmem.atomic_add(a, 1, 0, (i, j))


@CHECKING
def test_wrong_tuples_are_refused() -> None:
    a, cube = ishmem.zeros((3, 5), dtype="i8"), ishmem.zeros((2, 2, 2), dtype="i8")
    turned: Any = ishmem.zeros((3, 5), dtype="i8", order="F")
    for wrong in ((0, 5), (3, 0), (-1, 0), (0,), (0, 0, 0), ()):
        for call in (lambda at: ishmem.p(a, 1, 0, at), lambda at: ishmem.atomic_inc(a, 0, at)):
            refused(IndexError, r"index is \(.*has the shape \(3, 5\)", call, wrong)
    refused(TypeError, "index is an integer, got float", ishmem.g, a, 0, (0, 1.0))
    refused(ValueError, "not contiguous", ishmem.p, turned[:, ::2], 1, 0, (0, 1))
    with pytest.raises(Exception, match="index is a tuple of 2, of an array of 3 dimensions"):
        dpex.call_kernel(add_at, kapi.Range(1), cube, 0, 1)
    refused(Exception, "not in C order; pass the number", dpex.call_kernel, add_at, kapi.Range(1), turned, 0, 1)
    for at in ((0, 5), (-1, 9)):
        dpex.call_kernel(add_at, kapi.Range(1), a, *at)
        refused(IndexError, "atomic_add in a kernel", ishmem.quiet)
    ishmem.barrier_all()
    same(a, np.zeros((3, 5), "i8"))
