"""PE 0 waits for memory of another node, whose PE is stopped meanwhile: in a get or in an atomic."""

import os
import signal
import subprocess
import sys
import time

import numpy as np

import ishmem

with ishmem.init():
    a, got, longest = ishmem.zeros(4, dtype="i8"), np.empty(4, "i8"), 0.0
    if ishmem.my_pe() == 1:
        ishmem.wait_until(a, ishmem.CMP_EQ, 1)
        subprocess.Popen(["sh", "-c", f"sleep 4; kill -CONT {os.getpid()}"])
        os.kill(os.getpid(), signal.SIGSTOP)
    else:
        ishmem.p(a, 1, 1)
        while longest < 2:
            begun = time.monotonic()
            ishmem.get(got, a, 1) if sys.argv[1] == "get" else ishmem.atomic_fetch(a, 1)
            longest = max(longest, time.monotonic() - begun)
