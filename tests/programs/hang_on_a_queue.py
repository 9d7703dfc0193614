"""PE 0 waits on a queue for a value that nobody stores."""

import ishmem

with ishmem.init():
    flag = ishmem.zeros(1, dtype="i8")
    if ishmem.my_pe() == 0:
        ishmem.wait_until_on_queue(flag, ishmem.CMP_EQ, 1).wait()
    ishmem.barrier_all()
