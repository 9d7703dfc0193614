"""PE 0 waits for 3 seconds."""

import time

import ishmem

ishmem.init()
flag = ishmem.zeros(1, dtype="i8")
if ishmem.my_pe() == 1:
    time.sleep(3)
    ishmem.atomic_set(flag, 1, 0)
elif ishmem.my_pe() == 0:
    ishmem.wait_until(flag, ishmem.CMP_EQ, 1)
ishmem.finalize()
