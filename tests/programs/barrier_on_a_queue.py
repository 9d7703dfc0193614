"""Uses a queue, and no kernels."""

import ishmem

with ishmem.init():
    ishmem.barrier_all_on_queue().wait()
    print("through")
