"""``ixput`` and ``ixget``: elements by indices and masks, on the host, in kernels, and by work-groups."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from common import KERNEL_TYPES, both_forms, dpex, dpnp, kapi, one_line, pattern, refused, same, symmetric

import ishmem
from ishmem.common.type_tables import RMA_TYPES

LENGTH = 70
CASES = [(0, False), (1, False), (5, True), (33, False), (64, True), (57, True)]
"""The number of indices, and whether there is a mask."""

Kinds = tuple[str, str]
KINDS: list[Kinds] = [("int64", "int64"), ("uint32", "bool"), ("int32", "uint8"), ("uint64", "int32")]
"""The dtypes of indices and mask."""


def kinds_of(dtype: str) -> list[Kinds]:
    """Return with which indices and masks kernels move elements of a dtype: one with all, the others in turn."""
    return KINDS if dtype == "int32" else [KINDS[KERNEL_TYPES.index(dtype) % len(KINDS)]]


def lists(count: int, mask: str | None, pe: int, kind: str = "int64") -> tuple[np.ndarray, np.ndarray | None]:
    """Return different indices, and a mask that is 0 for some, the same on all PEs."""
    random = np.random.default_rng([count, pe])
    indices = random.permutation(LENGTH)[:count].astype(kind)
    return indices, None if mask is None else random.integers(0, 3, count).astype(mask)


def wanted_put(dtype: str, count: int, mask: str | None, writer: int) -> np.ndarray:
    indices, chosen = lists(count, mask, writer)
    result, keep = pattern(dtype, LENGTH, 99), slice(None) if chosen is None else chosen != 0
    result[indices[keep]] = pattern(dtype, count + 2, writer)[:count][keep]
    return result


def wanted_get(dtype: str, count: int, mask: str | None, me: int, pe: int) -> np.ndarray:
    indices, chosen = lists(count, mask, me)
    result, keep = pattern(dtype, count + 2, 77), slice(None) if chosen is None else chosen != 0
    result[:count][keep] = pattern(dtype, LENGTH, pe)[indices[keep]]
    return result


def on_host(put: Any, got: Any, source: Any, table: Any, indices: Any, mask: Any, pe: int) -> None:
    ishmem.ixput(put, source, indices, pe, mask)
    ishmem.ixget(got, table, indices, pe, mask)


def move_masked(item, put, got, source, table, indices, mask, pe):  # type: ignore
    group = item.get_group()
    ishmem.ixput_work_group(put, source, indices, pe, group, mask)
    ishmem.ixget_work_group(got, table, indices, pe, group, mask=mask)
    ishmem.quiet_work_group(group)


def move(item, put, got, source, table, indices, pe):  # type: ignore
    group = item.get_group()
    ishmem.ixput_work_group(put, source, indices, pe, group)
    ishmem.ixget_work_group(got, table, indices, pe, group)
    ishmem.quiet_work_group(group)


KERNELS = [both_forms(move), both_forms(move_masked)]


def in_kernel(where: str, put: Any, got: Any, source: Any, table: Any, indices: Any, mask: Any, pe: int) -> None:
    group = where == "group"
    kernel = KERNELS[mask is not None][not group]
    span = kapi.NdRange((16,), (16,)) if group else kapi.Range(1)
    arrays = [put, got, *(dpnp.asarray(each) for each in (source, table, indices, mask) if each is not None)]
    arrays[3] = table
    dpex.call_kernel(kernel, span, *arrays, pe)


def check_moves(dtype: str, where: str, kinds: list[Kinds]) -> None:
    me, n = ishmem.my_pe(), ishmem.n_pes()
    table = symmetric(pattern(dtype, LENGTH, me))
    for distance in (0, 1):
        pe, writer = (me + distance) % n, (me - distance) % n
        for (count, is_masked), (of_indices, of_mask) in itertools.product(CASES, kinds):
            kind = of_mask if is_masked else None
            put, source = symmetric(pattern(dtype, LENGTH, 99)), pattern(dtype, count + 2, me)
            indices, mask = lists(count, kind, me, of_indices)
            if where == "host":
                got = pattern(dtype, count + 2, 77)
                on_host(put, got, source[:count], table, indices, mask, pe)
            else:
                got = dpnp.asarray(pattern(dtype, count + 2, 77))
                in_kernel(where, put, got, source, table, indices, mask, pe)
            same(got, wanted_get(dtype, count, kind, me, pe))
            ishmem.barrier_all()
            same(put, wanted_put(dtype, count, kind, writer))
            ishmem.free(put)


@pytest.mark.one_type("int32")
@pytest.mark.ishmem
@pytest.mark.parametrize("dtype", RMA_TYPES)
def test_host_moves_chosen_elements(dtype: str) -> None:
    check_moves(dtype, "host", KINDS)


@pytest.mark.slow_cases("bool and complex64", "2pes-uint8", "2pes-float32", "2pes-int64")
@pytest.mark.slow_types
@pytest.mark.one_type("int32")
@pytest.mark.ishmem
@pytest.mark.parametrize("dtype", KERNEL_TYPES)
def test_kernels_move_chosen_elements(dtype: str) -> None:
    """Both forms share their code: a work-group has two kinds of indices and masks."""
    check_moves(dtype, "alone", kinds_of(dtype))
    check_moves(dtype, "group", kinds_of(dtype)[:2])


@pytest.mark.slow("test_kernels_move_chosen_elements, and test_chapters_on_nodes.py::test_chapter, on two nodes")
@pytest.mark.parametrize(("env", "nodes"), [({}, [1, 1]), ({"ISHMEM_SIM_ORDER": "late:3"}, None)])
@pytest.mark.parametrize("where", ["host", "alone", "group"])
def test_elements_between_nodes_and_late(pool_with, env: dict[str, str], nodes: list[int] | None, where: str) -> None:
    pool_with(2, env, nodes).run(check_moves, "int32", where, KINDS[:2])


@pytest.mark.ishmem(1)
def test_wrong_arguments_are_refused() -> None:
    a, host, indices = ishmem.zeros(6, dtype="i4"), np.zeros(3, "i4"), np.arange(3)
    wrong: list[tuple[type[Exception], str, tuple[Any, ...]]] = [
        (IndexError, r"indices\[1\] is 6; dest has the elements 0 to 5", (a, host, np.array([0, 6, 1]), 0)),
        (IndexError, r"indices\[0\] is -1", (a, host, np.array([-1]), 0)),
        (IndexError, "pe is 9", (a, host, indices, 9)),
        (ValueError, "source has 2 elements and indices has 3", (a, host[:2], indices, 0)),
        (ValueError, "mask has 1 elements and indices has 3", (a, host, indices, 0, np.ones(1, bool))),
        (ValueError, r"dest has shape \(2, 3\)", (a.reshape(2, 3), host, indices, 0)),
        (ValueError, "dest is not contiguous", (a[::2], host, indices, 0)),
        (TypeError, "indices has dtype float64", (a, host, np.zeros(3), 0)),
        (TypeError, "mask has dtype float64", (a, host, indices, 0, np.zeros(3))),
        (TypeError, "dest has dtype int32 and source has dtype int64", (a, indices, indices, 0)),
        (ishmem.SymmetryError, "not on the symmetric heap", (dpnp.zeros(3, dtype="i4"), host, indices[:0], 0)),
    ]
    for error, words, arguments in wrong:
        refused(error, words, ishmem.ixput, *arguments)
    with pytest.raises(IndexError, match=r"indices\[2\] is 7; source has the elements 0 to 5"):
        ishmem.ixget(host, a, np.array([0, 1, 7]), 0)
    ishmem.ixput(a, host, np.array([0, 99, 1]), 0, np.array([1, 0, 1]))  # an index that is masked out
    for kernel, arguments, words in (
        (KERNELS[0][1], (a, a, a, a, dpnp.zeros(3)), "indices has dtype float64"),
        (KERNELS[1][1], (a, a, a, a, dpnp.arange(3), dpnp.zeros(3)), "mask has dtype float64"),
        (KERNELS[0][1], (a.reshape(2, 3), a, a, a, dpnp.arange(3)), "dest has one dimension"),
    ):
        refused(Exception, words, dpex.call_kernel, kernel, kapi.Range(1), *arguments, 0)
    dpex.call_kernel(KERNELS[0][1], kapi.Range(1), a, a, a[:2], a, dpnp.arange(3), 0)
    refused((ValueError, IndexError), "ixput in a kernel", ishmem.quiet)


CHECKED = {
    routine: dpex.kernel(one_line(f"ishmem.{routine}({arrays}, indices, pe)", "a", "local", "indices", "pe"))
    for routine, arrays in (("ixput", "a, local"), ("ixget", "local, a"))
}


@pytest.mark.ishmem(1, env={"ISHMEM_CHECK": "1"})
def test_kernels_check_indices() -> None:
    """An index or a PE out of range is an error that names the routine; nothing moves."""
    a, local = ishmem.zeros(6, dtype="i4"), dpnp.ones(1, dtype="i4")
    for routine, kernel in CHECKED.items():
        for index, pe, words in ((6, 0, "element 6 on"), (0, 9, "pe is 9")):
            dpex.call_kernel(kernel, kapi.Range(1), a, local, dpnp.asarray([index]), pe)
            refused(IndexError, f"{routine} in a kernel.*{words}", ishmem.quiet)
    assert not a.asnumpy().any() and local.asnumpy()[0] == 1
