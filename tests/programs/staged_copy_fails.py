"""Puts by the staging of the network until the copy engine fails; prints what each PE raises."""

import os

import ishmem
from ishmem import _core

ishmem.init("8M")
me = ishmem.my_pe()
source, dest = (ishmem.zeros(1 << 20, dtype="u1") for _ in range(2))
ishmem.barrier_all()
puts = 0
try:
    while me:
        ishmem.put(dest, source, 0)
        puts += 1
        ishmem.quiet()
    ishmem.barrier_all()
except Exception as error:
    told = f"told {me} {_core.staged_payloads() == puts > 20} {type(error).__name__} {error}\n"
    os.write(1, told.encode())  # at once: the PEs share a pipe
    raise SystemExit(5) from None
