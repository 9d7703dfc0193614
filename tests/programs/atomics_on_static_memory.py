"""Adds to static memory of all PEs."""

import ishmem

ishmem.init()
a = ishmem.static("a", 4, "int64")
for pe in range(ishmem.n_pes()):
    ishmem.atomic_add(a, 1, pe, 1)
ishmem.barrier_all()
print("sum", a.tolist())
ishmem.finalize()
