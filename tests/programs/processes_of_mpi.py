"""Is a job on "all" processes of MPI or on every other one, while the program calls MPI itself."""

import sys

from mpi4py import MPI

import ishmem

world = MPI.COMM_WORLD
half = world if sys.argv[1] == "all" else world.Split(world.rank % 2, -world.rank)
with ishmem.init("64M", comm=half):
    assert (ishmem.my_pe(), ishmem.n_pes()) == (half.rank, half.size)
    a = ishmem.full(1, ishmem.my_pe(), dtype="i8")
    total = ishmem.zeros(1, dtype="i8")
    ishmem.sum_reduce(total, a)
    assert int(total[0]) == half.allreduce(half.rank)
    world.Barrier()
    ishmem.free_all()
assert world.allreduce(1) == world.size
print("right")
