"""Sub-groups in kernels."""

from __future__ import annotations

from typing import Any

import dpnp
import numpy as np
import pytest
from launching import own_compiler

from ishmem import dpex
from ishmem.dpex import kernel_api as kapi

pytestmark = own_compiler

ITEMS, GROUP = 64, 32
DTYPES = [np.int32, np.uint32, np.int64, np.uint64, np.float32, np.float64]


def launch(kernel: Any, rows: int, dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the values of the work-items, and what the kernel wrote for each into rows."""
    values = np.random.default_rng(1).integers(0, 100, ITEMS).astype(dtype)
    out = dpnp.zeros((rows, ITEMS), dtype=dtype)
    dpex.call_kernel(dpex.kernel(kernel), dpex.NdRange((ITEMS,), (GROUP,)), dpnp.asarray(values), out)
    return values, dpnp.asnumpy(out)


def numbers(item, _values, out):
    i, group = item.get_global_id(0), item.get_sub_group()
    out[0, i], out[1, i] = group.get_local_id(), group.get_local_range()
    out[2, i], out[3, i] = group.get_group_id(), group.get_group_range()


def size() -> int:
    return int(launch(numbers, 4, np.int64)[1][1, 0])


def test_numbers() -> None:
    _, (place, extent, group, groups) = launch(numbers, 4, np.int64)
    assert set(extent) == {extent[0]} and set(groups) == {GROUP // extent[0]}
    assert sorted(zip(group[:GROUP], place[:GROUP])) == [(g, n) for g in range(groups[0]) for n in range(extent[0])]


@pytest.mark.slow_types
@pytest.mark.parametrize("dtype", DTYPES)
def test_exchanges(dtype: Any) -> None:
    def exchanges(item, values, out):
        i, group = item.get_global_id(0), item.get_sub_group()
        n, last = group.get_local_id(), group.get_local_range() - 1
        out[0, i] = group.broadcast(values[i], 2)
        out[1, i] = group.shuffle(values[i], last - n)
        out[2, i] = group.shuffle_xor(values[i], 1)
        out[3, i] = group.shuffle_up(values[i], 1)
        out[4, i] = group.shuffle_down(values[i], 1)

    values, out = launch(exchanges, 5, dtype)
    rows, got = values.reshape(-1, size()), out.reshape(5, -1, size())
    assert (got[0] == rows[:, 2:3]).all() and (got[1] == rows[:, ::-1]).all()
    assert (got[2] == rows.reshape(-1, 2)[:, ::-1].reshape(rows.shape)).all()
    assert (got[3][:, 1:] == rows[:, :-1]).all() and (got[4][:, :-1] == rows[:, 1:]).all()


@pytest.mark.slow_types
@pytest.mark.parametrize("dtype", DTYPES)
def test_reductions(dtype: Any) -> None:
    def reductions(item, values, out):
        i, group = item.get_global_id(0), item.get_sub_group()
        out[0, i], out[1, i] = group.reduce_add(values[i]), group.reduce_min(values[i])
        out[2, i] = group.reduce_max(values[i])

    values, out = launch(reductions, 3, dtype)
    rows = values.reshape(-1, size())
    for got, wanted in zip(out.reshape(3, *rows.shape), (rows.sum(1), rows.min(1), rows.max(1))):
        assert (got == wanted[:, None]).all()


def test_barrier() -> None:
    def neighbours(item, values, out):
        i, group = item.get_global_id(0), item.get_sub_group()
        out[0, i] = values[i]
        kapi.group_barrier(group, kapi.MemoryScope.SUB_GROUP)
        n = group.get_local_id()
        out[1, i] = out[0, i - n + (n + 1) % group.get_local_range()]

    values, out = launch(neighbours, 2, np.int64)
    assert (out[1].reshape(-1, size()) == np.roll(values.reshape(-1, size()), -1, 1)).all()


def lanes(item, lengths, out):
    sub = item.get_sub_group()
    mine = 0
    for e in range(lengths.shape[0]):
        if lengths[e] > 0:
            kapi.group_barrier(sub)
            for k in range(sub.get_local_id(), lengths[e], sub.get_local_range()):
                mine += k
    out[item.get_global_id(0)] = mine


@pytest.mark.parametrize("hint", [{}, {"vec_type_hint": "int4"}], ids=["", "hint"])
def test_sums_in_a_loop(hint: dict[str, str]) -> None:
    """The hint says that the code of a work-item is in vectors already."""
    lengths, out = np.random.default_rng(1).integers(0, 40, 40), dpnp.zeros(GROUP, dtype="i8")
    dpex.call_kernel(dpex.kernel(**hint)(lanes), dpex.NdRange((GROUP,), (GROUP,)), dpnp.asarray(lengths), out)
    each = size()
    wanted = [sum(sum(range(lane % each, n, each)) for n in lengths.tolist()) for lane in range(GROUP)]
    assert out.asnumpy().tolist() == wanted


def plane(item, out):
    sub, i = item.get_sub_group(), item.get_global_id(0) * 24 + item.get_global_id(1)
    out[0, i], out[1, i] = sub.get_local_id(), sub.get_local_range()
    out[2, i], out[3, i] = sub.get_group_id(), sub.get_group_range()
    out[4, i] = sub.reduce_add(i)


@pytest.mark.parametrize("group", [(2, 12), (1, 24), (4, 3), (4, 24)])
def test_two_dimensions(group: tuple[int, int]) -> None:
    """Each sub-group has work-items with all places from 0 on, and adds what they have."""
    out = dpnp.zeros((5, 8 * 24), dtype="i8")
    dpex.call_kernel(dpex.kernel(plane), dpex.NdRange((8, 24), group), out)
    blocks = dpnp.asnumpy(out).reshape(5, 8 // group[0], group[0], 24 // group[1], group[1]).transpose(1, 3, 0, 2, 4)
    for block in blocks.reshape(-1, 5, group[0] * group[1]):
        place, extent, number, groups, total = block
        assert set(number) == set(range(groups[0])) and len(set(groups)) == 1
        for each in range(groups[0]):
            of_group = number == each
            assert sorted(place[of_group]) == list(range(of_group.sum())) and set(extent[of_group]) == {of_group.sum()}
            assert len(set(total[of_group])) == 1
    place, *_, total = dpnp.asnumpy(out)
    assert total[place == 0].sum() == np.arange(8 * 24).sum()
