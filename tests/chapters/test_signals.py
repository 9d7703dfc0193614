"""put_signal and the operations on signals, on the host and in kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from common import both_forms, dpex, dpnp, kapi, pattern, refused, ring, same, symmetric

import ishmem
from ishmem.common.type_tables import RMA_TYPES, SIGNAL_TYPES

TOP = 2**64 - 1


def top_of(kind: str) -> int:
    """Return the greatest value of a dtype of signals."""
    return int(np.iinfo(kind).max)


def check_payload(dtype: str, kind: str = "uint64") -> None:
    """Each PE puts to every PE, sizes 0 and on, with its own signal; whoever sees the signal checks at once."""
    me, n = ishmem.my_pe(), ishmem.n_pes()
    sizes = [0, 1, 3, 16, 33, 1000]
    for size in sizes:
        for routine, op in ((ishmem.put_signal, ishmem.SIGNAL_SET), (ishmem.put_signal_nbi, ishmem.SIGNAL_ADD)):
            guard = pattern(dtype, n * (size + 2), 99)
            dest, signals, top = symmetric(guard), ishmem.zeros(n, dtype=kind), top_of(kind)
            source = symmetric(pattern(dtype, size + 3, me))
            for pe in range(n):
                place = me * (size + 2) + 1
                routine(dest[place : place + size], source[2 : 2 + size], signals, top - me, op, pe, index=me)
            expected = guard.reshape(n, size + 2)
            for pe in range(n):
                seen = ishmem.signal_wait_until(signals, ishmem.CMP_NE, 0, index=pe, timeout=120)
                assert seen == top - pe == ishmem.signal_fetch(signals, pe)
                place = pe * (size + 2)
                expected[pe, 1 : size + 1] = pattern(dtype, size + 3, pe)[2 : 2 + size]
                same(dest[place : place + size + 2], expected[pe])
            ishmem.barrier_all()


@pytest.mark.one_type("int32")
@pytest.mark.parametrize("dtype", RMA_TYPES)
@pytest.mark.ishmem([1, 2, 3, 4])
def test_payloads_of_each_type_come_before_the_signal(dtype: str) -> None:
    for kind in SIGNAL_TYPES if dtype == "int16" else ["uint64"]:
        check_payload(dtype, kind)


@pytest.mark.ishmem
def test_sources_of_each_kind() -> None:
    """Sources off the heap, views, and more than there is room for: ``nelems``."""
    me, n, right, left = ring()
    values = [pattern("int64", 40, pe) for pe in range(n)]
    dest, signal = ishmem.zeros(200, dtype="int64"), ishmem.zeros((), dtype="uint64")
    add = ishmem.SIGNAL_ADD
    ishmem.put_signal(dest[:40], values[me], signal, 1, add, right)
    ishmem.put_signal(dest[40:80], dpnp.asarray(values[me]), signal, 1, add, right)
    ishmem.put_signal(dest[80:120:4], values[me][::4], signal, 1, add, right)
    ishmem.put_signal_nbi(dest[120:], values[me], signal, 1, add, right, nelems=7)
    ishmem.put_signal(dest[160:161], 17, signal, 1, add, right)
    assert ishmem.signal_wait_until(signal, ishmem.CMP_GE, 5, timeout=120) == 5
    expected = np.zeros(200, "int64")
    expected[:40] = expected[40:80] = values[left]
    expected[80:120:4], expected[120:127], expected[160] = values[left][::4], values[left][:7], 17
    same(dest, expected)


@pytest.mark.ishmem
@pytest.mark.parametrize("kind", SIGNAL_TYPES)
def test_signals_of_each_type(kind: str) -> None:
    me, n, right, left = ring()
    dest, signals = ishmem.zeros(100, dtype="int32"), ishmem.zeros(2, dtype=kind)
    for r in range(1, 6):
        ishmem.put_signal(dest, np.full(100, 10 * r + me, "int32"), signals, r, ishmem.SIGNAL_SET, right)
        assert ishmem.signal_wait_until(signals, ishmem.CMP_GE, r, timeout=120) == r
        same(dest, np.full(100, 10 * r + left, "int32"))
        ishmem.barrier_all()
    ishmem.signal_set(signals, top_of(kind), right, 1)
    ishmem.barrier_all()
    ishmem.signal_add(signals, 3, right, 1)
    ishmem.barrier_all()
    assert ishmem.signal_fetch(signals, 1) == np.iinfo(kind).min + 2


@pytest.mark.slow_types
@pytest.mark.parametrize("kind", SIGNAL_TYPES)
@pytest.mark.parametrize("env", [{"ISHMEM_COPY_CUTOVER": "1"}, {"ISHMEM_HOST_ATOMICS": "kernel"}], ids=str)
def test_signals_of_each_type_on_other_routes(pool_with, env: dict[str, str], kind: str) -> None:
    """PEs whose copies are made by the copy engine, or their atomics by kernels."""
    pool_with(2, env).run(test_signals_of_each_type, kind)


def check_ordering(rounds: int, count: int) -> None:
    """Thousands of payloads and signals: the payload is never older than the signal."""
    me, n, right, left = ring()
    dest, signals = ishmem.zeros(count, dtype="int64"), ishmem.zeros(2, dtype="uint64")
    seen = np.empty(count, "int64")
    for r in range(1, rounds + 1):
        ishmem.put_signal(dest, np.full(count, r), signals, r, ishmem.SIGNAL_SET, right)
        assert ishmem.signal_wait_until(signals, ishmem.CMP_GE, r, timeout=120) == r
        ishmem.get(seen, dest, me)
        assert (seen == r).all(), (r, seen)
        ishmem.signal_add(signals, 1, left, 1)
        ishmem.signal_wait_until(signals, ishmem.CMP_EQ, r, index=1, timeout=120)


@pytest.mark.ishmem
def test_no_payload_is_older_than_its_signal() -> None:
    check_ordering(2000 if ishmem.n_pes() <= 2 else 500, 100)


@pytest.mark.ishmem
def test_no_addition_is_lost() -> None:
    """All PEs add to one signal and set another; no addition is lost."""
    rounds = 3000
    n, add, set_to = ishmem.n_pes(), ishmem.SIGNAL_ADD, ishmem.SIGNAL_SET
    dest, signals = ishmem.zeros(1, dtype="int8"), ishmem.zeros(3, dtype="uint64")
    for _ in range(rounds):
        ishmem.signal_add(signals, 2**40 + 1, 0)
        ishmem.put_signal(dest, np.zeros(1, "int8"), signals, 3, add, 0, index=1)
        ishmem.put_signal(dest, np.zeros(1, "int8"), signals, TOP // (1 + ishmem.my_pe()), set_to, 0, index=2)
    ishmem.barrier_all()
    if ishmem.my_pe() == 0:
        assert ishmem.signal_fetch(signals) == rounds * n * (2**40 + 1)
        assert ishmem.signal_fetch(signals, 1) == rounds * n * 3
        assert ishmem.signal_fetch(signals, 2) in [TOP // (1 + pe) for pe in range(n)]


@pytest.mark.ishmem([1, 2])
def test_wrong_arguments_are_refused() -> None:
    n = ishmem.n_pes()
    a, s = ishmem.zeros(4, dtype="int32"), ishmem.zeros(2, dtype="uint64")
    off_heap, reals, host = dpnp.zeros(2, dtype="uint64"), ishmem.zeros(2, dtype="float64"), np.ones(4, "int32")
    shorts, unsigned = ishmem.zeros(2, dtype="int16"), ishmem.zeros(2, dtype="uint32")
    op = ishmem.SIGNAL_SET
    wrong: list[tuple[Any, type[Exception], str]] = [
        (lambda: ishmem.put_signal(a, host, s, 1, 2, 0), ValueError, "sig_op is 2; allowed are SIGNAL_SET, SIGNAL_ADD"),
        (lambda: ishmem.put_signal(a, host, s, -1, op, 0), ValueError, "-1"),
        (lambda: ishmem.put_signal(a, host, s, 2**64, op, 0), ValueError, "does not fit"),
        (lambda: ishmem.put_signal(a, host, s, 1.5, op, 0), TypeError, "1.5"),
        (lambda: ishmem.put_signal(a, host, reals, 1, op, 0), TypeError, "dtype float64; allowed are int32"),
        (lambda: ishmem.put_signal(a, host, unsigned, 2**32, op, 0), ValueError, "does not fit"),
        (lambda: ishmem.signal_add(unsigned, -1, 0), ValueError, "does not fit"),
        (lambda: ishmem.put_signal(a, host, off_heap, 1, op, 0), ishmem.SymmetryError, "sig_addr"),
        (lambda: ishmem.put_signal(a, host, s, 1, op, 0, index=2), IndexError, "index is 2"),
        (lambda: ishmem.put_signal(a, host, s, 1, op, n), IndexError, "pe is"),
        (lambda: ishmem.put_signal(a, host[:3], s, 1, op, 0), ValueError, "dest has 4 elements"),
        (lambda: ishmem.put_signal(host, a, s, 1, op, 0), ishmem.SymmetryError, "dest"),
        (lambda: ishmem.signal_set(shorts, 1, 0), TypeError, "signal_set: sig_addr has dtype int16"),
        (lambda: ishmem.signal_add(s, -1, 0), ValueError, "-1"),
        (lambda: ishmem.signal_add(s, 1, -1), IndexError, "pe is -1"),
        (lambda: ishmem.signal_fetch(reals), TypeError, "signal_fetch: sig_addr has dtype float64"),
        (lambda: ishmem.signal_fetch(s, 2), IndexError, "index is 2"),
        (lambda: ishmem.signal_wait_until(s, 9, 0), ValueError, "cmp is 9; allowed are CMP_EQ"),
        (lambda: ishmem.signal_wait_until(s, ishmem.CMP_EQ, -1), ValueError, "-1"),
    ]
    for call, kind, words in wrong:
        refused(kind, words, call)
    same(a, np.zeros(4, "int32"))
    ishmem.signal_set(s, 5, ishmem.my_pe(), 1)
    words = rf"signal_wait_until on PE {ishmem.my_pe()}: after 0.05 s sig_addr\[1\] is 5, wanted > 5"
    refused(ishmem.WaitTimeout, words, ishmem.signal_wait_until, s, ishmem.CMP_GT, 5, 1, timeout=0.05)


# --- in kernels


def exchange(item, dest, source, signals, seen, rounds, top):  # type: ignore
    """Put a row to the next PE, wait for the previous one, check each element, then acknowledge it.

    All work-items of a group check, and note the signal they saw.
    """
    group = item.get_group()
    me, n, count, mine = ishmem.my_pe(), ishmem.n_pes(), source.shape[1], item.get_local_linear_id()
    right, left = (me + 1) % n, (me + n - 1) % n
    for r in range(1, rounds + 1):
        ishmem.put_signal_work_group(dest, source[r], signals, r, ishmem.SIGNAL_SET, right, group)
        ishmem.put_signal_nbi_work_group(dest, dest, signals, 2, ishmem.SIGNAL_ADD, right, group, nelems=0, index=1)
        seen[mine, 0] += ishmem.signal_wait_until_work_group(signals, ishmem.CMP_GE, r, group)
        for k in range(count):
            if dest[k] != source[r, k]:
                seen[mine, 1] += 1
        ishmem.signal_wait_until_work_group(signals, ishmem.CMP_GE, 2 * r, group, 1)
        if mine == 0:
            ishmem.signal_add(signals, 1, left, 2)
        ishmem.signal_wait_until_work_group(signals, ishmem.CMP_EQ, r, group, 2)
    if mine == 0:
        ishmem.signal_set(signals, top, right, 3)
    ishmem.signal_wait_until_work_group(signals, ishmem.CMP_GT, top // 2, group, 3)
    seen[mine, 2] = ishmem.signal_fetch(signals, 1)


EXCHANGE = both_forms(exchange)


def check_exchange(dtype: str, rounds: int, kind: str, group: tuple[int, ...] | None = None) -> None:
    shape, count, top = group or (1,), 50 if group else 5, np.dtype(kind).type(top_of(kind))
    values = np.repeat(np.arange(rounds + 1), count).reshape(-1, count).astype(dtype)
    dest, signals, size = ishmem.zeros(count, dtype=dtype), ishmem.zeros(4, dtype=kind), int(np.prod(shape))
    seen, span = dpnp.zeros((size, 3), dtype="uint64"), kapi.NdRange(shape, shape)
    dpex.call_kernel(EXCHANGE[group is None], span, dest, symmetric(values), signals, seen, rounds, top)
    ishmem.barrier_all()
    same(seen, np.array([[rounds * (rounds + 1) // 2, 0, 2 * rounds]] * size, "uint64"))
    same(dest, values[-1])
    same(signals, np.array([rounds, 2 * rounds, rounds, top], kind))


def check_kernel(dtype: str, rounds: int, kind: str = "uint64") -> None:
    check_exchange(dtype, rounds, kind)


@pytest.mark.slow_cases("complex128", "2pes-float64")
@pytest.mark.one_type("int32")
@pytest.mark.parametrize("dtype", ["int8", "int32", "float64", "complex128"])
@pytest.mark.ishmem
def test_payloads_come_before_the_signal_in_kernels(dtype: str) -> None:
    check_kernel(dtype, {1: 2000, 2: 500, 3: 20, 4: 10}[ishmem.n_pes()] if dtype == "int32" else 100)


@pytest.mark.slow_types
@pytest.mark.parametrize("kind", SIGNAL_TYPES)
@pytest.mark.ishmem(2)
def test_signals_of_each_type_in_kernels(kind: str) -> None:
    check_kernel("int16", 20, kind)
    check_group(5, kind, (6,))


def check_group(rounds: int, kind: str, *groups: tuple[int, ...]) -> None:
    for group in groups:
        check_exchange("int32", rounds, kind, group)


@pytest.mark.ishmem([1, 2, 3])
def test_payloads_come_before_the_signal_in_groups() -> None:
    if ishmem.n_pes() == 2:
        check_group(30, "uint64", (1,), (24,), (5, 7), (2, 3, 5))
    else:
        check_group(5, "uint64", (7,))


@dpex.kernel
def add_at_once(item: kapi.Item, signals, dest):  # type: ignore
    """Each work-item signals PE 0."""
    ishmem.signal_add(signals, 2**33 + 1, 0)
    ishmem.put_signal(dest, dest, signals, 1, ishmem.SIGNAL_ADD, 0, 0, 1)


@pytest.mark.ishmem
def test_no_addition_of_work_items_is_lost() -> None:
    items = 5000
    signals, dest = ishmem.zeros(2, dtype="uint64"), ishmem.zeros(1, dtype="int32")
    dpex.call_kernel(add_at_once, kapi.Range(items), signals, dest)
    for _ in range(100):
        ishmem.signal_add(signals, 1, 0, 1)
    ishmem.barrier_all()
    n = ishmem.n_pes()
    expected = [n * items * (2**33 + 1), n * (items + 100)] if ishmem.my_pe() == 0 else [0, 0]
    same(signals, np.array(expected, "uint64"))
