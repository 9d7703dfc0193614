"""A kernel of PE 0 waits in vain."""

import time

import ishmem
from ishmem import dpex
from ishmem.dpex import kernel_api as kapi


@dpex.kernel
def hang(item, flag):
    ishmem.wait_until(flag, ishmem.CMP_EQ, 1)


ishmem.init()
flag = ishmem.zeros(4, dtype="i8")
if ishmem.my_pe() == 0:
    dpex.call_kernel(hang, kapi.Range(1), flag)
else:
    time.sleep(600)
