"""The ``_work_group`` forms called by a sub-group, on today's stack."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from common import dpex, dpnp, kapi

import ishmem

pytestmark = pytest.mark.skipif(dpex.HAS_NUMBA_DPEX, reason="numba-dpex has no sub-groups")

ITEMS, EACH = 64, 100


@dpex.kernel
def exchange(item: kapi.NdItem, dest, source, back, flags, seen, pe):
    group = item.get_sub_group()
    number, i = group.get_group_id(), item.get_global_id(0)
    first = EACH * number
    part = source[first : first + EACH]
    sent = dest[first : first + EACH]
    flag = flags[number : number + 1]
    ishmem.put_signal_work_group(sent, part, flag, np.uint64(number + 1), ishmem.SIGNAL_SET, pe, group)
    seen[0, i] = np.int64(ishmem.signal_wait_until_work_group(flag, ishmem.CMP_GT, np.uint64(0), group))
    ishmem.get_work_group(back[first : first + EACH], sent, pe, group)
    ishmem.iput_work_group(dest[1000 + first : 1000 + first + EACH], part, 2, 2, EACH // 2, pe, group)
    ishmem.put_work_group(dest[2000 + first : 2000 + first + EACH : 2], part[::2], pe, group)
    ishmem.quiet_work_group(group)
    seen[1, i] = ishmem.test_work_group(flag, ishmem.CMP_EQ, np.uint64(number + 1), group)
    seen[2, i] = ishmem.test_any_work_group(flags[: number + 1], ishmem.CMP_EQ, np.uint64(number + 1), group)


@pytest.mark.ishmem
def test_each_sub_group_exchanges_its_part() -> None:
    me, n = ishmem.my_pe(), ishmem.n_pes()
    dest, flags = ishmem.zeros(4000, dtype="i8"), ishmem.zeros(ITEMS, dtype="u8")
    source, back, seen = dpnp.arange(1000 * me, 1000 * me + 1000), dpnp.zeros(1000, dtype="i8"), dpnp.zeros((3, ITEMS))
    seen = seen.astype("i8")
    ishmem.barrier_all()
    dpex.call_kernel(exchange, dpex.NdRange((ITEMS,), (ITEMS,)), dest, source, back, flags, seen, (me + 1) % n)
    ishmem.barrier_all()
    groups = int(np.count_nonzero(flags.asnumpy()))
    of_each = ITEMS // groups
    numbers = np.arange(ITEMS) // of_each
    count, left = EACH * groups, 1000 * ((me - 1) % n) + np.arange(EACH * groups)
    got = dest.asnumpy()
    assert (flags.asnumpy()[:groups] == np.arange(groups) + 1).all()
    assert (got[:count] == left).all()
    assert (back.asnumpy()[:count] == source.asnumpy()[:count]).all()
    for part in (got[1000 : 1000 + count], got[2000 : 2000 + count]):
        assert (part[::2] == left[::2]).all() and not part[1::2].any()
    assert (seen.asnumpy() == [numbers + 1, np.ones(ITEMS), numbers]).all()


@dpex.kernel
def collect(item: kapi.NdItem, total, every, parts, root, source, status):
    group = item.get_sub_group()
    if group.get_group_id() == 0:
        status[0, item.get_local_id(0)] = ishmem.sum_reduce_work_group(total, source, group)
        status[1, item.get_local_id(0)] = ishmem.fcollect_work_group(every, source, group)
        status[2, item.get_local_id(0)] = ishmem.alltoall_work_group(parts, every, group)
        status[3, item.get_local_id(0)] = ishmem.broadcast_work_group(root, source, 0, group)
        ishmem.barrier_all_work_group(group)
        ishmem.sync_all_work_group(group)
        ishmem.team_sync_work_group(ishmem.TEAM_WORLD, group)


@pytest.mark.slow_cases("other sizes", "1pes-5000")
@pytest.mark.slow_cases("the same on other numbers of PEs", "1pes-3")
@pytest.mark.ishmem
@pytest.mark.parametrize("size", [3, 5000])
def test_one_sub_group_calls_collectives(size: int) -> None:
    me, n = ishmem.my_pe(), ishmem.n_pes()
    total, root = ishmem.zeros(size), ishmem.zeros(size)
    every, parts, source = ishmem.zeros((n, size)), ishmem.zeros((n, size)), ishmem.arange(size, dtype="f8")
    source += me
    status: Any = dpnp.full((4, ITEMS), 7)
    ishmem.barrier_all()
    dpex.call_kernel(collect, dpex.NdRange((ITEMS,), (ITEMS,)), total, every, parts, root, source, status)
    ishmem.barrier_all()
    of_pes = np.arange(size) + np.arange(n)[:, None]
    assert (total.asnumpy() == of_pes.sum(0)).all()
    assert (every.asnumpy() == of_pes).all()
    assert (parts.asnumpy() == of_pes[me]).all()
    assert (root.asnumpy() == of_pes[0]).all()
    called = status.asnumpy()
    assert set(called.ravel()) <= {0, 7} and (called[:, 0] == 0).all()
    for array in (total, root, every, parts, source):
        ishmem.free(array)


@dpex.kernel
def in_a_loop(item: kapi.NdItem, counts, told, sums):
    group = item.get_sub_group()
    mine = 0
    for i in range(counts.size):
        if counts[i] > 0:  # the same for all work-items
            ishmem.broadcast_work_group(told[i : i + 1], counts[i : i + 1], 0, group)
            for k in range(group.get_local_id(), told[i], group.get_local_range()):
                mine += k
    sums[item.get_global_id(0)] = mine


@pytest.mark.ishmem
def test_collectives_in_a_loop_of_sub_groups() -> None:
    rng = np.random.default_rng(1)
    values = rng.integers(0, 40, 30)
    counts, told, sums = ishmem.array(values), ishmem.zeros(values.size, dtype="i8"), dpnp.zeros(16, dtype="i8")
    ishmem.barrier_all()
    dpex.call_kernel(in_a_loop, dpex.NdRange((16,), (16,)), counts, told, sums)
    assert sums.asnumpy().tolist() == [sum(sum(range(lane, value, 16)) for value in values) for lane in range(16)]
