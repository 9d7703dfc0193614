"""wait_until and test of sets: all, any, some, their vector and work-group forms, on the host and in kernels."""

from __future__ import annotations

import gc
import sys
from typing import Any

import numpy as np
import pytest
from common import COMPARE, dpex, dpnp, edges, kapi, refused, same, symmetric

import ishmem
from ishmem.common import callsite
from ishmem.common.constants import Cmp
from ishmem.common.type_tables import WAIT_TYPES


def masks(count: int) -> list[np.ndarray]:
    """Give masks of variables to ignore: none, all, the first, every second, all but the last."""
    numbers = np.arange(count)
    return [numbers < 0, numbers >= 0, numbers == 0, numbers % 2 == 1, numbers < count - 1]


def check_one(ivars: Any, cmp: Cmp, wanted: Any, held: np.ndarray, mask: Any, form: str) -> None:
    """Compare every host routine with ``held``: whether each element satisfies the comparison."""
    among = np.ones(held.size, bool) if mask is None else np.asarray(mask) == 0
    hits = np.flatnonzero(held & among)
    call = {name: getattr(ishmem, name + form) for name in ("test_all", "test_any", "test_some")}
    assert call["test_all"](ivars, cmp, wanted, mask) is bool(held[among].all())
    assert call["test_any"](ivars, cmp, wanted, mask) in (hits if hits.size else [-1])
    indices = np.full(held.size + 1, -9, "int32")
    assert call["test_some"](ivars, indices, cmp, wanted, mask) == hits.size
    assert sorted(indices[: hits.size]) == hits.tolist()
    assert (indices[hits.size :] == -9).all()
    if held[among].all():
        getattr(ishmem, "wait_until_all" + form)(ivars, cmp, wanted, mask)
    if hits.size or not among.any():
        assert getattr(ishmem, "wait_until_any" + form)(ivars, cmp, wanted, mask) in (hits if hits.size else [-1])
        assert getattr(ishmem, "wait_until_some" + form)(ivars, indices, cmp, wanted, mask) == hits.size


@pytest.mark.parametrize("dtype", WAIT_TYPES)
@pytest.mark.ishmem([1, 3])
def test_each_routine_and_comparison(dtype: str) -> None:
    values = np.array(edges(dtype), dtype)
    ivars, spread = symmetric(values), ishmem.zeros(3 * values.size, dtype=dtype)
    spread[1::3] = dpnp.asarray(values)
    others = np.roll(values, 1)
    others[0] = values[0]
    statuses = [None, *(mask.astype(kind) for mask, kind in zip(masks(values.size), ("?", "i1", "i8", "u2", "u8")))]
    for cmp, compare in COMPARE.items():
        for number, wanted in enumerate(values):
            check_one(ivars, cmp, int(wanted), compare(values, wanted), statuses[number % len(statuses)], "")
        for mask in statuses:
            check_one(ivars, cmp, others, compare(values, others), mask, "_vector")
        check_one(spread[1::3], cmp, int(values[1]), compare(values, values[1]), None, "")
        check_one(spread[1::3], cmp, others, compare(values, others), statuses[4], "_vector")


def check_device_arrays() -> None:
    """Values, masks and indices may be dpnp arrays, on the symmetric heap or not."""
    ivars = symmetric(np.array([5, 6, 7, 8]))
    for make in (dpnp.asarray, symmetric):
        values, status, indices = make(np.array([5, 0, 7, 8])), make(np.array([0, 0, 1, 0])), make(np.full(6, -9))
        assert ishmem.test_some_vector(ivars, indices, ishmem.CMP_EQ, values, status) == 2
        same(indices, np.array([0, 3, -9, -9, -9, -9]))
        assert ishmem.wait_until_any_vector(ivars, ishmem.CMP_NE, values, status) == 1


