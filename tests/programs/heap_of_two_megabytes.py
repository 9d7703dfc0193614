"""Fills a heap of 2 MB, and prints the error about one byte more."""

import sys

import ishmem

given = sys.argv[1]
ishmem.init(heap_size=int(given) if given.isdigit() else given) if len(sys.argv) == 2 else ishmem.init()
ishmem.free(ishmem.empty(2 << 20, dtype="uint8"))
try:
    ishmem.empty((2 << 20) + 1, dtype="uint8")
except ishmem.HeapExhausted as error:
    print(error)
ishmem.finalize()
