"""PE 0 changes the source of a put before the next quiet; it raises after PE 1 has left the barrier."""

import numpy as np

import ishmem

with ishmem.init():
    box, data = ishmem.zeros(8, dtype="i4"), np.ones(8, "i4")
    if ishmem.my_pe() == 0:
        ishmem.put_nbi(box, data, 1)  # the put
        data[:] = 2
    ishmem.barrier_all()