def check_empty() -> None:
    ivars, indices = ishmem.zeros(5, dtype="int32"), np.zeros(5, "int64")
    for empty, status in ((ivars[2:2], None), (ivars, np.ones(5, "int32")), (ishmem.zeros(0, dtype="int32"), None)):
        for form, wanted in (("", 1), ("_vector", np.ones(empty.size, "int32"))):
            for verb in ("wait_until", "test"):
                call = [getattr(ishmem, f"{verb}_{which}{form}") for which in ("all", "any", "some")]
                assert call[0](empty, ishmem.CMP_EQ, wanted, status) is (None if verb == "wait_until" else True)
                assert call[1](empty, ishmem.CMP_EQ, wanted, status) == -1
                assert call[2](empty, indices, ishmem.CMP_EQ, wanted, status) == 0


def check_fair() -> None:
    """Every variable that satisfies the condition is found eventually, whatever the pattern of calls."""
    ivars, status = ishmem.ones(8, dtype="int64"), np.array([0, 0, 1, 0, 0, 0, 1, 0])
    found = {name: set() for name in ("test_any", "wait_until_any")}
    for _ in range(300):
        ishmem.wait_until_any(ivars[:1], ishmem.CMP_EQ, 1)
        for name, seen in found.items():
            seen.add(getattr(ishmem, name)(ivars, ishmem.CMP_EQ, 1, status))
    assert list(found.values()) == [{0, 1, 3, 4, 5, 7}] * 2


def check_few() -> None:
    check_device_arrays()
    check_empty()
    check_fair()


@pytest.mark.ishmem([1, 2])
def test_sets_of_few_variables() -> None:
    check_few()


@pytest.mark.ishmem
def test_hosts_gather_flags_and_data() -> None:
    """Every PE sends data and a flag to every other; each routine collects all flags, and finds the data complete."""
    rounds = 300
    me, n = ishmem.my_pe(), ishmem.n_pes()
    flags, data = ishmem.zeros(n, dtype="uint32"), ishmem.zeros(n, dtype="int64")
    indices = np.zeros(n, "int64")
    for r in range(1, rounds + 1):
        for pe in range(n):
            ishmem.p(data, r, (me + pe) % n, me)
            ishmem.fence()
            ishmem.p(flags, r, (me + pe) % n, me)
        status = np.zeros(n, "int32")
        while not status.all():
            if r % 3 == 0:
                ishmem.wait_until_all_vector(flags, ishmem.CMP_GE, np.full(n, r, "uint32"), timeout=120)
                status[:] = 1
            elif r % 3 == 1:
                status[ishmem.wait_until_any(flags, ishmem.CMP_EQ, r, status, timeout=120)] = 1
            else:
                count = ishmem.wait_until_some(flags, indices, ishmem.CMP_EQ, r, status, timeout=120)
                status[indices[:count]] = 1
            for pe in np.flatnonzero(status):
                assert ishmem.g(data, me, int(pe)) == r
        ishmem.barrier_all()


