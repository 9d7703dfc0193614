"""wait_until and test, on the host and in kernels."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pytest
from common import COMPARE, dpex, dpnp, edges, kapi, refused, same, symmetric
from subprocesses import program, run_program

import ishmem
from ishmem.common.constants import Cmp
from ishmem.common.type_tables import WAIT_TYPES


def truth(dtype: str) -> np.ndarray:
    """Give, for each comparison, value seen and value wanted, whether it holds."""
    values = edges(dtype)
    table = [[[compare(seen, wanted) for wanted in values] for seen in values] for compare in COMPARE.values()]
    return np.array(table)


@pytest.mark.parametrize("dtype", WAIT_TYPES)
@pytest.mark.ishmem([1, 3])
def test_each_comparison_at_the_limits_of_a_type(dtype: str) -> None:
    values = edges(dtype)
    cells = symmetric(np.array(values, dtype))
    expected = truth(dtype)
    for cmp, (i, seen), (j, wanted) in itertools.product(Cmp, enumerate(values), enumerate(values)):
        holds = expected[cmp - 1, i, j]
        assert ishmem.test(cells, cmp, wanted, i) is bool(holds), (cmp, seen, wanted)
        if holds:
            ishmem.wait_until(cells, int(cmp), wanted, i)
        elif abs(i - j) <= 1:
            with pytest.raises(ishmem.WaitTimeout):
                ishmem.wait_until(cells, cmp, wanted, i, timeout=0)


@dpex.kernel
def compare_all(item: kapi.Item, cells, wanted, holds, waited):  # type: ignore
    count = cells.size
    for cmp in range(ishmem.CMP_EQ, ishmem.CMP_LE + 1):
        for i in range(count):
            for j in range(count):
                holds[cmp - 1, i, j] = ishmem.test(cells, cmp, wanted[j], i)
                if holds[cmp - 1, i, j]:
                    ishmem.wait_until(cells, cmp, wanted[j], i)
                    waited[0] += 1


@pytest.mark.slow_types
@pytest.mark.parametrize("dtype", WAIT_TYPES)
@pytest.mark.ishmem([1, 2])
def test_each_comparison_in_kernels(dtype: str) -> None:
    values = np.array(edges(dtype), dtype)
    expected = truth(dtype)
    holds, waited = dpnp.zeros(expected.shape, dtype="int32"), dpnp.zeros(1, dtype="int64")
    dpex.call_kernel(compare_all, kapi.Range(1), symmetric(values), dpnp.asarray(values), holds, waited)
    same(holds, expected.astype("int32"))
    same(waited, np.array([expected.sum()]))


@pytest.mark.ishmem([2, 4])
def test_a_long_wait_ends_by_a_value_or_its_time() -> None:
    me, n, flag = ishmem.my_pe(), ishmem.n_pes(), ishmem.zeros(2, dtype="int64")
    ishmem.barrier_all()
    if me == 0:
        time.sleep(0.2)  # the others sleep between polls
        for pe in range(n):
            ishmem.p(flag, 7, pe)
    ishmem.wait_until(flag, ishmem.CMP_EQ, 7)
    start = time.monotonic()
    with pytest.raises(ishmem.WaitTimeout):
        ishmem.wait_until(flag, ishmem.CMP_EQ, 8, 1, timeout=0.1)
    assert time.monotonic() - start >= 0.1


# --- a wait that another PE ends: a token passed round, each kind of writer, each element


def host_ring(rounds: int) -> None:
    me, n = ishmem.my_pe(), ishmem.n_pes()
    token = ishmem.zeros(3, dtype="uint32")
    for r in range(1, rounds + 1):
        if me == 0:
            ishmem.p(token, r, 1 % n, 2)
        ishmem.wait_until(token, ishmem.CMP_GE, r, 2, timeout=120)
        if me:
            ishmem.atomic_set(token, r, (me + 1) % n, 2)
    same(token, np.array([0, 0, rounds], "uint32"))


@pytest.mark.ishmem
def test_a_token_goes_round_the_hosts() -> None:
    host_ring(900 // ishmem.n_pes()**2)


@dpex.kernel
def pass_on(item: kapi.Item, token, rounds):  # type: ignore
    me, n = ishmem.my_pe(), ishmem.n_pes()
    for r in range(1, rounds + 1):
        if me == 0:
            ishmem.atomic_add(token, 1, 1 % n, 2)
        ishmem.wait_until(token, ishmem.CMP_EQ, r, 2)
        if me:
            ishmem.p(token, r, (me + 1) % n, 2)


@pytest.mark.ishmem
def test_a_token_goes_round_the_kernels() -> None:
    rounds = {1: 500, 2: 200, 3: 30, 4: 20}[ishmem.n_pes()]
    token = ishmem.zeros(3, dtype="int64")
    dpex.call_kernel(pass_on, kapi.Range(1), token, 0)
    ishmem.barrier_all()
    dpex.call_kernel(pass_on, kapi.Range(1), token, rounds)
    ishmem.barrier_all()
    same(token, np.array([0, 0, rounds]))


# --- waits that end otherwise


@pytest.mark.ishmem
def test_a_wait_that_is_too_long_raises() -> None:
    me = ishmem.my_pe()
    cells = symmetric(np.array([[5, -7], [11, 13]], "int64"))
    with pytest.raises(ishmem.WaitTimeout) as caught:
        ishmem.wait_until(cells, ishmem.CMP_GT, 12345, 1, timeout=0.05)
    for words in (f"PE {me}", "element 1 is -7", "> 12345", "0.05 s"):
        assert words in str(caught.value)
    assert isinstance(caught.value, (TimeoutError, ishmem.IshmemError))
    ishmem.wait_until(cells, ishmem.CMP_NE, 5, 3, timeout=0)


@pytest.mark.ishmem(1)
def test_wrong_arguments_are_refused() -> None:
    cells = ishmem.zeros(3, dtype="int32")
    for routine in (ishmem.wait_until, ishmem.test):
        for dtype in ("bool", "int8", "uint16", "float32", "complex128"):
            with pytest.raises(
                TypeError, match=f"{routine.__name__}: ivar has dtype {dtype}; allowed are int32, int64"
            ):
                routine(ishmem.zeros(1, dtype=dtype), ishmem.CMP_EQ, 1)
        for arguments, kind, words in (
            ((cells, 0, 1), ValueError, "cmp is 0; allowed are CMP_EQ"),
            ((cells, 7, 1), ValueError, "cmp is 7"),
            ((cells, "==", 1), ValueError, "cmp is '=='"),
            ((cells, 1, 2**31), ValueError, "does not fit dtype int32"),
            ((cells, 1, 0.5), TypeError, "0.5"),
            ((cells, 1, None), TypeError, "None"),
            ((cells, 1, 1, 3), IndexError, "index is 3; ivar has the elements 0 to 2"),
            ((cells, 1, 1, -1), IndexError, "index is -1"),
            ((cells, 1, 1, 0.0), TypeError, "index is an integer"),
            ((cells[::2], 1, 1), ValueError, "ivar is not contiguous"),
            ((np.zeros(3, "int32"), 1, 1), ishmem.SymmetryError, "ivar .* not on the symmetric heap"),
            ((None, 1, 1), TypeError, "NoneType"),
        ):
            refused(kind, words, routine, *arguments)


LOSSES = [
    *((call, "exit") for call in ("wait_until", "sync_all")),
    *((call, "kill") for call in ("team_sync", "active_set")),
    *((call, "finalize") for call in ("team_sync", "active_set", "broadcast")),
]
"""Beside those of ``job/test_faults.py``."""


@pytest.mark.parametrize(("call", "how"), LOSSES)
def test_calls_that_wait_for_a_lost_pe_raise(call: str, how: str) -> None:
    """Each call that waits for a PE ends when that PE has left, and names it."""
    n = 2 if call == "active_set" else 3  # of more members, one may hear from another that it has given up
    done = run_program(program("lost_pe"), n, call, how)
    told = sorted(line[-6:] for line in done.stdout.split("\n") if "told" in line)
    assert told == ["told 0", "told 2"][: n - 1], done
