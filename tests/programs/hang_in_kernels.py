"""The kernels of all PEs wait in vain."""

from victim import start

import ishmem
from ishmem import dpex
from ishmem.dpex import kernel_api as kapi


@dpex.kernel
def wait(item: kapi.Item, a, value):
    ishmem.wait_until(a, ishmem.CMP_EQ, value)


a, _ = start()
dpex.call_kernel(wait, kapi.Range(1), a, 0)
ishmem.barrier_all()
dpex.call_kernel(wait, kapi.Range(1), a, 9)  # kernel
