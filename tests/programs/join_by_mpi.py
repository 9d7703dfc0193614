"""Joins a job by the communicator of MPI."""

from mpi4py import MPI

import ishmem

ishmem.init("8M", comm=MPI.COMM_WORLD)
assert (ishmem.my_pe(), ishmem.n_pes()) == (MPI.COMM_WORLD.Get_rank(), MPI.COMM_WORLD.Get_size())
ishmem.finalize()
print("good")
