"""Launches a kernel with more local memory than there is."""

import ishmem
from ishmem import dpex
from ishmem.dpex import kernel_api as kapi


@dpex.kernel
def greedy(item: kapi.NdItem, a, scratch):
    scratch[item.get_local_id(0)] = 1
    a[0] = scratch[0]


ishmem.init()
a = ishmem.zeros(4, dtype="i8")
ishmem.quiet()
try:
    # More local memory than there is: the launch fails, and numba-dpex does not say so.
    dpex.call_kernel(greedy, kapi.NdRange((1,), (1,)), a, kapi.LocalAccessor((1 << 27,), dtype=a.dtype))
    ishmem.quiet()
except ishmem.LevelZeroError as error:
    print(error.call, error.result)
