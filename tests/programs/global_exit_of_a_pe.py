"""One PE calls global_exit; arguments: the PE, the status, and where the others are."""

import sys
import threading
import time

import ishmem
from ishmem import dpex
from ishmem.dpex import kernel_api as kapi

who, status, where = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
ishmem.init()
me = ishmem.my_pe()
flag = ishmem.zeros(1, dtype="i8")


@dpex.kernel
def spin(item: kapi.Item, flag):
    ishmem.wait_until(flag, ishmem.CMP_EQ, 1)


ishmem.barrier_all()
print("flushed", end="")
if me == who:
    time.sleep(1.0 if where == "kernel" else 0.1)
    if where == "thread":
        threading.Thread(target=ishmem.global_exit, args=(status,)).start()
        ishmem.wait_until(flag, ishmem.CMP_EQ, 1)
    ishmem.global_exit(status)
elif where == "kernel":
    dpex.call_kernel(spin, kapi.Range(1), flag)
elif where == "barrier":
    ishmem.barrier_all()
elif where == "event":
    ishmem.wait_until_on_queue(flag, ishmem.CMP_EQ, 1).wait()
elif where == "sleep":
    time.sleep(100)
else:
    ishmem.wait_until(flag, ishmem.CMP_EQ, 1)
print("not reached")
