"""Registered memory, in kernels and on the host: the checks of the chapters with it in place of the symmetric heap."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import test_amo
import test_indexed
import test_kernels_collectives
import test_kernels_reductions
import test_locks
import test_rma
import test_routes
import test_signals
import test_strided
import test_wait
import test_wait_sets
from common import CHECKING, dpex, dpnp, kapi, same

import ishmem

ALL = [dtype for dtype in test_kernels_collectives.TYPES if dtype != "bool"]
CHECKS = {
    "rma": (test_rma.check_kernel_cases, ("int32", test_rma.SAMPLE)),
    "rma by group": (test_rma.check_group_cases, ("uint8", test_rma.SAMPLE, (24,))),
    "large": (test_rma.check_kernel_large, ("float32", 70_001)),
    "ptr": (test_rma.test_ptr_in_kernel, ()),
    "amo": (test_amo.test_kernel_atomics_at_the_limits_of_a_type, ("int64",)),
    "amo, float32": (test_amo.test_kernel_atomics_at_the_limits_of_a_type, ("float32",)),
    "signals": (test_signals.check_kernel, ("int16", 20)),
    "signals by group": (test_signals.check_group, (5, "uint64", (24,))),
    "strided": (test_strided.check_kernel, ("int16", (24,))),
    "indexed": (test_indexed.check_moves, ("int32", "alone", test_indexed.kinds_of("int32"))),
    "wait": (test_wait.test_a_token_goes_round_the_kernels, ()),
    "wait sets": (test_wait_sets.check_kernel_gather, (3, (24,))),
    "collectives": (test_kernels_collectives.check_all, ("int32", "group", (0, 1, 33, 4099))),
    "reductions": (test_kernels_reductions.check_all, ("float64", "few by group", (0, 1, 33, 4099))),
    "host rma": (test_rma.check_host_cases, ("int16", test_rma.SAMPLE)),
    "host amo": (test_amo.test_host_atomics_at_the_limits_of_a_type, ("int64",)),
    "host amo, float32": (test_amo.test_host_atomics_at_the_limits_of_a_type, ("float32",)),
    "host signals": (test_signals.check_payload, ("int16",)),
    "host signals of int32": (test_signals.test_signals_of_each_type, ("int32",)),
    "host signals and views": (test_signals.test_sources_of_each_kind, ()),
    "host wait": (test_wait.test_each_comparison_at_the_limits_of_a_type, ("uint32",)),
    "host wait for others": (test_wait.test_a_token_goes_round_the_hosts, ()),
    "host wait sets": (test_wait_sets.test_hosts_gather_flags_and_data, ()),
    "locks": (test_locks.check_kernel, (12, 0, True)),
    "host locks": (test_locks.check_host, (20, 0)),
}


@contextlib.contextmanager
def registered_arrays() -> Iterator[None]:
    """Have the functions that allocate return registered memory, which begins 16 bytes later on odd PEs."""
    before = {name: getattr(ishmem, name) for name in ("empty", "zeros", "full", "array", "free")}
    made: list[Any] = []

    def register(values: np.ndarray) -> Any:
        first = 1 + ishmem.my_pe() % 2 * 16 // values.itemsize
        a = dpnp.zeros(values.size + 17, dtype=values.dtype)[first : first + values.size].reshape(values.shape)
        a[...] = dpnp.asarray(values)
        if a.size:
            ishmem.register(a)
            made.append(a)
        return a

    def free(a: Any) -> None:
        made[:] = [each for each in made if each is not a]
        ishmem.deregister(a)

    ishmem.empty = ishmem.zeros = lambda shape, dtype="float64": register(np.zeros(shape, dtype))  # type: ignore
    ishmem.full = lambda shape, value, dtype=None: register(np.full(shape, value, dtype))  # type: ignore
    ishmem.array, ishmem.free = lambda values: register(np.asarray(values)), free  # type: ignore
    try:
        yield
    finally:
        vars(ishmem).update(before)
    for each in made:
        ishmem.deregister(each)


@pytest.mark.slow_cases("other chapters", "2pes-indexed", "2pes-reductions", "2pes-wait sets")
@pytest.mark.ishmem(2)
@pytest.mark.parametrize("name", CHECKS)
def test_chapters(name: str) -> None:
    function, arguments = CHECKS[name]
    with registered_arrays():
        function(*arguments)


@pytest.mark.ishmem([1, 3])
@pytest.mark.parametrize("name", ["rma", "collectives", "reductions"])
def test_other_numbers_of_pes(name: str) -> None:
    test_chapters(name)


@pytest.mark.slow_types
@pytest.mark.ishmem(2)
@pytest.mark.parametrize("dtype", ALL)
def test_types(dtype: str) -> None:
    with registered_arrays():
        test_rma.check_kernel_cases(dtype, test_rma.SAMPLE[::3])


MODES: dict[str, dict[str, Any]] = {
    "PCIe": {"env": test_routes.MODES["PCIe"]},
    "no access": {"env": test_routes.MODES["none"]},
    "late": {"env": {"ISHMEM_SIM_ORDER": "late:5"}},
    "nodes": {"nodes": [1, 2]},
}
ON_HOST = [name for name in CHECKS if name.startswith("host")]
BY_PROXY = ["rma", "amo", "signals by group", "strided", "collectives", "reductions", *ON_HOST]


@pytest.mark.slow("test_tiles.py::test_tiles_without_access_to_peers, whose tiles are registered, too")
@pytest.mark.parametrize("mode", MODES)
def test_by_the_proxy(pool_with, mode: str) -> None:
    """Operations that a kernel leaves to the host, also atomics under a lock."""
    pool = pool_with(3, **MODES[mode])
    for name in BY_PROXY:
        pool.run(test_chapters, name)
    test_amo.check_tickets(pool.run(storm))


def storm() -> tuple[int, list[int]]:
    with registered_arrays():
        return test_amo.everyone(0, 3)


@dpex.kernel
def put_in_kernel(item: kapi.Item, dest, source, pe):  # type: ignore
    ishmem.put(dest, source, pe)


@pytest.mark.ishmem([2, 3])
def test_before_and_after() -> None:
    """A kernel that has run before the first registration finds what is registered; the memory beside it stays."""
    me, n = ishmem.my_pe(), ishmem.n_pes()
    heap, source = ishmem.zeros(33, dtype="int32"), dpnp.full(33, me + 1, dtype="int32")
    wholes = [dpnp.zeros(50 + 8 * me, dtype="int32") for _ in range(4)]
    regions = [whole[3 + 4 * me : 36 + 4 * me] for whole in wholes]
    for turn in range(2):
        dpex.call_kernel(put_in_kernel, kapi.Range(1), heap, source, (me + 1) % n)
        for each in regions:
            ishmem.register(each)
        for number, each in enumerate(regions):
            dpex.call_kernel(put_in_kernel, kapi.Range(1), each, source + number, (me + 1) % n)
        ishmem.barrier_all()
        same(heap, np.full(33, (me - 1) % n + 1, "int32"))
        for number, whole in enumerate(wholes):
            wanted = np.zeros(50 + 8 * me, "int32")
            wanted[3 + 4 * me : 36 + 4 * me] = (me - 1) % n + 1 + number
            same(whole, wanted)
            whole[:] = 0
        for each in regions[:: 1 if turn else -1]:
            ishmem.deregister(each)


@CHECKING
def test_checked() -> None:
    """Memory that is not registered, no longer registered or registered in part is refused."""
    a, source, other = (dpnp.zeros(8, dtype="int64") for _ in range(3))

    def put_is_refused(dest: Any) -> None:
        dpex.call_kernel(put_in_kernel, kapi.Range(1), dest, source[: dest.size], 1 - ishmem.my_pe())
        with pytest.raises(ishmem.SymmetryError, match="is not on the symmetric heap, nor registered"):
            ishmem.quiet()

    put_is_refused(a)
    ishmem.register(a[:5])
    ishmem.register(other)
    dpex.call_kernel(put_in_kernel, kapi.Range(1), a[1:5], source[1:5] + 7, 1 - ishmem.my_pe())
    ishmem.barrier_all()
    same(a, np.array([0, 7, 7, 7, 7, 0, 0, 0]))
    put_is_refused(a)
    ishmem.deregister(a[:5])
    put_is_refused(a[:5])
    ishmem.deregister(other)
