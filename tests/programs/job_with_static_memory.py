"""Waits for a line on standard input, and checks that nobody has changed its arrays meanwhile."""

import os
import sys

import ishmem

ishmem.init("8M")
a = ishmem.full(4, 7, dtype="i8")
kept = ishmem.static("kept", 4, "i8")
ishmem.barrier_all()
os.write(1, b"ready %d\n" % ishmem.my_pe())
if ishmem.my_pe() == 0:
    sys.stdin.readline()
ishmem.barrier_all()
assert a.asnumpy().tolist() == [7] * 4 and not kept.any()
ishmem.finalize()
os.write(1, b"whole\n")
