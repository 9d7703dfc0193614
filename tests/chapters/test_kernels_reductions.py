"""Reductions and scans in kernels, against numpy in the order of the PEs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import collective_calls as calls
import collective_model as model
import halves
import numpy as np
import pytest
from common import dpex, dpnp, kapi, one_line, pattern, same, symmetric
from test_kernels_collectives import GUARD, SPACES, check_calls

import ishmem
from ishmem.common.layout import RENDEZVOUS_SLOT, RendezvousSlot
from ishmem.common.type_tables import HALVES, REDUCTIONS
from ishmem.testing import Pes

LARGE = 4099


def reducer(name: str, routines: Iterable[str], form: str, view: str = "") -> tuple[Any, Any, tuple[str, ...]]:
    """Return the kernel that calls each of some routines, for an array of its own, its index space and the routines."""
    ending, group = ("_work_group", "item.get_group(), ") if form == "group" else ("", "")
    calls = [
        f"code[{k}] = ishmem.{routine}{ending}(dest{k}{view}, source{view}, {group}team, n)"
        for k, routine in enumerate(routines)
    ]
    names = [f"dest{k}" for k in range(len(calls))]
    function = one_line("; ".join(calls), *names, "source", "n", "root", "team", "code", called=f"reduce_{name}")
    return dpex.kernel(function), SPACES[form], tuple(routines)


SOME = ("sum_reduce", "xor_reduce", "sum_inscan", "sum_exscan")
KERNELS = {
    "single": reducer("single", REDUCTIONS, "single"),
    "group": reducer("group", SOME, "group"),
    "others by group": reducer("others_by_group", [name for name in REDUCTIONS if name not in SOME], "group"),
    "few by group": reducer("few_by_group", ("sum_reduce", "sum_exscan"), "group"),
    "numbers": reducer("numbers", ("sum_reduce", "prod_reduce"), "single"),
    "reals": reducer("reals", ("sum_reduce", "max_reduce", "min_reduce"), "single"),
    "float16": reducer("float16", halves.ROUTINES, "group"),
    "bfloat16": reducer("bfloat16", halves.ROUTINES[:2], "single", ".view(kapi.bfloat16)"),
}
"""What compiles fastest: the routines share their code but for the operation, and so do the forms."""


def values(dtype: str, count: int, *seed: int) -> np.ndarray:
    """Return values whose sums are exact, so that they can be compared to the bit; with NaN and infinities."""
    made = pattern(dtype, count, *seed)
    if made.dtype.kind in "fc":
        made = np.round(made * 4).astype(dtype)
        made[seed[-1] :: 17] = np.nan
        made[seed[-1] + 3 :: 19] = np.inf
    return made


def check_all(dtype: str, form: str, sizes: tuple[int, ...]) -> None:
    kernel, space, routines = KERNELS[form]

    def expected(k: int, given: list[np.ndarray], dest: np.ndarray, team: Any, n: int, _root: int) -> np.ndarray:
        members, out = [source[:n] for source in given], dest.copy()
        if "scan" in routines[k]:
            out[:n] = model.combined(routines[k], members, team.my_pe())
        else:
            pes = [team.translate_pe(member, ishmem.TEAM_WORLD) for member in range(team.n_pes())]
            large = members[0].nbytes > RENDEZVOUS_SLOT - RendezvousSlot.at("payload")
            out[:n] = model.combined_by_nodes(routines[k], members, calls.nodes_of(pes), large)
        return out

    room, one = max(sizes) + 2 * GUARD, lambda _me, _size, n: (n,)
    check_calls((kernel, space), dtype, room, sizes, len(routines), one, expected, values)


# These kernels take long to compile: so not each form on each number of PEs.
@pytest.mark.ishmem([1, 2, 3, 4])
def test_each_routine_size_and_team() -> None:
    n = ishmem.n_pes()
    for form in {1: ["single"], 2: ["single", "group"], 3: ["single"], 4: ["group"]}[n]:
        check_all("int32", form, (0, 1, 3, 1000, LARGE) if n < 4 else (1, 1000))


@pytest.mark.slow("test_each_routine_size_and_team, with some routines")
@pytest.mark.ishmem(2)
def test_other_routines_by_a_work_group() -> None:
    check_all("int32", "others by group", (1, 33, LARGE))


@pytest.mark.slow_cases(
    "float64", "2pes-float32-reals", "2pes-int64-reals", "2pes-complex64-numbers", "2pes-complex128-numbers"
)
@pytest.mark.ishmem(2)
@pytest.mark.parametrize(
    ("dtype", "form"),
    [("float64", "reals"), ("float32", "reals"), ("int64", "reals"), ("complex64", "numbers"),
     ("complex128", "numbers")],
)  # fmt: skip
def test_floats_and_complex_numbers(dtype: str, form: str) -> None:
    check_all(dtype, form, (1, 33, LARGE))


def check_halves(dtype: str, sizes: tuple[int, ...]) -> None:
    """Combined in float32 and rounded once, by a group or by one work-item, at unaligned offsets."""
    me, size, room = ishmem.my_pe(), ishmem.n_pes(), max(sizes) + 2 * GUARD
    kernel, space, routines = KERNELS[dtype]
    arrays = [ishmem.zeros(room, dtype=halves.storage(dtype)) for _ in (*routines, "source")]
    code = dpnp.zeros(len(routines), dtype="i8")
    for n in sizes:
        sources, before = [halves.values(dtype, room, n, pe) for pe in range(size)], halves.values(dtype, room, n, 99)
        for array in arrays:
            ishmem.put(array, sources[me] if array is arrays[-1] else before, me)
        ishmem.sync_all()
        moved = [array[k % GUARD :] for k, array in enumerate(arrays[:-1])]
        dpex.call_kernel(kernel, space, *moved, arrays[-1][1:], n, 0, 0, code)
        ishmem.sync_all()
        for k, routine in enumerate(routines):
            wanted, members = before.copy(), [source[1 : n + 1] for source in sources]
            wanted[k % GUARD : k % GUARD + n] = halves.combined(routine, members, me, dtype)
            halves.same(arrays[k], wanted, dtype, f"{routine} {dtype} {n}")


@pytest.mark.slow_cases("test_chapters_on_nodes.py", "1pes-float16")
@pytest.mark.slow_cases("float16", "1pes-bfloat16")
@pytest.mark.skipif(dpex.HAS_NUMBA_DPEX, reason="kernels of numba-dpex have no floats of 16 bits")
@pytest.mark.ishmem([1, 2, 3, 4])
@pytest.mark.parametrize("dtype", HALVES)
def test_floats_of_16_bits_are_rounded_once(dtype: str) -> None:
    check_halves(dtype, (0, 1, 33, 1000, LARGE))


OTHERS = {
    "different sizes": {"uint8": "sum_reduce", "uint16": "prod_reduce", "uint64": "max_reduce"},
    "signed": {"int8": "sum_reduce", "int16": "sum_reduce", "uint32": "min_reduce"},
}


@pytest.mark.slow_cases("different sizes", "2pes-signed")
@pytest.mark.ishmem(2)
@pytest.mark.parametrize("which", OTHERS)
def test_other_types_in_place(which: str) -> None:
    me, size, routines = ishmem.my_pe(), ishmem.n_pes(), OTHERS[which]
    calls = [f"ishmem.{routine}({dtype}, {dtype})" for dtype, routine in routines.items()]
    kernel = dpex.kernel(one_line("; ".join(calls), *routines))
    for count in (40, LARGE):
        arrays = [symmetric(pattern(dtype, count, me)) for dtype in routines]
        ishmem.sync_all()
        dpex.call_kernel(kernel, kapi.Range(1), *arrays)
        for array, (dtype, routine) in zip(arrays, routines.items()):
            same(array, model.combined(routine, [pattern(dtype, count, pe) for pe in range(size)], me))
        ishmem.sync_all()


@dpex.kernel
def scan_in_place(item: kapi.Item, a, b):  # type: ignore
    ishmem.sum_inscan(a, a)
    ishmem.sum_exscan(b, b)


def check_bits() -> list[bytes]:
    """Return sums that are not exact, and scan in place."""
    me, size = ishmem.my_pe(), ishmem.n_pes()
    results = []
    for count in (10, 5001):
        a, b, c = (symmetric(pattern("float64", count, me)) for _ in range(3))
        sources = [pattern("float64", count, pe) for pe in range(size)]
        ishmem.sync_all()
        dpex.call_kernel(scan_in_place, kapi.Range(1), a, b)
        np.testing.assert_allclose(a.asnumpy(), model.combined("sum_inscan", sources, me), rtol=1e-14, atol=1e-14)
        np.testing.assert_allclose(b.asnumpy(), model.combined("sum_exscan", sources, me), rtol=1e-14, atol=1e-14)
        dpex.call_kernel(*KERNELS["reals"][:2], c, a, b, c, count, 0, 0, dpnp.zeros(3, dtype="i8"))
        total = model.combined_by_nodes("sum_reduce", sources, calls.nodes_of(), count > 10)
        np.testing.assert_array_equal(c.asnumpy(), total)
        ishmem.sync_all()
        results.append(c.asnumpy().tobytes())
    return results


@pytest.mark.ishmem([2, 3])
def test_all_have_the_same_bits(pes: Pes) -> None:
    results = [result for _ in range(2) for result in pes.run(check_bits)]
    assert all(result == results[0] for result in results)
