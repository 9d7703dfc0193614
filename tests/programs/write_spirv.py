"""Compiles a kernel, and writes its SPIR-V to the file of the argument."""

import sys
from pathlib import Path

import ishmem
from ishmem import dpex
from ishmem.dpex import kernel_api as kapi
from ishmem.dpex.cache.store import Store


@dpex.kernel
def pass_to(item: kapi.Item, dest, source, counter, pe):
    ishmem.put(dest, source, pe)
    ishmem.atomic_add(counter, 1, pe)


Store.put = lambda store, key, value: Path(sys.argv[1]).write_bytes(value.partition(b"\0")[2])
with ishmem.init("8M"):
    a = ishmem.zeros(5, dtype="i8")
    dpex.call_kernel(pass_to, kapi.Range(1), a, a, a, 0)
