"""Joins a job by a unique id; arguments: the id, rank and number of ranks."""

import sys

import ishmem

uid, rank, nranks = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
with ishmem.init(heap_size="1M", uid=uid, rank=rank, nranks=nranks):
    a = ishmem.zeros(1, dtype="int64")
    ishmem.atomic_add(a, ishmem.my_pe() + 1, 0)
    ishmem.barrier_all()
    print(ishmem.my_pe(), ishmem.n_pes(), ishmem.g(a, 0))
    ishmem.barrier_all()
    ishmem.free(a)
