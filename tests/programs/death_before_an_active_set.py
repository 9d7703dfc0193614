"""PE 1 dies before the PEs make an active set."""

import os
import signal

import ishmem

ishmem.init()
signal.signal(signal.SIGTERM, signal.SIG_IGN)  # ishmem run ends the others
if ishmem.my_pe() == 1:
    os.kill(os.getpid(), signal.SIGKILL)
try:
    ishmem.active_set(0, 1, 2)
except ishmem.PeerLost as error:
    print("lost", error.pe, flush=True)
    os._exit(3)
