"""Sums of all PEs; a PE of the job whose argument is "killed" is killed meanwhile."""

import os
import signal
import sys

import ishmem

ishmem.init(heap_size="4M")
mine, sums = ishmem.full(100, ishmem.my_pe() + 1, dtype="i8"), ishmem.zeros(100, dtype="i8")
for turn in range(500):
    ishmem.sum_reduce(sums, mine)
    assert (sums.asnumpy() == 3).all()
    if turn == 100 and sys.argv[1] == "killed" and ishmem.my_pe() == 0:
        os.kill(os.getpid(), signal.SIGKILL)
print("right")
