"""Each PE sees its own device only."""

import os

os.environ["ZE_AFFINITY_MASK"] = os.environ["ISHMEM_PE"]
os.environ["ONEAPI_DEVICE_SELECTOR"] = "level_zero:0"
import numpy as np

import ishmem

with ishmem.init(heap_size="1M"):
    me = ishmem.my_pe()
    a = ishmem.zeros(4, dtype="int64")
    ishmem.put(a, np.full(4, me + 1), 1 - me)
    ishmem.barrier_all()
    ishmem.atomic_add(a, 10, 1 - me)
    ishmem.barrier_all()
    print(ishmem.runtime.job.current().heap.routes[1 - me].name, a.asnumpy().tolist())
    ishmem.free(a)
