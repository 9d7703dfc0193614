"""PE 1 differs from the others: in the size of its heap, or in its release of ishmem, as is asked."""

import os
import sys

import ishmem

differs = os.environ.get("PMI_RANK", os.environ.get("ISHMEM_PE")) == "1"
if differs and sys.argv[1] == "release":
    ishmem.__version__ = "99.9"
try:
    ishmem.init(heap_size="5000001" if differs and sys.argv[1] == "heap" else "5000000")
except ishmem.IshmemError as error:
    assert not ishmem.is_initialized()
    print(error)
