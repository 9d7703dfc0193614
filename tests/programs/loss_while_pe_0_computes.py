"""PE 1 is killed while PE 0 runs compiled code that holds the interpreter's lock; PE 2 tells what it gets."""

import ctypes
import os
import signal
import time

import ishmem
from ishmem.common.errors import PeerLost

ishmem.init()
me = ishmem.my_pe()
ishmem.barrier_all()
if me == 0:
    ctypes.PyDLL(None).sleep(60)
elif me == 1:
    time.sleep(0.3)
    os.kill(os.getpid(), signal.SIGKILL)
try:
    ishmem.barrier_all()
except PeerLost as error:
    print("told", error, flush=True)
