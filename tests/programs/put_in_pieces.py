"""Puts and gets payloads larger than one MPI message."""

import numpy as np

import ishmem
from ishmem.runtime import network

network.PIECE = 100_000
with ishmem.init("64M"):
    me, n = ishmem.my_pe(), ishmem.n_pes()
    a = ishmem.zeros(1_000_001, dtype="u1")
    data = (np.arange(1_000_001) % 251 + me).astype("u1")
    ishmem.put(a, data, (me + 1) % n)
    ishmem.barrier_all()
    back = np.zeros_like(data)
    ishmem.get(back, a, (me + 1) % n)
    np.testing.assert_array_equal(back, data)
    ishmem.free_all()
print("right")
