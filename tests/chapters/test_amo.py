"""Atomic operations, on the host and in kernels, alone and under contention."""

from __future__ import annotations

import os
from typing import Any, Callable

import numpy as np
import pytest
from common import dpex, dpnp, edges, kapi, one_line, pattern, same, symmetric

import ishmem
from ishmem.common.type_tables import ATOMICS, BITWISE, EXTENDED, RMA_TYPES, STANDARD, Atomic, Rmw
from ishmem.testing import Pes

FLOATS = tuple(sorted(set(EXTENDED) - set(STANDARD)))
CELLS = 5
"""Elements around and including the one that an operation is for."""


def model(atomic: Atomic, dtype: str, old: Any, *operands: Any) -> Any:
    """Return what an operation leaves in memory, by numpy, whose integers wrap around as well."""
    old, *given = (np.array([value], dtype) for value in (old, *operands))
    one = np.ones(1, dtype)
    new = {
        Rmw.FETCH: lambda: old,
        Rmw.SWAP: lambda: given[0],
        Rmw.COMPARE_SWAP: lambda: given[1] if old[0] == given[0][0] else old,
        Rmw.ADD: lambda: old + (given[0] if given else one),
        Rmw.AND: lambda: old & given[0],
        Rmw.OR: lambda: old | given[0],
        Rmw.XOR: lambda: old ^ given[0],
        Rmw.MIN: lambda: np.minimum(old, given[0]),
        Rmw.MAX: lambda: np.maximum(old, given[0]),
    }[atomic.rmw]
    with np.errstate(all="ignore"):
        return new()[0].item()


def equal(seen: Any, wanted: Any) -> bool:
    return seen == wanted or (seen != seen and wanted != wanted)  # NaN, as the sum of infinities


def values_of(dtype: str) -> list[Any]:
    if np.dtype(dtype).kind == "f":
        limits = np.finfo(dtype)
        return [0.0, -0.0, 1.5, float(limits.min), float(limits.max), float(limits.tiny), np.inf, -np.inf]
    return [*edges(dtype), *pattern(dtype, 2, 1).tolist()]


def operands_of(atomic: Atomic, dtype: str, old: Any) -> list[tuple[Any, ...]]:
    values = values_of(dtype)
    if atomic.rmw is Rmw.COMPARE_SWAP:
        return [(cond, value) for cond in (old, values[0], values[-1]) for value in (values[1], values[-2])]
    return [(value,) for value in values] if atomic.operands else [()]


@pytest.mark.ishmem
@pytest.mark.parametrize("dtype", EXTENDED)
def test_host_atomics_at_the_limits_of_a_type(dtype: str) -> None:
    """Each routine of the dtype, with values and operands at the limits, on every PE; neighbours are unchanged."""
    me = ishmem.my_pe()
    guard = pattern(dtype, ishmem.n_pes() * CELLS, 99)
    dest, fetch = symmetric(guard), symmetric(pattern(dtype, 3, 98))
    place = me * CELLS + 2
    for atomic in [atomic for atomic in ATOMICS.values() if dtype in atomic.types]:
        for pe in range(ishmem.n_pes()):
            for old in values_of(dtype)[::2]:
                for operands in operands_of(atomic, dtype, old):
                    host_case(atomic, dest, fetch, pe, place, old, operands)
    for pe in range(ishmem.n_pes()):
        ishmem.p(dest, guard[place], pe, place)
    ishmem.barrier_all()
    same(dest, guard)
    same(fetch[1:], pattern(dtype, 3, 98)[1:])


def host_case(atomic: Atomic, dest: Any, fetch: Any, pe: int, place: int, old: Any, operands: tuple[Any, ...]) -> None:
    wanted = model(atomic, str(dest.dtype), old, *operands)
    ishmem.p(dest, old, pe, place)
    ishmem.quiet()
    result = getattr(ishmem, atomic.name)(dest, *operands, pe, place)
    assert result == (old if atomic.fetches else None), (atomic, old, operands)
    ishmem.quiet()
    assert equal(ishmem.g(dest, pe, place), wanted), (atomic, old, operands)
    if atomic.fetches:
        ishmem.p(dest, old, pe, place)
        ishmem.quiet()
        getattr(ishmem, f"{atomic.name}_nbi")(fetch, dest, *operands, pe, place)
        ishmem.quiet()
        assert ishmem.g(fetch, ishmem.my_pe()) == old
        assert equal(ishmem.g(dest, pe, place), wanted), (atomic, old, operands)


