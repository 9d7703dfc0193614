"""Has a heap within a pool of SYCL; prints where."""

import dpctl
import dpctl.memory
import numpy as np

# As large as the heap with its internal part, so that SYCL's pool puts them side by side.
before = [dpctl.memory.MemoryUSMDevice(9 << 19, queue=dpctl.SyclQueue("level_zero:gpu")) for _ in range(3)]
import ishmem

ishmem.init(heap_size="3M")
export = ishmem.runtime.job.current().heap._export
n, me = ishmem.n_pes(), ishmem.my_pe()
a = ishmem.zeros(300_000, dtype="float64")
for pe in range(n):
    ishmem.put(a[me * 1000 : me * 1000 + 1000], np.full(1000, me + 1.0), pe)
    ishmem.p(a, me + 1.0, pe, 299_990 + me)
ishmem.barrier_all()
assert a.asnumpy()[::1000][:n].tolist() == [pe + 1.0 for pe in range(n)], a[:8000:1000]
assert a.asnumpy()[299_990:].tolist()[:n] == [pe + 1.0 for pe in range(n)]
assert a.asnumpy().sum() == 1001 * n * (n + 1) / 2
ishmem.free(a)
ishmem.finalize()
print(export.offset > 0, export.fd_offset - export.offset, len(export.handles))
