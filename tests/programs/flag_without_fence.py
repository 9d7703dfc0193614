"""Puts and sets a flag without a fence between them."""

import numpy as np

import ishmem

with ishmem.init():
    me, n = ishmem.my_pe(), ishmem.n_pes()
    box, flag = ishmem.zeros(8, dtype="i4"), ishmem.zeros(1, dtype="i8")
    for turn in range(1, 30):
        ishmem.put(box[2:], np.full(6, turn, "i4"), (me + 1) % n)  # the put
        ishmem.atomic_set(flag, turn, (me + 1) % n)  # the flag
        ishmem.wait_until(flag, ishmem.CMP_EQ, turn)
        seen = np.empty(8, "i4")
        ishmem.get(seen, box, me)
        assert (seen[2:] == turn).all(), "the data are not there"
        ishmem.barrier_all()
