"""Waits in vain, and prints the error; ends once all PEs have, since the others lose a PE that ends.

Its argument is a folder that all PEs see.
"""

import os
import sys
import time
from pathlib import Path

import ishmem

ishmem.init("8M")
flag = ishmem.zeros(1, dtype="i8")
try:
    ishmem.wait_until(flag, ishmem.CMP_EQ, 1)
except ishmem.WaitTimeout as error:
    print(error, flush=True)
Path(sys.argv[1], str(ishmem.my_pe())).touch()
limit = time.monotonic() + 60
while len(os.listdir(sys.argv[1])) < ishmem.n_pes() and time.monotonic() < limit:
    time.sleep(0.01)
os._exit(0)
