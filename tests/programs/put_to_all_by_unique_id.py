"""Joins a job by a unique id; arguments: the id, rank, number of ranks, status for global_exit."""

import sys

import ishmem

job, rank, nranks = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
uid = job.encode() if rank else job
with ishmem.init("8M", uid=uid, rank=rank, nranks=nranks):
    a = ishmem.zeros(nranks, dtype="i8")
    for pe in range(nranks):
        ishmem.p(a, rank + 1, pe, rank)
    ishmem.barrier_all()
    assert (ishmem.my_pe(), ishmem.n_pes()) == (rank, nranks)
    assert a.asnumpy().tolist() == list(range(1, nranks + 1))
    if len(sys.argv) > 4 and rank == 1:
        ishmem.global_exit(int(sys.argv[4]))
    ishmem.barrier_all()
print("good")
