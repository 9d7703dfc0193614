"""barrier_all and sync_all, on the host and in kernels; data movement of the host."""

from __future__ import annotations

import numpy as np
import pytest
from common import dpex, dpnp, kapi, same
from pes import Pool

import ishmem


def host_rounds(rounds: int, routine: str) -> None:
    """Every PE tells all others its round; nobody is ever seen to be behind, or more than one ahead."""
    me, n = ishmem.my_pe(), ishmem.n_pes()
    slots, seen = ishmem.zeros(n, dtype="int64"), np.empty(n, "int64")
    wait = getattr(ishmem, routine)
    for r in range(1, rounds + 1):
        for pe in range(n):
            ishmem.p(slots, r, pe, me)
        ishmem.quiet()
        wait()
        ishmem.get(seen, slots, me)
        assert seen.min() >= r, (r, seen)
        assert seen.max() <= r + 1, (r, seen)


@pytest.mark.parametrize("routine", ["barrier_all", "sync_all"])
def test_host(pes: Pool, routine: str) -> None:
    pes.run(host_rounds, 1200 // pes.n, routine)


def check_completes() -> None:
    """barrier_all completes what is outstanding: copies of off-heap arrays by the copy engine."""
    me, n = ishmem.my_pe(), ishmem.n_pes()
    slots = ishmem.zeros(1001 * n, dtype="int64")
    for r in range(20):
        for pe in range(n):
            ishmem.put_nbi(slots[1001 * me : 1001 * (me + 1)], dpnp.full(1001, r + me, dtype="int64"), pe)
        ishmem.barrier_all()
        same(slots, np.repeat(np.arange(n) + r, 1001))
        ishmem.barrier_all()


def test_barrier_completes(pes: Pool) -> None:
    pes.run(check_completes)


@dpex.kernel
def rounds_in_kernel(item: kapi.Item, slots, wrong, first, rounds):  # type: ignore
    me, n = ishmem.my_pe(), ishmem.n_pes()
    for r in range(first, first + rounds):
        for pe in range(n):
            ishmem.p(slots, r, pe, me)
        if r % 2:
            ishmem.barrier_all()
        else:
            ishmem.quiet()
            ishmem.sync_all()
        for pe in range(n):
            seen = ishmem.g(slots, me, pe)
            if seen < r or seen > r + 1:
                wrong[0] += 1


def check_kernel(rounds: int) -> None:
    """Barriers of several kernels, one after the other, and of the host in between."""
    n = ishmem.n_pes()
    slots, wrong = ishmem.zeros(n, dtype="int64"), dpnp.zeros(1, dtype="int64")
    dpex.call_kernel(rounds_in_kernel, kapi.Range(1), slots, wrong, 1, 0)
    ishmem.barrier_all()
    for part in range(3):
        dpex.call_kernel(rounds_in_kernel, kapi.Range(1), slots, wrong, 1 + part * rounds, rounds)
        if part:
            ishmem.barrier_all()
    ishmem.barrier_all()
    same(wrong, np.zeros(1, "int64"))
    same(slots, np.full(n, 3 * rounds))


def test_kernel(pes: Pool) -> None:
    pes.run(check_kernel, {1: 500, 2: 100, 3: 12, 4: 8}[pes.n])


@dpex.kernel
def rounds_by_group(item: kapi.NdItem, slots, rank, wrong, first, rounds):  # type: ignore
    group, me, n = item.get_group(), ishmem.my_pe(), ishmem.n_pes()
    size = rank.size
    mine = rank[0] * 0
    for axis in range(item.dimensions):
        mine = mine * item.get_local_range(axis) + item.get_local_id(axis)
    for r in range(first, first + rounds):
        for pe in range(n):
            ishmem.p(slots, r, pe, me * size + mine)
        if r % 2:
            ishmem.barrier_all_work_group(group)
        else:
            ishmem.quiet_work_group(group)
            ishmem.sync_all_work_group(group)
        for pe in range(n):
            seen = ishmem.g(slots, me, pe * size + (mine + 1) % size)
            if seen < r or seen > r + 1:
                wrong[mine] += 1


def check_group(shape: tuple[int, ...], rounds: int) -> None:
    """What any work-item of any PE wrote before is there for every work-item after."""
    n, size = ishmem.n_pes(), int(np.prod(shape))
    slots, wrong = ishmem.zeros(n * size, dtype="int64"), dpnp.zeros(size, dtype="int64")
    rank, space = dpnp.zeros(size, dtype="int64"), kapi.NdRange(shape, shape)
    dpex.call_kernel(rounds_by_group, space, slots, rank, wrong, 1, 0)
    ishmem.barrier_all()
    dpex.call_kernel(rounds_by_group, space, slots, rank, wrong, 1, rounds)
    ishmem.barrier_all()
    same(wrong, np.zeros(size, "int64"))
    same(slots, np.full(n * size, rounds))


def test_group(pes: Pool) -> None:
    for shape in ((7,), (24,)):
        pes.run(check_group, shape, {1: 50, 2: 20, 3: 8, 4: 6}[pes.n])


@pytest.mark.pes(2)
@pytest.mark.parametrize("shape", [(1,), (5, 7), (3, 5, 2)], ids=str)
def test_group_dimensions(pes: Pool, shape: tuple[int, ...]) -> None:
    pes.run(check_group, shape, 20)


def check_movement(count: int) -> None:
    me, n = ishmem.my_pe(), ishmem.n_pes()
    blocks = np.array([[[1000 * pe + 100 * j + k for k in range(count)] for j in range(n)] for pe in range(n)])
    one, all_ = ishmem.array(blocks[me, 0]), ishmem.array(blocks[me].ravel())
    small, large = ishmem.zeros_like(one), ishmem.zeros_like(all_)
    for root in range(n):
        ishmem.broadcast(small, one, root)
        same(small, blocks[root, 0])
        ishmem.scatter(small, all_, root)
        same(small, blocks[root, me])
        large[:] = 0
        ishmem.gather(large, one, root)
        same(large, blocks[:, 0].ravel() * (me == root))
        ishmem.scatterv(small[:me], all_, list(range(n)), root, [count * j for j in range(n)])
        same(small[:me], blocks[root, me, :me])
        ishmem.gatherv(large, one[:me], list(range(n)), root)
        if me == root:
            same(large[: n * (n - 1) // 2], np.concatenate([blocks[j, 0, :j] for j in range(n)]))
    for fcollect in (ishmem.fcollect, ishmem.collect):
        fcollect(large, one)
        same(large, blocks[:, 0].ravel())
    ishmem.alltoall(large, all_)
    same(large, blocks[:, me].ravel())
    ishmem.alltoalls(large, all_, 1, 2, count // 2)
    same(large[: n * (count // 2)], blocks.reshape(n, -1)[:, : n * count // 2 * 2 : 2].reshape(n, n, -1)[:, me].ravel())
    ishmem.alltoallv(large, all_, [count] * n, [count] * n)
    same(large, blocks[:, me].ravel())


def test_movement(pes: Pool) -> None:
    pes.run(check_movement, 10)
