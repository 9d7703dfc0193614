"""PE 1 exits while the others are in the call of the argument."""

import os
import sys
import time

import ishmem

ishmem.init(heap_size="1M")
cell, me = ishmem.zeros(1, dtype="int64"), ishmem.my_pe()
if me == 1:
    os._exit(0)
start = time.monotonic()
try:
    if sys.argv[1] == "wait":
        ishmem.wait_until(cell, ishmem.CMP_NE, 0)
    else:
        getattr(ishmem, sys.argv[1])()
except ishmem.PeerLost as error:
    assert error.pe == 1 and "PE 1" in str(error) and time.monotonic() - start < 10, error
    assert sys.argv[1] == "finalize" or not (ishmem.pe_accessible(1) or ishmem.addr_accessible(cell, 1))
    print("told", me)
os._exit(0)