@pytest.mark.ishmem
def test_values_are_fetched_into_any_array() -> None:
    """The fetched value goes to numpy and dpnp arrays, of any shape; index counts in C order."""
    me, pe = ishmem.my_pe(), ishmem.n_pes() - 1
    dest = symmetric(np.arange(24, dtype="int64").reshape(4, 6))
    ishmem.barrier_all()
    for fetch in (np.full(2, -1), dpnp.full((2, 2), -1), np.full((), -1), ishmem.full(3, -1, dtype="int64")):
        ishmem.atomic_fetch_nbi(fetch, dest, pe, 6 + me)
        ishmem.quiet()
        seen = np.ravel(fetch if isinstance(fetch, np.ndarray) else fetch.asnumpy()).tolist()
        assert seen == [6 + me] + [-1] * (len(seen) - 1)
    assert ishmem.atomic_fetch(dest[2], pe, 3) == 15


# --- in kernels: every routine once per row of a table of old values and operands, each in a cell of its own


def columns(dtype: str) -> list[tuple[Atomic, bool]]:
    """Give the routines of a dtype, and whether it is the form ``_nbi``."""
    atomics = [atomic for atomic in ATOMICS.values() if dtype in atomic.types]
    return [(a, False) for a in atomics] + [(a, True) for a in atomics if a.fetches]


def every_routine(dtype: str) -> Any:
    """Return the kernel that calls each routine of a dtype."""
    calls = []
    for k, (atomic, is_nbi) in enumerate(columns(dtype)):
        arguments = ", ".join(["dest", *(f"{name}[row]" for name in atomic.operands), "pe", f"first + {k}"])
        if is_nbi:
            calls.append(f"ishmem.{atomic.name}_nbi(fetch[first + {k} :], {arguments})")
        else:
            calls.append((f"old[first + {k}] = " if atomic.fetches else "") + f"ishmem.{atomic.name}({arguments})")
    start = f"row = item.get_id(0); first = row * {len(calls)}"
    text, names = "; ".join([start, *calls, "ishmem.quiet()"]), ("dest", "old", "fetch", "cond", "value", "pe")
    return dpex.kernel(one_line(text, *names, called=f"atomics_of_{dtype}"))


KERNELS = {True: every_routine("float32"), False: every_routine("int32")}
"""For floats, and for integers."""


@pytest.mark.slow_types
@pytest.mark.one_type("uint32")
@pytest.mark.parametrize("dtype", EXTENDED)
@pytest.mark.ishmem([1, 2, 3, 4])
def test_kernel_atomics_at_the_limits_of_a_type(dtype: str) -> None:
    me, n = ishmem.my_pe(), ishmem.n_pes()
    routines = columns(dtype)
    values = values_of(dtype)
    rows = [(old, cond, value) for old in values for cond in (old, values[0]) for value in values]
    before = np.repeat(np.array([old for old, _, _ in rows], dtype), len(routines))
    dest = symmetric(before)
    cond, value = (dpnp.asarray(np.array(column, dtype)) for column in list(zip(*rows))[1:])
    untouched = pattern(dtype, before.size, 99)
    old, fetch = dpnp.asarray(untouched), dpnp.asarray(untouched)
    dpex.call_kernel(KERNELS[dtype in FLOATS], kapi.Range(len(rows)), dest, old, fetch, cond, value, (me + 1) % n)
    ishmem.barrier_all()
    after = [model(a, dtype, row[0], *row[3 - len(a.operands) :]) for row in rows for a, _ in routines]
    same(dest, np.array(after, dtype))
    for seen, is_nbi in ((old, False), (fetch, True)):
        written = np.tile([a.fetches and nbi == is_nbi for a, nbi in routines], len(rows))
        same(seen, np.where(written, before, untouched))


# --- NaN wins, as in reductions

NAN_PAIRS = [(np.nan, 1.0), (1.0, np.nan), (np.nan, np.nan)]


def find_extrema(item, dest, value, pe):  # type: ignore
    for row in range(value.size):
        ishmem.atomic_min(dest, value[row], pe, 2 * row)
        ishmem.atomic_fetch_max(dest, value[row], pe, 2 * row + 1)


extrema_in_kernel = dpex.kernel(find_extrema)


