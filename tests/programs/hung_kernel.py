"""Launches a kernel that ends, and one that waits in vain."""

import ishmem
from ishmem import dpex
from ishmem.dpex import kernel_api as kapi


@dpex.kernel
def hang(item: kapi.Item, a, runs, number):
    ishmem.p(runs, 1, 0, number)
    ishmem.wait_until(a, ishmem.CMP_EQ, 1)


with ishmem.init():
    a, runs = ishmem.zeros(1, dtype="i8"), ishmem.zeros(2, dtype="i8")
    dpex.call_kernel(hang, kapi.Range(1), ishmem.ones(1, dtype="i8"), runs, 0)
    print(ishmem.host_view(runs)[1:].ctypes.data, flush=True)
    dpex.call_kernel(hang, kapi.Range(1), a, runs, 1)
    ishmem.quiet()
