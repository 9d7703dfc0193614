"""Begins with calls of dpnp in several threads; the constructor that each extension runs in its first call is slow."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import dpctl.memory
import dpnp

import ishmem

of_dpctl, constructed, THREADS = dpctl.memory.MemoryUSMHost, [], 3


def construct(size, queue):
    if size == 1:  # as in dpctl4pybind11.hpp; others are of dpnp's copies to the host
        constructed.append(size)
        time.sleep(0.05)  # without the interpreter's lock
    return of_dpctl(size, queue=queue)


def begin_together(call):
    meeting = threading.Barrier(THREADS)
    with ThreadPoolExecutor(THREADS) as pool:
        ended = list(pool.map(lambda _: (meeting.wait(), call()), range(THREADS)))
    assert len(ended) == THREADS


dpctl.memory.MemoryUSMHost = construct
ishmem.init_thread(ishmem.THREAD_MULTIPLE)
during_init = len(constructed)
assert during_init, "init has called no extension"
counter = ishmem.zeros(1, dtype="i8")
begin_together(lambda: [ishmem.atomic_fetch_add(counter, 1, 0) for _ in range(5)])
ishmem.barrier_all()
assert ishmem.g(counter, 0) == 5 * THREADS * ishmem.n_pes()
for call in (
    lambda: dpnp.zeros(5),
    lambda: dpnp.arange(5),
    lambda: dpnp.sort(dpnp.arange(5)),
    lambda: dpnp.cumsum(dpnp.arange(5)),
    lambda: dpnp.sum(dpnp.arange(5)),
    lambda: dpnp.tensordot(dpnp.arange(5), dpnp.arange(5), axes=1),
    lambda: dpnp.bitwise_count(dpnp.arange(5)),
):
    begin_together(call)
assert len(constructed) == during_init, constructed
ishmem.free_all()
ishmem.finalize()
print("all threads have ended")
