"""Makes collective calls in kernels with the layout of a large job."""

import ishmem
from ishmem.common import layout

layout.FULL_SLOTS, layout.WIDE_BYTES = 2, 4 * 2 * layout.LINE * 4  # as if this job were large
import dpnp
import numpy as np

from ishmem import dpex
from ishmem.dpex import kernel_api as kapi


@dpex.kernel
def talk(item: kapi.Item, big, other, small, source, counts, mixed, numbers, team):
    ishmem.fcollect(big, source, team)
    ishmem.alltoall(mixed, numbers, team)
    ishmem.sum_reduce(small, source, team)
    ishmem.barrier_all()
    ishmem.alltoallv(other, big, counts, counts, None, None, team)


with ishmem.init("64M"):
    me, n = ishmem.my_pe(), ishmem.n_pes()
    mixed, numbers = ishmem.zeros(n, dtype="i8"), ishmem.arange(n * me, n * (me + 1), dtype="i8")
    teams = [ishmem.TEAM_WORLD, *(ishmem.TEAM_WORLD.split_strided(0, 1, n) for _ in range(2))]
    assert [team.handle for team in teams] == [0, 4, 5], teams
    for team in teams:
        for count in (3, 40):
            source = ishmem.full(count, me + 1, dtype="i8")
            big, other = ishmem.zeros(n * count, dtype="i8"), ishmem.zeros(n * count, dtype="i8")
            small = ishmem.zeros(count, dtype="i8")
            counts = dpnp.full(n, count, dtype="i8")
            mixed[:] = 0
            ishmem.barrier_all()
            dpex.call_kernel(talk, kapi.Range(1), big, other, small, source, counts, mixed, numbers, team.handle)
            ishmem.barrier_all()
            assert (small.asnumpy() == n * (n + 1) // 2).all(), small
            assert (big.asnumpy() == np.repeat(np.arange(1, n + 1), count)).all(), big
            assert (other.asnumpy() == me + 1).all(), other
            assert (mixed.asnumpy() == np.arange(n) * n + me).all(), mixed
    ishmem.free_all()
print("right")
