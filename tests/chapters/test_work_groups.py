"""``sync_work_groups``: a barrier of all work-groups of a launch, and ``max_work_groups``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from common import dpex, dpnp, kapi, one_line, refused

import ishmem
from ishmem.testing import Pes

ROUNDS = 20


@dpex.kernel
def neighbours(item: kapi.NdItem, values: Any, counter: Any, out: Any, rounds: Any) -> None:
    """In each round, add to the own elements those that the next work-group had."""
    group = item.get_group()
    n, size = values.size, item.get_local_range(0)
    me = item.get_global_id(0)
    for _ in range(rounds):
        theirs = values[(me + size) % n]
        ishmem.sync_work_groups(counter, group)
        values[me] += theirs
        ishmem.sync_work_groups(counter, group)
    out[me] = values[me]


@dpex.kernel
def plane(item: kapi.NdItem, values: Any, counter: Any, out: Any) -> None:
    group = item.get_group()
    me = item.get_global_id(0) * item.get_global_range(1) + item.get_global_id(1)
    values[me] = me + 1
    ishmem.sync_work_groups(counter, group)
    total = 0
    for value in values:
        total += value
    out[me] = total


in_group, in_sub_group = (
    dpex.kernel(one_line(f"ishmem.sync_work_groups(counter, item.{group}())", "counter"))
    for group in ("get_group", "get_sub_group")
)


def check_rounds(groups: int, size: int) -> None:
    me, n = ishmem.my_pe(), groups * size
    counter = ishmem.zeros(3, dtype="i8")
    for launch in range(3):  # with the counter as the launch before has left it
        start = np.arange(n) + me + launch
        values, out = dpnp.asarray(start), dpnp.zeros(n, dtype="i8")
        dpex.call_kernel(neighbours, dpex.NdRange((n,), (size,)), values, counter[1:2], out, ROUNDS)
        wanted = start
        for _ in range(ROUNDS):
            wanted = wanted + np.roll(wanted, -size)
        assert out.asnumpy().tolist() == wanted.tolist()
        assert counter.asnumpy()[[0, 2]].tolist() == [0, 0]
        assert int(counter[1]) == 2 * ROUNDS * (launch + 1) << 32
    ishmem.free(counter)


@pytest.mark.parametrize("size", [1, 7, 64])
@pytest.mark.parametrize("share", [0.0, 1.0])
def test_no_work_group_leaves_a_barrier_early(pes: Pes, size: int, share: float) -> None:
    """With one work-group, and with as many as run at the same time."""
    most = pes.run(ishmem.max_work_groups)[0]
    pes.run(check_rounds, max(1, int(share * most)), size)


def check_plane(groups: int) -> None:
    counter, shape = ishmem.zeros(1, dtype="i8"), (groups * 3, 4)
    values, out = dpnp.zeros(shape[0] * 4, dtype="i8"), dpnp.zeros(shape[0] * 4, dtype="i8")
    dpex.call_kernel(plane, dpex.NdRange(shape, (3, 4)), values, counter, out)
    assert set(out.asnumpy().tolist()) == {values.size * (values.size + 1) // 2}
    ishmem.free(counter)


def test_barrier_of_two_dimensional_groups(pes: Pes) -> None:
    pes.run(check_plane, pes.run(ishmem.max_work_groups)[0])


@pytest.mark.ishmem
def test_too_many_work_groups_are_refused() -> None:
    counter, most = ishmem.zeros(1, dtype="i8"), ishmem.max_work_groups()
    dpex.call_kernel(in_group, dpex.NdRange((2 * (most + 1),), (2,)), counter)
    with pytest.raises(
        ValueError,
        match=rf"sync_work_groups in a kernel on PE \d+: the launch has {most + 1} work-groups, of which the device "
        rf"certainly runs {most} at the same time; launch at most max_work_groups\(\)",
    ):
        ishmem.quiet()
    assert int(counter[0]) == 0
    dpex.call_kernel(in_group, dpex.NdRange((most,), (1,)), counter)
    ishmem.quiet()
    ishmem.barrier_all()
    ishmem.free(counter)


@pytest.mark.ishmem
def test_an_empty_counter() -> None:
    dpex.call_kernel(in_group, dpex.NdRange((2,), (2,)), dpnp.zeros(0, dtype="i8"))
    refused(IndexError, r"sync_work_groups in a kernel on PE \d+: .* array of 0 elements", ishmem.quiet)
    ishmem.barrier_all()


@pytest.mark.ishmem
def test_wrong_arguments_are_refused() -> None:
    counter, other = ishmem.zeros(1, dtype="i8"), ishmem.zeros(1, dtype="f4")
    refused(TypeError, "sync_work_groups is called inside kernels only", ishmem.sync_work_groups, counter, None)
    refused(Exception, "counter has dtype float32", dpex.call_kernel, in_group, dpex.NdRange((1,), (1,)), other)
    if hasattr(kapi, "SubGroup"):
        with pytest.raises(Exception, match="sync_work_groups: group is a work-group, got"):
            dpex.call_kernel(in_sub_group, dpex.NdRange((4,), (4,)), counter)
    ishmem.barrier_all()
    ishmem.free(counter)
    ishmem.free(other)
