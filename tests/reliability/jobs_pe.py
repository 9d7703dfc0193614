"""A PE of ``reliability jobs``: says hello to the next one."""

import ishmem

with ishmem.init(heap_size="1M"):
    me, n = ishmem.my_pe(), ishmem.n_pes()
    told = ishmem.zeros(1, dtype="i8")
    ishmem.p(told, me + 1, (me + 1) % n)
    ishmem.wait_until(told, ishmem.CMP_EQ, (me - 1) % n + 1)
    ishmem.barrier_all()
    ishmem.free(told)
print("well")