@pytest.mark.parametrize("where", ["host", "kernel"])
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.ishmem(2)
def test_extrema_with_nan_are_nan(dtype: str, where: str) -> None:
    pe = (ishmem.my_pe() + 1) % ishmem.n_pes()
    old, given = (np.array(column, dtype) for column in zip(*NAN_PAIRS))
    dest = symmetric(np.repeat(old, 2))
    if where == "kernel":
        dpex.call_kernel(extrema_in_kernel, kapi.Range(1), dest, dpnp.asarray(given), pe)
    else:
        find_extrema(None, dest, given, pe)
    ishmem.barrier_all()
    same(dest, np.full(2 * len(given), np.nan, dtype))


# --- contention: everyone works on the same few elements at once

ROUNDS = 200
ITEMS = 64


def count_all(item, counters, bits, limits, tickets, repeat):  # type: ignore
    """Count on every PE; note what ``fetch_inc`` saw on PE 0. Hosts and kernels run it."""
    k, me = item.get_id(0), ishmem.my_pe()
    shift = 3 * me
    for r in range(repeat):
        for pe in range(ishmem.n_pes()):
            ishmem.atomic_inc(counters, pe, 0)
            ishmem.atomic_add(counters, me + 1, pe, 1)
            ishmem.atomic_fetch_add(counters, -(me + 1), pe, 2)
            ticket = ishmem.atomic_fetch_inc(counters, pe, 3)
            ishmem.atomic_xor(bits, 1 << shift, pe, 0)
            ishmem.atomic_or(bits, 2 << shift, pe, 1)
            ishmem.atomic_and(bits, ~(4 << shift), pe, 2)
            ishmem.atomic_min(limits, -ticket, pe, 0)
            ishmem.atomic_max(limits, ticket, pe, 1)
            if pe == 0:
                tickets[k * repeat + r] = ticket


kernel_storm = dpex.kernel(count_all)


class First:
    """The item of a function that the host runs."""

    def get_id(self, _axis: int) -> int:
        return 0


def storm(host: bool, kernel: bool, repeat: int) -> tuple[int, list[int]]:
    """Let this PE's host, its kernels or both count on every PE; check this PE's totals."""
    n, share = ishmem.n_pes(), repeat // ITEMS + 1
    counters = ishmem.zeros(4, dtype="int64")
    bits, limits = symmetric(np.array([0, 0, -1], "int64")), ishmem.zeros(2, dtype="float64")
    tickets = dpnp.zeros(ITEMS * share, dtype="int64")
    times = (repeat if host else 0) + (ITEMS * share if kernel else 0)
    mine = ishmem.zeros(n, dtype="int64")
    if kernel:  # compile before the others start
        dpex.call_kernel(kernel_storm, kapi.Range(1), counters, bits, limits, tickets, 0)
    for pe in range(n):
        ishmem.p(mine, times, pe, ishmem.my_pe())
    ishmem.barrier_all()
    event = dpex.call_kernel_async if kernel else None
    pending = event(kernel_storm, kapi.Range(ITEMS), (), counters, bits, limits, tickets, share) if event else ()
    seen = np.zeros(repeat if host else 0, "int64")
    count_all(First(), counters, bits, limits, seen, seen.size)
    for one in pending:
        one.wait()
    ishmem.barrier_all()
    check_totals(counters.asnumpy(), bits.asnumpy(), mine.asnumpy())
    last = float(mine.asnumpy().sum() - 1)
    same(limits, np.array([-last, last]))
    return int(mine.asnumpy().sum()), seen.tolist() + (tickets.asnumpy().tolist() if kernel else [])


def check_totals(counters: np.ndarray, bits: np.ndarray, times: np.ndarray) -> None:
    weighted = int(sum(count * (pe + 1) for pe, count in enumerate(times)))
    same(counters, np.array([times.sum(), weighted, -weighted, times.sum()]))
    flips = sum(int(count) % 2 << 3 * pe for pe, count in enumerate(times))
    ors = sum(2 << 3 * pe for pe, count in enumerate(times) if count)
    ands = ~sum(4 << 3 * pe for pe, count in enumerate(times) if count)
    same(bits, np.array([flips, ors, ands]))


def everyone(hosts: int = 3, kernels: int = 3, repeat: int = ROUNDS) -> tuple[int, list[int]]:
    """Let hosts and kernels count: a mask says whether those of even PEs and of odd ones do."""
    mine = 1 << ishmem.my_pe() % 2
    return storm(bool(hosts & mine), bool(kernels & mine), repeat)


WHO = {"all_hosts": (3, 0), "all_kernels": (0, 3), "hosts_against_kernels": (1, 2), "everyone": (3, 3)}


