"""Two PEs use kernels, copies and queues, of which one PE's are slow."""

import numpy as np

import ishmem
from ishmem import dpex
from ishmem.dpex import kernel_api as kapi


@dpex.kernel
def touch(item: kapi.Item, n):
    n[0] = 1


ishmem.init()
me, big = ishmem.my_pe(), np.arange(100_000, dtype="u1")
a, n = ishmem.array(np.zeros(100_000, "u1")), ishmem.array(np.zeros(4, "i8"))
b, signal = ishmem.array(np.zeros(100_000, "u1")), ishmem.static("signal", 1, "u8")
ishmem.barrier_all()
for _ in range(3):
    dpex.call_kernel(touch, kapi.Range(1), n)
    ishmem.put(a, big, 1 - me)
    ishmem.quiet()
    ishmem.barrier_all()
    ishmem.put_on_queue(b, a, 1 - me)
    ishmem.put_signal_on_queue(b, a, signal, 1, ishmem.SIGNAL_SET, 1 - me)
    ishmem.barrier_all_on_queue().wait()
    back = np.empty_like(big)
    ishmem.get(back, b, 1 - me)
    assert (back == big).all() and (b.asnumpy() == big).all() and n.asnumpy()[0] == 1
    ishmem.barrier_all()
ishmem.free_all()
ishmem.finalize()
print("right")
