"""A kernel waits for one that the device runs after it: behind it in its queue, or on another queue, as is asked."""

import sys
import time

import dpctl

import ishmem
from ishmem import dpex
from ishmem.dpex import kernel_api as kapi


@dpex.kernel
def waiter(flag):
    ishmem.wait_until(flag, ishmem.CMP_EQ, 1)


@dpex.kernel
def setter(flag):
    ishmem.atomic_set(flag, 1, ishmem.my_pe())


ishmem.init()
flag = ishmem.zeros(1, dtype="i8")
queues = [dpctl.SyclQueue(flag.sycl_context, flag.sycl_device, property="in_order") for _ in range(2)]
first, second = (flag.to_device(queue) for queue in (queues if sys.argv[1] == "two" else queues[:1] * 2))
dpex.call_kernel(setter, kapi.Range(1), second)  # compiled before the time-out begins
ishmem.p(flag, 0, ishmem.my_pe())
dpex.call_kernel_async(waiter, kapi.Range(1), (), first)
time.sleep(2)  # the time-out is that of the first kernel, whatever Python does meanwhile
dpex.call_kernel_async(setter, kapi.Range(1), (), second)[1].wait()
print("ended")
