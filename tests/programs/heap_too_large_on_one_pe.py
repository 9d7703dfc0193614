"""Asks for a heap that is too large, on PE 1 only."""

import os

import ishmem

try:
    ishmem.init(heap_size="100T" if os.environ["ISHMEM_PE"] == "1" else None)
except ishmem.IshmemError as error:
    assert not ishmem.is_initialized()
    print(error)
