"""Starts a second job with ISHMEM_CHECK, after kernels without it."""

import os

import ishmem
from ishmem import dpex


@dpex.kernel
def one(item, a):
    a[0] = ishmem.my_pe()


ishmem.init()
dpex.call_kernel(one, dpex.Range(1), ishmem.zeros(1))
ishmem.free_all()
ishmem.finalize()
os.environ["ISHMEM_CHECK"] = "1"
try:
    ishmem.init()
except ishmem.StateError as error:
    print("check=False" in str(error) and "check=True" in str(error))
