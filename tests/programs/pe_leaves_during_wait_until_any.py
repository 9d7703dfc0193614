"""PE 1 exits while PE 0 waits for any of several variables."""

import os

import ishmem

ishmem.init()
flags = ishmem.zeros(4, dtype="int64")
if ishmem.my_pe() == 1:
    os._exit(0)
try:
    ishmem.wait_until_any(flags, ishmem.CMP_EQ, 1)
except ishmem.PeerLost as error:
    print(f"lost {error.pe}: {error}", flush=True)
os._exit(0)
