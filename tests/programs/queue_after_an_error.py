"""Leaves a job by an exception with operations outstanding on a queue, and waits for the queue afterwards."""

import os

import dpnp

import ishmem

try:
    with ishmem.init():
        flag = ishmem.zeros(1, dtype="i8")
        queue = flag.sycl_queue
        ishmem.wait_until_on_queue(flag, ishmem.CMP_EQ, 1)
        ishmem.put_on_queue(flag, flag, 0)
        raise ValueError("on purpose")
except ValueError:
    queue.wait()
    print(dpnp.arange(3, sycl_queue=queue), flush=True)
os._exit(0)
