"""Loads of built-in vectors in SPIR-V: rewritten for Intel's compilers, in every kernel of a job."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from common import dpex, dpnp, kapi
from compilations import cache_in
from numba import typeof

import ishmem
from ishmem.dpex import spirv
from ishmem.dpex.front_end.numba_dpex import builtin_loads
from ishmem.kernels.front_end import ItemType, NdItemType, compiled
from ishmem.testing import Pes
from tools import gpu_compiler

COMPILER = Path(__file__).parents[2] / "build" / "gpu-compiler"
BOUND = 100
ULONG, V3, TO_V3, TO_ULONG, VARIABLE, ZERO, TWO, FOUND, OTHER, UINT, TO_UINT = range(1, 12)
HEAD = [
    (5, VARIABLE, 0x64695F5F, 0), (71, VARIABLE, 11, 28), (21, ULONG, 64, 0), (21, UINT, 32, 0),
    (43, ULONG, ZERO, 0, 0), (43, ULONG, TWO, 2, 0), (23, V3, ULONG, 3),
    (32, TO_V3, 5, V3), (32, TO_ULONG, 5, ULONG), (32, TO_UINT, 5, UINT),
    (59, TO_V3, VARIABLE, 5), (54, 20, 21, 0, 22),
]  # fmt: skip


def module(*instructions: tuple[int, ...]) -> bytes:
    words = [spirv.MAGIC, 0x10400, 0, BOUND, 0]
    for op, *operands in (*HEAD, *instructions):
        words += [(len(operands) + 1) << 16 | op, *operands]
    return np.array(words, "<u4").tobytes()


LOAD = (61, ULONG, FOUND, OTHER, 2, 32)
VECTOR = (61, V3, BOUND, VARIABLE)
HALF = [(70, TO_ULONG, 30, VARIABLE, ZERO, TWO), (124, TO_UINT, OTHER, 30)]
ADDRESSES = {
    "access chain": [(65, TO_ULONG, OTHER, VARIABLE, TWO)],
    "in bounds": [(66, TO_ULONG, OTHER, VARIABLE, TWO)],
    "of a pointer": [(67, TO_ULONG, OTHER, VARIABLE, ZERO, TWO)],
    "of a pointer in bounds": [(70, TO_ULONG, OTHER, VARIABLE, ZERO, TWO)],
    "two steps": [(124, TO_ULONG, 30, VARIABLE), (70, TO_ULONG, OTHER, 30, TWO)],
    "named": [(5, OTHER, 0x61), (70, TO_ULONG, OTHER, VARIABLE, ZERO, TWO)],
}


@pytest.mark.parametrize("form", ADDRESSES)
def test_a_constant_component(form: str) -> None:
    result = builtin_loads.whole_loads(module(*ADDRESSES[form], LOAD))
    assert list(spirv.instructions(result))[len(HEAD) :] == [(61, VECTOR[1:]), (81, (ULONG, FOUND, BOUND, 2))]
    assert spirv.bound_of(result) > BOUND
    assert builtin_loads.whole_loads(result) == result


def test_the_first_component() -> None:
    result = builtin_loads.whole_loads(module((124, TO_ULONG, OTHER, VARIABLE), LOAD))
    assert list(spirv.instructions(result))[-1] == (81, (ULONG, FOUND, BOUND, 0))


def test_a_component_known_at_run_time() -> None:
    result = builtin_loads.whole_loads(module((70, TO_ULONG, OTHER, VARIABLE, ZERO, 33), LOAD))
    assert list(spirv.instructions(result))[-1] == (77, (ULONG, FOUND, BOUND, 33))


def test_two_loads() -> None:
    again = (61, ULONG, 40, OTHER, 2, 32)
    result = builtin_loads.whole_loads(module(*ADDRESSES["in bounds"], LOAD, again))
    vectors = [at[2] for op, at in spirv.instructions(result) if op == 81]
    assert len(set(vectors)) == 2
    assert BOUND <= min(vectors) <= max(vectors) < spirv.bound_of(result)


def test_the_low_half_of_a_component() -> None:
    """What the 32 bits of an index become."""
    result = builtin_loads.whole_loads(module(*HALF, (61, UINT, FOUND, OTHER, 2, 4)))
    extract, convert = list(spirv.instructions(result))[-2:]
    assert extract == (81, (ULONG, BOUND + 1, BOUND, 2))
    assert convert == (113, (UINT, FOUND, BOUND + 1))
    assert spirv.bound_of(result) > BOUND + 1


UNTOUCHED = {
    "nothing": [],
    "the vector": [(61, V3, 30, VARIABLE, 2, 32), (81, ULONG, FOUND, 30, 1)],
    "another variable": [(59, TO_V3, 41, 5), (70, TO_ULONG, OTHER, 41, ZERO, TWO), LOAD],
    "an address that is stored": [*ADDRESSES["in bounds"], LOAD, (62, 50, OTHER, 2, 8)],
    "an address that is passed on": [*ADDRESSES["in bounds"], LOAD, (57, 1, 51, 52, OTHER)],
    "an address that is chosen": [*ADDRESSES["in bounds"], LOAD, (245, TO_ULONG, 53, OTHER, 54, 50, 55)],
    "a step from half a component": [*HALF, (70, TO_UINT, 31, OTHER, TWO), (61, UINT, FOUND, 31, 2, 4)],
    "half a component that is stored": [*HALF, (62, 50, OTHER, 2, 4)],
}


@pytest.mark.parametrize("case", UNTOUCHED)
def test_what_stays_as_it_is(case: str) -> None:
    code = module(*UNTOUCHED[case])
    assert builtin_loads.whole_loads(code) == code


def test_a_literal_is_no_address() -> None:
    """The alignment of a store is the number of the address by chance."""
    store = (62, 50, 51, 2, OTHER)
    result = builtin_loads.whole_loads(module(*ADDRESSES["in bounds"], LOAD, store))
    assert list(spirv.instructions(result))[-1] == (62, store[1:])
    assert result != module(*ADDRESSES["in bounds"], LOAD, store)


@pytest.mark.parametrize("bad", [b"", b"abc", bytes(20), module()[:-4]])
def test_other_loads_are_refused(bad: bytes) -> None:
    with pytest.raises(ValueError, match=r"SPIR-V|length"):
        builtin_loads.whole_loads(bad)


@dpex.kernel
def asks_for_ids(item: kapi.Item, a):
    i = item.get_id(0)
    a[i, item.get_id(1)] = i + item.get_range(1)


@dpex.kernel
def asks_for_an_axis(item: kapi.Item, a):
    for axis in range(2):
        a[item.get_id(0), axis] = item.get_id(axis)


@dpex.kernel
def asks_for_halves(item: kapi.Item, a):
    a[np.int32(item.get_id(0)), np.int32(item.get_id(1))] = np.int32(item.get_id(1)) * np.int32(item.get_range(1))


@dpex.kernel
def asks_for_groups(item: kapi.NdItem, a):
    group = item.get_group()
    a[item.get_global_id(0), 0] = group.get_group_id(0) + item.get_local_id(0) * group.get_local_range(0)


@dpex.kernel
def puts(item: kapi.Item, a):
    ishmem.put(a[item.get_id(0)], a[0], ishmem.my_pe())


KERNELS = [asks_for_ids, asks_for_an_axis, asks_for_halves, asks_for_groups, puts]


def check_ids() -> None:
    a = dpnp.full((3, 4), -1, dtype="int64")
    dpex.call_kernel(asks_for_ids, kapi.Range(3, 4), a)
    assert (a.asnumpy() == np.arange(3)[:, None] + 4).all()
    b: Any = dpnp.full((2, 2), -1, dtype="int64")
    dpex.call_kernel(asks_for_an_axis, kapi.Range(2, 1), b)
    assert b.asnumpy().tolist() == [[0, 0], [1, 0]]


def codes(folder: Path | None) -> list[bytes]:
    """Return what the kernels become: compiled, or, with a folder, what the cache has kept of it."""
    check_ids()  # numba-dpex sets itself up at the first launch
    with cache_in(folder):
        array = typeof(dpnp.zeros((2, 2), dtype="int64"))
        kinds = [NdItemType(1) if kernel is asks_for_groups else ItemType(2) for kernel in KERNELS]
        return [compiled(kernel, (kind, array)) for kernel, kind in zip(KERNELS, kinds)]


def check_kernels(folder: Path | None) -> list[bytes]:
    found = codes(folder)
    for code in found:
        assert builtin_loads.whole_loads(code) == code
        assert any(op in (builtin_loads.EXTRACT, builtin_loads.EXTRACT_DYNAMIC) for op, _ in spirv.instructions(code))
    return found


@pytest.mark.ishmem(1)
@pytest.mark.parametrize("kept", [True, False])
def test_every_kernel_is_translated(pes: Pes, kept: bool, tmp_path: Path) -> None:
    pes.run(check_kernels, tmp_path if kept else None)


@pytest.mark.ishmem(1)
@pytest.mark.parametrize("device", gpu_compiler.DEVICES)
def test_intels_compiler_takes_them(pes: Pes, device: str) -> None:
    compiler = gpu_compiler.find(COMPILER)
    if compiler is None:
        pytest.skip("no GPU compiler: .ci/gpu-compiler fetches it")
    for code in pes.run(check_kernels, None)[0]:
        assert compiler.compile(code, device).simd > 0


@pytest.mark.ishmem(1)
def test_the_ids_are_right() -> None:
    check_ids()
