"""Makes the collective calls of the arguments in kernels, on PE 1 in the reverse order."""

import sys

import ishmem
from ishmem import dpex
from ishmem.dpex import kernel_api as kapi


@dpex.kernel
def reduce(item, y, x, team):
    ishmem.sum_reduce(y, x, team)


@dpex.kernel
def barrier(item, y, x, team):
    ishmem.barrier_all()


@dpex.kernel
def reduce_world(item, y, x, team):
    ishmem.sum_reduce(y, x)


@dpex.kernel
def sync(item, y, x, team):
    ishmem.team_sync(team)


ishmem.init()
me, n = ishmem.my_pe(), ishmem.n_pes()
x, y = ishmem.ones(4, dtype="i8"), ishmem.zeros(4, dtype="i8")
second = ishmem.TEAM_WORLD.split_strided(n - 1, -1, n)
for name in sys.argv[1:] if me != 1 else sys.argv[:0:-1]:
    dpex.call_kernel(globals()[name], kapi.Range(1), y, x, second)
    print("after", name)
ishmem.finalize()
