"""Leaves two allocations to finalize, and prints what it says."""

import warnings

import ishmem

ishmem.init(heap_size="1M")
kept = ishmem.zeros((3, 5), dtype="float32")
freed = ishmem.ones(4)
ishmem.malloc(77)
ishmem.free(freed)
warnings.simplefilter("always")
with warnings.catch_warnings(record=True) as caught:
    try:
        ishmem.finalize()
    except ishmem.IshmemError as error:
        print("error", error)
for one in caught:
    print("warning", one.category.__name__, one.message)
