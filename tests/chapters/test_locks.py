"""Locks, on the host and in kernels: exact counts under contention, order, errors."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from common import CHECKING, dpex, dpnp, kapi, refused, same

import ishmem
from ishmem.locks import NEXT, SERVING, TICKETS, find


def increment(counts, index: int) -> None:
    """Read, then write: atomic only under a lock."""
    ishmem.p(counts, ishmem.g(counts, 0, index) + 1, 0, index)


def word(locks, index: int = 0) -> int:
    _job, _place, home = find("word", locks, index)
    return ishmem.g(locks, home, index)


def start_at(locks, serving: int) -> None:
    """Make free locks that have been taken ``serving`` times."""
    start = serving << NEXT | serving << SERVING
    for index in range(locks.size):
        ishmem.p(locks, start - (1 << 64 if start >> 63 else 0), ishmem.my_pe(), index)
    ishmem.barrier_all()


def check_host(rounds: int, serving: int) -> None:
    n = ishmem.n_pes()
    locks, counts = ishmem.zeros(n + 2, dtype="i8"), ishmem.zeros(n + 2, dtype="i8")
    start_at(locks, serving)
    for number in range(rounds):
        index = number % locks.size
        ishmem.set_lock(locks, index)
        increment(counts, index)
        ishmem.clear_lock(locks, index)
        following = (index + 1) % locks.size
        with ishmem.lock(locks[following:]):  # the same lock by another name
            increment(counts, following)
    ishmem.barrier_all()
    if ishmem.my_pe() == 0:
        same(counts, np.full(n + 2, n * (2 * rounds // (n + 2))))


@pytest.mark.ishmem
@pytest.mark.parametrize("serving", [0, TICKETS - 7, (1 << 23) - 7])
def test_a_lock_excludes_hosts(serving: int) -> None:
    check_host(60, serving)


@pytest.mark.ishmem
def test_test_lock_takes_free_locks_only() -> None:
    me, n = ishmem.my_pe(), ishmem.n_pes()
    locks, counts = ishmem.zeros(1, dtype="i8"), ishmem.zeros(1, dtype="i8")
    done = 0
    while done < 50:
        if ishmem.test_lock(locks):
            increment(counts, 0)
            assert ishmem.test_lock(locks) is False
            ishmem.clear_lock(locks)
            done += 1
        else:
            time.sleep(0)
    ishmem.barrier_all()
    assert ishmem.g(counts, 0) == 50 * n
    if me == 0:
        ishmem.set_lock(locks)
    ishmem.barrier_all()
    assert ishmem.test_lock(locks) is False
    ishmem.barrier_all()
    if me == 0:
        ishmem.clear_lock(locks)


@dpex.kernel
def in_kernel(item: kapi.Item, locks, index, form):
    if form == 0:
        ishmem.set_lock(locks, index)
    elif form == 1:
        ishmem.test_lock(locks, index)
    else:
        ishmem.clear_lock(locks, index)


@CHECKING
def test_a_word_that_is_no_lock() -> None:
    me, n = ishmem.my_pe(), ishmem.n_pes()
    # The holder: no PE; has no ticket; no PE, though tickets are out.
    for wrong in (n + 3, n, 1, (5 << NEXT) + n + 1, (3 << SERVING) + (3 << NEXT) + 1):
        locks = ishmem.full(n, wrong, dtype="i8")
        for form, name in enumerate(("set_lock", "test_lock", "clear_lock")):
            words = f"element {me} is {wrong}"
            with pytest.raises(ishmem.SymmetryError, match=f"{name}: {words}, which is no lock of {n} PEs"):
                getattr(ishmem, name)(locks, me)
            dpex.call_kernel(in_kernel, kapi.Range(1), locks, me, form)
            refused(ishmem.SymmetryError, rf"{name} in a kernel on PE {me}: {words}", ishmem.quiet)
        ishmem.barrier_all()
        same(locks, np.full(n, wrong))
        ishmem.barrier_all()


@pytest.mark.ishmem
def test_pes_get_a_lock_in_the_order_of_their_requests() -> None:
    """PEs get the lock in the order of their requests."""
    me, n = ishmem.my_pe(), ishmem.n_pes()
    locks, order, turn = ishmem.zeros(1, dtype="i8"), ishmem.zeros(n, dtype="i8"), ishmem.zeros(1, dtype="i8")
    if me == 0:
        ishmem.set_lock(locks)
    ishmem.barrier_all()
    asked = [n - pe for pe in range(1, n)]  # the last PE first
    if me > 0:
        # The number of those that wait before this PE is seen in the lock itself.
        while (word(locks) >> NEXT) - 1 != asked.index(me):
            time.sleep(0)
        ishmem.set_lock(locks)
        ishmem.p(order, me, 0, 1 + ishmem.atomic_fetch_inc(turn, 0))
        ishmem.clear_lock(locks)
    else:
        while (word(locks) >> NEXT) != n:
            time.sleep(0)
        ishmem.clear_lock(locks)
    ishmem.barrier_all()
    if me == 0:
        same(order, np.array([0, *asked]))


@pytest.mark.ishmem([1, 2, 3])
def test_puts_of_the_holder_are_complete() -> None:
    """Puts of the holder are complete when the next PE gets the lock."""
    n, size = ishmem.n_pes(), 1000
    locks, data = ishmem.zeros(n, dtype="i8"), ishmem.zeros(size, dtype="i8")
    for _ in range(100):
        with ishmem.lock(locks, n - 1):
            seen = np.empty(size, "i8")
            ishmem.get(seen, data, n - 1)
            assert (seen == seen[0]).all()
            ishmem.put_nbi(data, seen + 1, n - 1)
    ishmem.barrier_all()
    if ishmem.my_pe() == n - 1:
        same(data, np.full(size, 100 * n))


@pytest.mark.ishmem([1, 3])
def test_wrong_arguments_are_refused() -> None:
    me, n = ishmem.my_pe(), ishmem.n_pes()
    locks = ishmem.zeros(2, dtype="i8")
    refused(ishmem.StateError, "nobody holds it", ishmem.clear_lock, locks)
    ishmem.barrier_all()
    if me == 0:
        ishmem.set_lock(locks, 1)
        refused(ishmem.StateError, "already", ishmem.set_lock, locks, 1)
    ishmem.barrier_all()
    if me == n - 1 > 0:
        refused(ishmem.StateError, "PE 0 holds it", ishmem.clear_lock, locks, 1)
    ishmem.barrier_all()
    if me == 0:
        ishmem.clear_lock(locks, 1)
    with pytest.raises(KeyError), ishmem.lock(locks):
        raise KeyError
    ishmem.barrier_all()
    for routine in (ishmem.set_lock, ishmem.test_lock, ishmem.clear_lock):
        refused(TypeError, "allowed are int64", routine, ishmem.zeros(1, dtype="i4"))
        with pytest.raises(ishmem.SymmetryError):
            routine(dpnp.zeros(1, dtype="i8"))
        refused(IndexError, "elements 0 to 1", routine, locks, 2)


@pytest.mark.ishmem(2)
def test_a_lock_excludes_threads() -> None:
    locks, counts = ishmem.zeros(1, dtype="i8"), ishmem.zeros(1, dtype="i8")

    def work(_number: int) -> None:
        for _ in range(50):
            with ishmem.lock(locks):
                increment(counts, 0)

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(work, range(3)))
    ishmem.barrier_all()
    assert ishmem.g(counts, 0) == 150 * ishmem.n_pes()


# --- in kernels


@dpex.kernel
def count_in_kernel(item: kapi.Item, locks, counts, rounds, out):
    for number in range(rounds):
        index = number % 2
        ishmem.set_lock(locks, index)
        ishmem.p(counts, ishmem.g(counts, 0, index) + 1, 0, index)
        ishmem.clear_lock(locks, index)
    while not ishmem.test_lock(locks, 2):
        pass
    out[0] = ishmem.test_lock(locks, 2)
    ishmem.p(counts, ishmem.g(counts, 0, 2) + 1, 0, 2)
    ishmem.clear_lock(locks, 2)
    ishmem.clear_lock(locks, 2)  # not this PE's: nothing happens


def check_kernel(rounds: int, serving: int, host_too: bool) -> None:
    """Kernels, and the host of PE 0 at the same time."""
    me, n = ishmem.my_pe(), ishmem.n_pes()
    locks, counts, out = ishmem.zeros(3, dtype="i8"), ishmem.zeros(3, dtype="i8"), dpnp.ones(1, dtype="i8")
    start_at(locks, serving)
    if host_too and me == 0:
        for number in range(rounds):
            with ishmem.lock(locks, number % 2):
                increment(counts, number % 2)
    else:
        dpex.call_kernel(count_in_kernel, kapi.Range(1), locks, counts, rounds, out)
        assert int(out[0]) == 0
    ishmem.barrier_all()
    if me == 0:
        same(counts, np.array([rounds // 2 * n, rounds // 2 * n, n - host_too]))
    ticket = serving + rounds // 2 * n & TICKETS
    assert word(locks) & (1 << NEXT) - 1 == ticket << SERVING


@pytest.mark.slow_cases("the same on 2 PEs", f"3pes-{TICKETS - 5}-True")
@pytest.mark.ishmem
@pytest.mark.parametrize(("serving", "host_too"), [(0, False), (0, True), (TICKETS - 5, True)])
def test_a_lock_excludes_kernels(serving: int, host_too: bool) -> None:
    """Also where the numbers of tickets wrap."""
    check_kernel(40 if ishmem.n_pes() < 3 else 12, serving, host_too)
