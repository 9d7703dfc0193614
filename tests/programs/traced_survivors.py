"""PE 1 dies; the others sum over the team of those that are left, which has no stride."""

import os

import ishmem

with ishmem.init():
    a, b = ishmem.ones(3, dtype="i4"), ishmem.zeros(3, dtype="i4")
    if ishmem.my_pe() == 1:
        os._exit(1)
    try:
        ishmem.barrier_all()
    except ishmem.PeerLost:
        left = ishmem.shrink()
        ishmem.sum_reduce(b, a, left)
        assert b.asnumpy().tolist() == [3, 3, 3]
