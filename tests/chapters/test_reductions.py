"""Reductions and scans of the host: rounding, NaN, and in place; what all collectives do is in test_collectives.py."""

from __future__ import annotations

import collective_calls as calls
import collective_model as model
import halves
import numpy as np
import pytest
from common import refused, same, symmetric

import ishmem
from ishmem.common import algorithms
from ishmem.common.type_tables import HALVES, REDUCTIONS
from ishmem.runtime import job


def check_halves(dtype: str, counts: tuple[int, ...], routines: tuple[str, ...] = halves.ROUTINES) -> None:
    """Every algorithm, at unaligned offsets, in place too: combined in float32 and rounded once."""
    me, n, room = ishmem.my_pe(), ishmem.n_pes(), max(counts) + 7
    dest, source = (ishmem.zeros(room, dtype=halves.storage(dtype)) for _ in range(2))
    for routine, algorithm in ((each, name) for each in routines for name in calls.algorithms_of(each)):
        calls.force(algorithm)
        for count in counts:
            sources = [halves.values(dtype, room, count, pe) for pe in range(n)]
            wanted = halves.values(dtype, room, count, 99)
            ishmem.put(source, sources[me], ishmem.my_pe())
            ishmem.put(dest, wanted, ishmem.my_pe())
            total = halves.combined(routine, [each[3 : 3 + count] for each in sources], me, dtype)
            wanted[1 : 1 + count] = sources[me][3 : 3 + count] = total
            getattr(ishmem, routine)(dest[1:], source[3:], nelems=count, **halves.named(dtype))
            halves.same(calls.read(dest), wanted, dtype, f"{routine} {algorithm} {count}")
            getattr(ishmem, routine)(source[3:], source[3:], nelems=count, **halves.named(dtype))
            halves.same(calls.read(source), sources[me], dtype, f"{routine} {algorithm} {count} in place")
    calls.reset()


@pytest.mark.slow_cases("other numbers of PEs", "1pes-bfloat16", "4pes-bfloat16", "3pes-bfloat16", "4pes-float16")
@pytest.mark.ishmem([1, 2, 3, 4])
@pytest.mark.parametrize("dtype", HALVES)
def test_floats_of_16_bits_are_rounded_once(dtype: str) -> None:
    check_halves(dtype, (0, 1, 33, 2049, 20001))


@pytest.mark.ishmem([1, 2])
def test_only_bfloat16_is_named() -> None:
    me = ishmem.my_pe()
    whole, real = ishmem.zeros(4, dtype="i2"), ishmem.zeros(4, dtype="f2")
    for error, words, array, dtype in (
        (TypeError, "dtype is 'float16'; allowed are bfloat16", real, "float16"),
        (TypeError, "dest has dtype float16; allowed are int16, uint16, bfloat16", real, "bfloat16"),
    ):
        if not me:
            refused(error, words, ishmem.sum_reduce, array, array, dtype=dtype)
        else:
            refused(ishmem.SymmetryError, f"PE 0: .*{words}", ishmem.sum_reduce, array, array)
    if ishmem.n_pes() > 1:
        with pytest.raises(ishmem.SymmetryError, match="of dtype bfloat16"):
            ishmem.sum_reduce(whole, whole, **({} if me else {"dtype": "bfloat16"}))
    ishmem.sum_reduce(whole, whole, dtype="bfloat16")


@pytest.mark.ishmem
@pytest.mark.parametrize("count", [6, 3000])
def test_dest_may_be_source(count: int) -> None:
    me, n = ishmem.my_pe(), ishmem.n_pes()
    for routine in REDUCTIONS:
        sources = [np.arange(count) * (j + 2) + j for j in range(n)]
        for algorithm in calls.algorithms_of(routine):
            calls.force(algorithm)
            both = symmetric(sources[me])
            getattr(ishmem, routine)(both, both)
            np.testing.assert_array_equal(both.asnumpy(), model.combined(routine, sources, me), err_msg=algorithm)
            ishmem.free(both)
    calls.reset()


@pytest.mark.ishmem
@pytest.mark.parametrize(("dtype", "count"), [("float32", 100), ("float64", 5000)])
def test_sums_have_the_same_bits_on_all_pes(dtype: str, count: int) -> None:
    """Sums of numbers of very different sizes have the same bits on every PE, every time."""
    me, n = ishmem.my_pe(), ishmem.n_pes()
    random = np.random.default_rng(5)
    sources = (random.standard_normal((n, count)) * 10.0 ** random.integers(-6, 7, (n, count))).astype(dtype)
    source, dest, everywhere = (
        symmetric(sources[me]),
        ishmem.zeros(count, dtype=dtype),
        ishmem.zeros((n, count), dtype=dtype),
    )
    for algorithm in calls.algorithms_of("sum_reduce"):
        seen = []
        for _ in range(3):
            calls.force(algorithm)
            ishmem.sum_reduce(dest, source)
            calls.reset()
            ishmem.fcollect(everywhere, dest)
            seen += list(calls.read(everywhere))
        assert all(row.tobytes() == seen[0].tobytes() for row in seen), algorithm
        in_slot = algorithm == "slot" and sources[0].nbytes <= algorithms.SLOT_LIMIT
        if algorithm == "mapped" or (in_slot and not job.current().network):
            same(seen[0], model.combined("sum_reduce", list(sources), me))
        elif algorithm != "tree" or job.current().network:
            same(seen[0], model.combined_by_nodes("sum_reduce", list(sources), calls.nodes_of()))


@pytest.mark.ishmem
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_extrema_with_nan_are_nan(dtype: str) -> None:
    """The largest and smallest of numbers and NaN are NaN, whichever PE has it."""
    me, n = ishmem.my_pe(), ishmem.n_pes()
    values = np.zeros((n, 40), dtype)
    for j in range(n):
        values[j] = np.arange(40) * (1 - 2 * (j % 2))
        values[j, j] = np.nan
        values[j, 10 + j] = np.inf
        values[j, 20 + j] = -np.inf
    source, dest = symmetric(values[me]), ishmem.zeros(40, dtype=dtype)
    for algorithm in calls.algorithms_of("max_reduce"):
        calls.force(algorithm)
        ishmem.max_reduce(dest, source)
        np.testing.assert_array_equal(calls.read(dest), np.maximum.reduce(values), err_msg=algorithm)
        ishmem.min_reduce(dest, source)
        np.testing.assert_array_equal(calls.read(dest), np.minimum.reduce(values), err_msg=algorithm)
    calls.reset()