@pytest.mark.parametrize("who", WHO)
def test_no_update_is_lost_under_contention(pes: Pes, who: str) -> None:
    check_tickets(pes.run(everyone, *WHO[who]))


def check_tickets(results: list[tuple[int, list[int]]]) -> None:
    """All ``fetch_inc`` of one element together return every number once."""
    tickets = [ticket for _, seen in results for ticket in seen]
    assert sorted(tickets) == list(range(results[0][0]))


def count_with_lock(item, lock, counter, repeat, home):  # type: ignore
    """compare_swap and swap as a lock around ordinary reads and writes of a counter."""
    me = ishmem.my_pe()
    for _ in range(repeat):
        while ishmem.atomic_compare_swap(lock, 0, me + 1, home) != 0:
            pass
        for k in range(2):
            ishmem.p(counter, ishmem.g(counter, home, k) + k + 1, home, k)
        ishmem.quiet()
        if ishmem.atomic_swap(lock, 0, home) != me + 1:
            ishmem.p(counter, -1, home, 2)


lock_in_kernel = dpex.kernel(count_with_lock)


@pytest.mark.ishmem
@pytest.mark.parametrize("where", ["host", "kernel"])
def test_a_lock_made_of_atomics_excludes(where: str) -> None:
    n, repeat = ishmem.n_pes(), 100 if where == "host" else 500
    lock, counter = ishmem.zeros(1, dtype="uint32"), ishmem.zeros(3, dtype="int64")
    if where == "kernel":  # compile before the others start
        dpex.call_kernel(lock_in_kernel, kapi.Range(1), lock, counter, 0, n - 1)
    ishmem.barrier_all()
    if where == "kernel":
        dpex.call_kernel(lock_in_kernel, kapi.Range(1), lock, counter, repeat, n - 1)
    else:
        count_with_lock(None, lock, counter, repeat, n - 1)
    ishmem.barrier_all()
    same(counter, np.array([1, 2, 0]) * (repeat * n if ishmem.my_pe() == n - 1 else 0))


# --- host atomics done by kernels


def check_route(by_kernel: bool) -> None:
    from ishmem.runtime import host_atomics

    cell = ishmem.zeros(1, dtype="int32")
    before = host_atomics._kernel.cache_info()
    assert ishmem.atomic_fetch_add(cell, 5, ishmem.my_pe()) == 0
    after = host_atomics._kernel.cache_info()
    assert (after.hits + after.misses > before.hits + before.misses) == by_kernel
    same(cell, np.array([5], "int32"))


def check_every_routine(dtype: str) -> None:
    """Each routine with one set of operands, because each compiles a kernel."""
    dest, fetch = ishmem.zeros(CELLS, dtype=dtype), ishmem.zeros(1, dtype=dtype)
    ishmem.barrier_all()
    if ishmem.my_pe() == 0:
        for atomic in [atomic for atomic in ATOMICS.values() if dtype in atomic.types]:
            old = values_of(dtype)[-1]
            for operands in operands_of(atomic, dtype, old)[-2:]:
                host_case(atomic, dest, fetch, 1, 2, old, operands)
    ishmem.barrier_all()


@pytest.mark.skipif(os.environ.get("ISHMEM_DEVICE") == "gpu", reason="settings of the simulator")
@pytest.mark.parametrize("env", [{"ISHMEM_HOST_ATOMICS": "kernel"}, {"ISHMEM_SIM_HOST_ATOMICS": "0"}], ids=str)
def test_kernels_do_host_atomics(pool_with, env: dict[str, str]) -> None:
    pool_with(2, env).run(check_route, True)
    check_tickets(pool_with(2, env).run(everyone, 3, 3, 6))


@pytest.mark.slow_types
@pytest.mark.parametrize("dtype", ["uint64", "float32"])
def test_kernels_do_every_host_atomic(pool_with, dtype: str) -> None:
    pool_with(2, {"ISHMEM_HOST_ATOMICS": "kernel"}).run(check_every_routine, dtype)


@pytest.mark.ishmem(2)
def test_the_route_follows_the_device() -> None:
    """By a kernel only where host and kernels are not atomic to each other, and the kernels leave nothing to hosts."""
    from ishmem.runtime import job, kernel_routes

    heap = job.current().heap
    check_route(not (kernel_routes.shares_atomics(heap.device) or heap.atomics_by_host[ishmem.my_pe()]))


