"""PE 1 exits, or raises with the argument "raise", with operations on a queue outstanding."""

import os
import sys

import ishmem

ishmem.init()
flag = ishmem.zeros(1, dtype="i8")
ishmem.barrier_all()
event = ishmem.wait_until_on_queue(flag, ishmem.CMP_EQ, 1)
ishmem.put_on_queue(flag, flag, 0, None, [event])
if ishmem.my_pe() == 1:
    if sys.argv[1] == "raise":
        raise SystemError("on purpose")
    os._exit(0)
event.wait()
try:
    ishmem.quiet_on_queue()
except ishmem.PeerLost as error:
    print("told", error.pe)
    sys.exit(5)