@pytest.mark.ishmem([1, 2])
def test_wrong_arguments_are_refused() -> None:
    me = ishmem.my_pe()
    a, eq, host = ishmem.zeros(4, dtype="int32"), ishmem.CMP_EQ, np.zeros(4, "int32")
    wrong: list[tuple[Any, type[Exception], str]] = [
        (lambda: ishmem.test_all(ishmem.zeros(4, dtype="f4"), eq, 1), TypeError, "float32; allowed are int32"),
        (lambda: ishmem.test_any(dpnp.zeros(4, dtype="i4"), eq, 1), ishmem.SymmetryError, "ivars"),
        (lambda: ishmem.test_any(host, eq, 1), ishmem.SymmetryError, "ivars"),
        (lambda: ishmem.test_any([1], eq, 1), TypeError, "ivars is a dpnp or numpy array"),
        (lambda: ishmem.test_any(a.reshape(2, 2), eq, 1), ValueError, "2 dimensions"),
        (lambda: ishmem.test_any(a[::-1], eq, 1), ValueError, "stride -1"),
        (lambda: ishmem.test_all(a, 7, 1), ValueError, "cmp is 7; allowed are CMP_EQ"),
        (lambda: ishmem.test_all(a, eq, 2**31), ValueError, "does not fit"),
        (lambda: ishmem.test_all(a, eq, 1.5), TypeError, "1.5"),
        (lambda: ishmem.test_all(a, eq, 1, np.zeros(3, "i4")), ValueError, "4 elements and status has 3"),
        (lambda: ishmem.test_all(a, eq, 1, np.zeros(5, bool)), ValueError, "4 elements and status has 5"),
        (lambda: ishmem.test_all(a, 1.0, 1), ValueError, "cmp is 1.0; allowed are CMP_EQ"),
        (lambda: ishmem.test_all(a, eq, 1, np.zeros(4)), TypeError, "status has dtype float64"),
        (lambda: ishmem.test_all_vector(a, eq, host.astype("i8")), TypeError, "cmp_values has dtype int64"),
        (lambda: ishmem.test_all_vector(a, eq, host[:1]), ValueError, "cmp_values has 1"),
        (lambda: ishmem.test_all_vector(a, eq, 1), TypeError, "cmp_values is a dpnp or numpy array"),
        (lambda: ishmem.test_some(a, host[:3], eq, 1), ValueError, "indices has 3"),
        (lambda: ishmem.test_some(a, host.reshape(2, 2), eq, 1), ValueError, "indices has 2 dimensions"),
        (lambda: ishmem.test_some(a, None, eq, 1), TypeError, "indices is a dpnp or numpy array"),
    ]
    for call, kind, words in wrong:
        refused(kind, words, call)
    a[2] = 7
    begin = f"on PE {me}: after 0.02 s "
    status, wanted = np.array([1, 0, 0, 0]), np.array([0, 0, 7, 3], "int32")
    for call, words in (
        (lambda: ishmem.wait_until_all(a, eq, 0, timeout=0.02), begin + "element 2 is 7, wanted == 0"),
        (lambda: ishmem.wait_until_any(a, eq, 5, status, 0.02), begin + "no .* element 1 is 0, wanted == 5"),
        (lambda: ishmem.wait_until_some(a, host, eq, 5, timeout=0.02), "wait_until_some " + begin),
        (lambda: ishmem.wait_until_all_vector(a, eq, wanted, timeout=0.02), begin + "element 3 is 0, wanted == 3"),
    ):
        refused(ishmem.WaitTimeout, words, call)


# --- in kernels


@dpex.kernel
def look_at_all(item: kapi.Item, ivars, wanted, values, status, indices, result, sums):  # type: ignore
    """Store the results of every routine, with and without a mask, for every comparison."""
    for cmp in range(ishmem.CMP_EQ, ishmem.CMP_LE + 1):
        out = result[cmp - 1]
        out[0] = ishmem.test_all(ivars, cmp, wanted[0])
        out[1] = ishmem.test_any(ivars, cmp, wanted[0])
        out[2] = ishmem.test_some(ivars, indices, cmp, wanted[0])
        out[3] = ishmem.test_all(ivars, cmp, wanted[0], status)
        out[4] = ishmem.test_any(ivars, cmp, wanted[0], status=status)
        out[5] = ishmem.test_some_vector(ivars, indices, cmp, cmp_values=values)
        for k in range(out[5]):
            sums[cmp - 1] += 1 << indices[k]
        out[6] = ishmem.test_all_vector(ivars, cmp, values, status)
        out[7] = ishmem.test_any_vector(ivars, cmp, values, status)
        if out[3]:
            ishmem.wait_until_all(ivars, cmp, wanted[0], status)
            out[8] = 1
        if out[6]:
            ishmem.wait_until_all_vector(ivars, cmp, values, status)
            out[9] = 1
        out[10], out[11] = -2, -2
        if out[4] >= 0:
            out[10] = ishmem.wait_until_any(ivars, cmp, wanted[0], status)
            ishmem.wait_until_some(ivars, indices, cmp, wanted[0], status)
        if out[7] >= 0:
            out[11] = ishmem.wait_until_any_vector(ivars, cmp, values, status)
            ishmem.wait_until_some_vector(ivars, indices, cmp, values, status)


