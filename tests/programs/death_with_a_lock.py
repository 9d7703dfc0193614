"""PE 1 dies with a lock that PE 0 waits for."""

import os
import signal

import ishmem

ishmem.init()
locks = ishmem.zeros(1, dtype="i8")
if ishmem.my_pe() == 1:
    ishmem.set_lock(locks)
ishmem.barrier_all()
if ishmem.my_pe() == 1:
    os.kill(os.getpid(), signal.SIGKILL)
signal.signal(signal.SIGTERM, signal.SIG_IGN)  # ishmem run ends the others
try:
    ishmem.set_lock(locks)
except ishmem.PeerLost as error:
    print("lost", error.pe, flush=True)
    os._exit(3)
