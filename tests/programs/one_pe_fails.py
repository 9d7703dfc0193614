"""PE 1 fails in the way of the argument; the others tell what their barrier raises."""

import os
import signal
import sys
import time

import ishmem


def fail():
    raise SystemError("mine")


FAILURES = {
    "error": fail,
    "sys.exit": lambda: sys.exit(7),
    "os._exit": lambda: os._exit(7),
    "SIGKILL": lambda: os.kill(os.getpid(), signal.SIGKILL),
}

signal.signal(signal.SIGTERM, signal.SIG_IGN)  # so that they live to tell
ishmem.init()
ishmem.barrier_all()
if ishmem.my_pe() == 1:
    FAILURES[sys.argv[1]]()
try:
    ishmem.barrier_all()
except ishmem.PeerLost as error:
    assert error.pe == 1 and "PE 1" in str(error)
    print("told", flush=True)
    time.sleep(1)  # the other PE that lives is told of PE 1, not of this one
os._exit(0)
