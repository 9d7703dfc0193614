"""Finalises while operations on queues wait for each other."""

import dpctl
import numpy as np

import ishmem

ishmem.init()
me, n = ishmem.my_pe(), ishmem.n_pes()
out, flag = ishmem.zeros(1 << 20, dtype="i4"), ishmem.zeros(1, dtype="i8")
ishmem.barrier_all()
queue = dpctl.SyclQueue(out.sycl_context, out.sycl_device)
wait = ishmem.wait_until_on_queue(flag, ishmem.CMP_EQ, 1, queue)
host = np.zeros(1 << 20, "i4")
ishmem.put_on_queue(out, np.full(1 << 20, me + 1, "i4"), (me + 1) % n, None, [wait])
ishmem.get_on_queue(host, out, me, None)
ishmem.put_on_queue(flag, np.ones(1, "i8"), (me + 1) % n, dpctl.SyclQueue(out.sycl_context, out.sycl_device))
ishmem.finalize()
print("last", host.min() in (0, (me - 1) % n + 1), host[0] in (0, (me - 1) % n + 1))
