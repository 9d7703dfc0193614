"""Each PE's kernels and host calls reach all PEs; prints the routes."""

import ishmem
from ishmem import dpex
from ishmem.dpex import kernel_api as kapi


@dpex.kernel
def update(item: kapi.Item, a, pe):
    ishmem.atomic_add(a, 1, pe, 0)
    ishmem.p(a, 5, pe, 1)


with ishmem.init(heap_size="4M"):
    me, n = ishmem.my_pe(), ishmem.n_pes()
    a, total, mine = (ishmem.zeros(4, dtype="int64") for _ in range(3))
    mine[:] = me + 1
    for pe in range(n):
        dpex.call_kernel(update, kapi.Range(4), a, pe)
        ishmem.p(a, me + 10, pe, 2 + (me == n - 1))
    ishmem.barrier_all()
    ishmem.sum_reduce(total, mine)
    assert a.asnumpy()[[0, 1, 3]].tolist() == [4 * n, 5, n + 9], a
    assert set(total.asnumpy().tolist()) == {n * (n + 1) // 2}, total
    heap = ishmem.runtime.job.current().heap
    words = [str(me), *(route.name for route in heap.routes), heap.own_device.uuid.hex()]
    print(" ".join(words) + "\n", end="", flush=True)  # at once: other PEs print, too
    for each in (a, total, mine):
        ishmem.free(each)