@pytest.mark.slow_types
@pytest.mark.parametrize("dtype", WAIT_TYPES)
@pytest.mark.ishmem(2)
def test_each_routine_and_comparison_in_kernels(dtype: str) -> None:
    values = np.array(edges(dtype), dtype)
    others = np.roll(values, 1)
    others[0] = values[0]
    spread = ishmem.zeros(2 * values.size, dtype=dtype)
    spread[::2] = dpnp.asarray(values)
    for wanted, mask in zip(values, masks(values.size)):
        result, sums = dpnp.zeros((6, 12), dtype="int64"), dpnp.zeros(6, dtype="int64")
        given = [dpnp.asarray(array) for array in (np.array([wanted]), others, mask.astype("int32"))]
        indices = dpnp.zeros(values.size, dtype="int64")
        dpex.call_kernel(look_at_all, kapi.Range(1), spread[::2], *given, indices, result, sums)
        for out, total, compare in zip(result.asnumpy(), sums.asnumpy(), COMPARE.values()):
            one, each = compare(values, wanted), compare(values, others)
            assert out[0] == one.all()
            assert out[1] in (np.flatnonzero(one) if one.any() else [-1])
            assert out[2] == one.sum()
            assert out[5] == each.sum()
            assert total == sum(1 << int(k) for k in np.flatnonzero(each))
            for held, columns in ((one, (3, 4, 8, 10)), (each, (6, 7, 9, 11))):
                hits = np.flatnonzero(held & ~mask)
                assert out[columns[0]] == out[columns[2]] == held[~mask].all()
                assert out[columns[1]] in (hits if hits.size else [-1])
                assert out[columns[3]] in (hits if hits.size else [-2])


@dpex.kernel
def gather_in_kernel(item: kapi.NdItem, flags, data, rounds, status, indices, tally, results):  # type: ignore
    """As ``gather``, by a group; every work-item adds to ``results`` what its calls return."""
    me, n, group, mine = ishmem.my_pe(), ishmem.n_pes(), item.get_group(), item.get_local_linear_id()
    for r in range(1, rounds + 1):
        if mine == 0:
            for pe in range(n):
                status[pe] = 0
                ishmem.p(data, r, (me + pe) % n, me)
                ishmem.fence()
                ishmem.atomic_set(flags, r, (me + pe) % n, me)
        kapi.group_barrier(group)
        left = n
        while left > 0:
            if r % 2:
                found = ishmem.wait_until_any_work_group(flags, ishmem.CMP_EQ, r, group, status)
                count = 1
                if mine == 0:
                    indices[0] = found
            else:
                count = ishmem.wait_until_some_work_group(flags, indices, ishmem.CMP_EQ, r, group, status)
            kapi.group_barrier(group)
            for k in range(count):
                results[mine] += r * (indices[k] + 1)
                if data[indices[k]] != r:
                    tally[0] += 1
            kapi.group_barrier(group)
            if mine == 0:
                for k in range(count):
                    status[indices[k]] = 1
            left -= count
            kapi.group_barrier(group)
        ishmem.wait_until_all_work_group(flags, ishmem.CMP_EQ, r, group)
        if ishmem.test_any_work_group(flags, ishmem.CMP_EQ, r, group, status) != -1:
            tally[1] += 1
        if not ishmem.test_all_work_group(flags, ishmem.CMP_EQ, r, group):
            tally[2] += 1
        if not ishmem.test_work_group(flags, ishmem.CMP_EQ, r, group, n - 1):
            tally[3] += 1
        ishmem.wait_until_work_group(flags, ishmem.CMP_GE, r, group)
        ishmem.barrier_all_work_group(group)


