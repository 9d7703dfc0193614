"""Allocates memory of the device until SYCL refuses, and puts to the other PE afterwards."""

import dpctl.memory
import numpy as np

import ishmem

ishmem.init()
me, big = ishmem.my_pe(), np.arange(100_000, dtype="u1")
a = ishmem.array(np.zeros(100_000, "u1"))
n = ishmem.array(np.zeros(4, "i8"))
ishmem.barrier_all()
kept, raised = [], ""
try:
    for _ in range(20):
        kept.append(dpctl.memory.MemoryUSMDevice(16 << 20))
except Exception as error:
    raised = type(error).__name__
ishmem.put(a, big, 1 - me)
ishmem.barrier_all()
print(raised, (a.asnumpy() == big).all())
ishmem.free_all()
ishmem.finalize()
