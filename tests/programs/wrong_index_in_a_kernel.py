"""Puts in a kernel to an element that no array has."""

import ishmem
from ishmem import dpex


@dpex.kernel
def far(item, a, pe):
    ishmem.p(a, 1, pe, index=1 << 44)


ishmem.init()
a = ishmem.zeros(4, dtype="i8")
if ishmem.my_pe():
    dpex.call_kernel(far, dpex.Range(1), a, 0)
ishmem.barrier_all()