def check_kernel_gather(rounds: int, *groups: tuple[int, ...]) -> None:
    n = ishmem.n_pes()
    for group in groups:
        size = int(np.prod(group))
        flags, data = ishmem.zeros(n, dtype="uint64"), ishmem.zeros(n, dtype="int32")
        status, indices = dpnp.zeros(n, dtype="int32"), dpnp.zeros(n, dtype="int64")
        tally, results = dpnp.zeros(4, dtype="int64"), dpnp.zeros(size, dtype="int64")
        span = kapi.NdRange(group, group)
        dpex.call_kernel(gather_in_kernel, span, flags, data, rounds, status, indices, tally, results)
        ishmem.barrier_all()
        same(tally, np.zeros(4, "int64"))
        same(results, np.full(size, rounds * (rounds + 1) // 2 * (n * (n + 1) // 2)))


@pytest.mark.ishmem([1, 2, 3, 4])
def test_groups_gather_flags_and_data() -> None:
    if ishmem.n_pes() == 2:
        check_kernel_gather(8, (1,), (40,), (3, 7), (2, 3, 4))
    else:
        check_kernel_gather(4, (5,))


@dpex.kernel
def vectors_and_fairness(item: kapi.NdItem, ivars, values, status, indices, result, found):  # type: ignore
    group, mine = item.get_group(), item.get_local_linear_id()
    result[mine, 0] = ishmem.test_all_vector_work_group(ivars, ishmem.CMP_GE, values, group)
    result[mine, 1] = ishmem.test_any_vector_work_group(ivars, ishmem.CMP_GT, values, group, status)
    result[mine, 2] = ishmem.test_some_vector_work_group(ivars, indices, ishmem.CMP_GE, values, group, status=status)
    result[mine, 3] = ishmem.test_some_work_group(ivars, indices, ishmem.CMP_GT, 100, group)
    ishmem.wait_until_all_vector_work_group(ivars, ishmem.CMP_GE, values, group)
    result[mine, 4] = ishmem.wait_until_any_vector_work_group(ivars[:0], ishmem.CMP_EQ, values, group)
    result[mine, 5] = ishmem.wait_until_some_vector_work_group(ivars, indices, ishmem.CMP_GT, values, group)
    for _ in range(300):
        found[mine, ishmem.wait_until_any_work_group(ivars, ishmem.CMP_GE, 1, group, status)] += 1
        ishmem.test_any_work_group(ivars, ishmem.CMP_GE, 1, group)


@pytest.mark.ishmem(1)
def test_groups_wait_for_vectors_and_each_variable_in_turn() -> None:
    ivars, values = symmetric(np.arange(1, 9)), dpnp.asarray(np.array([1, 2, 3, 4, 5, 6, 7, 0]))
    status, indices = dpnp.asarray(np.array([0, 1, 0, 0, 0, 0, 1, 0], "int8")), dpnp.zeros(8, dtype="int32")
    result, found = dpnp.full((6, 6), -5), dpnp.zeros((6, 8), dtype="int64")
    span = kapi.NdRange((3, 2), (3, 2))
    dpex.call_kernel(vectors_and_fairness, span, ivars, values, status, indices, result, found)
    same(result, np.array([[1, 7, 6, 0, -1, 1]] * 6))
    counts = found.asnumpy()
    assert (counts == counts[0]).all()
    assert counts[0].sum() == 300
    assert ((counts[0] > 0) == (status.asnumpy() == 0)).all(), counts[0]


@pytest.mark.ishmem([1])
def test_core_only() -> None:
    """Calls with arguments that the core supports run no function of ishmem in Python."""
    a, at, eq = ishmem.zeros(4, dtype="i8"), np.zeros(4, "i8"), ishmem.CMP_EQ
    calls = (
        lambda: ishmem.wait_until(a, eq, 0, timeout=9.0), lambda: ishmem.signal_wait_until(a, eq, 0),
        lambda: ishmem.signal_fetch(a), lambda: ishmem.wait_until_all(a, eq, 0), lambda: ishmem.test_any(a, eq, 0),
        lambda: ishmem.wait_until_some_vector(a, at, eq, np.zeros(4, "i8"), np.zeros(4, bool)), ishmem.sync_all,
        lambda: ishmem.broadcast(a, a, 0), lambda: ishmem.fcollect(a, a), lambda: ishmem.sum_reduce(a, a, dtype=None),
        lambda: ishmem.sum_inscan(a, a),
    )  # fmt: skip
    ishmem.quiet()
    files: list[str] = []
    gc.collect()
    gc.disable()  # finalisers of earlier tests may be functions of ishmem
    sys.setprofile(lambda frame, event, _: files.append(frame.f_code.co_filename) if event == "call" else None)
    try:
        for call in calls:
            call()
    finally:
        sys.setprofile(None)
        gc.enable()
    assert not any(map(callsite.is_own, files)), files
