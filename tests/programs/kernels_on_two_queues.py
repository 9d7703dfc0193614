"""Kernels on two queues of a device wait for each other."""

import dpctl
from common import dpex, kapi

from ishmem.environment.arrays import tensor as dpt


@dpex.kernel
def bounce(item: kapi.Item, a, me):
    mine, other = kapi.AtomicRef(a, index=me), kapi.AtomicRef(a, index=1 - me)
    for turn in range(1, 1001):
        mine.store(turn)
        while other.load() < turn:
            pass


class View:
    def __init__(self, array, queue):
        self.__sycl_usm_array_interface__ = dict(array.__sycl_usm_array_interface__, syclobj=queue)


queues = [dpctl.SyclQueue("level_zero:gpu:0") for _ in range(2)]
a = dpt.zeros(2, dtype="i8", sycl_queue=queues[0])
both = [a, dpt.usm_ndarray(a.shape, dtype=a.dtype, buffer=dpctl.memory.as_usm_memory(View(a, queues[1])))]
events = [dpex.call_kernel_async(bounce, kapi.Range(1), (), both[me], me) for me in range(2)]
for host, event in events:
    event.wait(), host.wait()
print(dpt.asnumpy(a))
