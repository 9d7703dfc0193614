"""Ends without finalize."""

import ishmem

ishmem.init()
a = ishmem.zeros(4)
ishmem.barrier_all()
print("end")
