"""Launches a kernel twice, and prints what PEs raise whose kernel does not build."""

import ishmem
from ishmem import dpex
from ishmem.dpex import kernel_api as kapi


@dpex.kernel
def fill(item: kapi.Item, a):
    a[item.get_id(0)] = 7


with ishmem.init():
    a = ishmem.zeros(4, dtype="i8")
    for _ in range(2):
        try:
            dpex.call_kernel(fill, kapi.Range(4), a)
            print("launched")
        except ishmem.IshmemError as error:
            print("told", str(error).replace("\n", "|"))
    ishmem.barrier_all()
    print("sum", int(a.asnumpy().sum()))
    ishmem.free_all()
