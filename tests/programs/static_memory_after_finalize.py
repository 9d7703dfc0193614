"""Reads static memory after finalize."""

import ishmem

ishmem.init()
me = ishmem.my_pe()
a = ishmem.static("a", 3, "i4")
b = ishmem.ptr(a, 0)
ishmem.put(a, __import__("numpy").full(3, 5, "i4"), (me + 1) % ishmem.n_pes())
ishmem.barrier_all()
ishmem.finalize()
print("after", a.tolist(), b.tolist())
try:
    ishmem.static("a", 3, "i4")
except ishmem.StateError:
    print("state")
