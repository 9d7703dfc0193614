"""Puts parts of rows with a signal."""

import numpy as np

import ishmem

with ishmem.init():
    box, flag, seen_by = ishmem.zeros((8, 16), dtype="i4"), ishmem.zeros(1, dtype="u8"), ishmem.zeros(1, dtype="i8")
    for turn in range(1, 16):
        if ishmem.my_pe() == 0:
            data = np.full((8, 16), turn, "i4")
            ishmem.put_signal(box[:, 4:12], data[:, 8:], flag, 1, ishmem.SIGNAL_ADD, 1, nelems=61)  # 7 rows and a part
            ishmem.wait_until(seen_by, ishmem.CMP_EQ, turn)  # a barrier would deliver all at once
        else:
            ishmem.signal_wait_until(flag, ishmem.CMP_GE, turn)
            seen = np.empty((8, 16), "i4")
            ishmem.get(seen, box, 1)
            assert (seen[:, 4:12].ravel()[:61] == turn).all(), seen
            ishmem.atomic_set(seen_by, turn, 0)
        ishmem.barrier_all()