def test_hosts_do_all_atomics_under_a_lock(pool_with) -> None:
    """Where hosts do all atomics under a lock, kernels send them no requests. The settings are for the simulator."""
    pool = pool_with(2, {"ISHMEM_SIM_HOST_ATOMICS": "0", "ISHMEM_SIM_PEERS": "access"})
    pool.run(test_the_route_follows_the_device)
    check_tickets(pool.run(everyone, 3, 3, 6))


# --- what is refused


def refused(call: Callable[[], Any], kind: type[BaseException], *words: str) -> None:
    with pytest.raises(kind) as caught:
        call()
    for word in words:
        assert word in str(caught.value), (word, str(caught.value))


def check_types() -> None:
    """Every routine refuses each dtype that is not in its table, and names the allowed ones."""
    for name, atomic in ATOMICS.items():
        allowed = ", ".join(atomic.types)
        for dtype in sorted(set(RMA_TYPES) - set(atomic.types)):
            cell = ishmem.zeros(2, dtype=dtype)
            operands = [cell[0:1].asnumpy()[0]] * len(atomic.operands)
            routine, words = getattr(ishmem, name), (name, dtype, f"allowed are {allowed}")
            refused(lambda: routine(cell, *operands, 0), TypeError, *words)  # noqa: B023
            if atomic.fetches:
                nbi = getattr(ishmem, f"{name}_nbi")
                refused(lambda: nbi(cell, cell, *operands, 0), TypeError, *words)  # noqa: B023
            same(cell, np.zeros(2, dtype))


def check_values() -> None:
    cell, n = ishmem.zeros(3, dtype="int32"), ishmem.n_pes()
    small, host = ishmem.zeros(3, dtype="uint64"), np.zeros(3, "int32")
    refused(lambda: ishmem.atomic_add(cell, 1.5, 0), TypeError, "value", "1.5", "int32")
    refused(lambda: ishmem.atomic_add(cell, None, 0), TypeError, "value", "None")
    refused(lambda: ishmem.atomic_add(cell, 2**31, 0), ValueError, str(2**31), "int32")
    refused(lambda: ishmem.atomic_set(cell, 2**80, 0), ValueError, str(2**80), "int32")
    refused(lambda: ishmem.atomic_set(small, -1, 0), ValueError, "-1", "uint64")
    refused(lambda: ishmem.atomic_compare_swap(cell, "x", 1, 0), TypeError, "'x'")
    refused(lambda: ishmem.atomic_inc(cell, n), IndexError, f"pe is {n}", f"0 to {n - 1}")
    refused(lambda: ishmem.atomic_inc(cell, -1), IndexError, "pe is -1")
    refused(lambda: ishmem.atomic_inc(cell, "0"), TypeError, "pe", "str")
    refused(lambda: ishmem.atomic_inc(cell, 0, 3), IndexError, "index is 3", "0 to 2")
    refused(lambda: ishmem.atomic_inc(cell, 0, -1), IndexError, "index is -1")
    refused(lambda: ishmem.atomic_inc(cell[::2], 0), ValueError, "not contiguous")
    refused(lambda: ishmem.atomic_inc(host, 0), ishmem.SymmetryError, "dest", "symmetric heap")
    refused(lambda: ishmem.atomic_fetch(host, 0), ishmem.SymmetryError, "source", "symmetric heap")
    refused(lambda: ishmem.atomic_inc([1], 0), TypeError, "list")
    frozen = np.zeros(1, "int32")
    frozen.flags.writeable = False
    none = np.zeros(0, "int32")
    for fetch, kind in ((np.zeros(1), TypeError), (frozen, ValueError), (None, TypeError), (none, ValueError)):
        refused(lambda: ishmem.atomic_fetch_inc_nbi(fetch, cell, ishmem.my_pe()), kind, "fetch")  # noqa: B023
    same(cell, np.zeros(3, "int32"))


@pytest.mark.ishmem(2)
def test_wrong_types_and_values_are_refused() -> None:
    check_types()
    check_values()


def test_types_are_those_of_intel_shmem() -> None:
    """The tables of Intel SHMEM, with additions and extrema of floats."""
    assert {name: a.types for name, a in ATOMICS.items() if a.types != STANDARD} == dict.fromkeys(
        ("atomic_fetch", "atomic_set", "atomic_swap", "atomic_add", "atomic_fetch_add",
         "atomic_min", "atomic_fetch_min", "atomic_max", "atomic_fetch_max"), EXTENDED
    )  # fmt: skip
    assert set(BITWISE) == {"int32", "int64", "uint32", "uint64"}
    assert set(FLOATS) == {"float32", "float64"}
