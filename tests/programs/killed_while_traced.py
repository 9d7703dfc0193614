"""PE 1 is killed between two barriers."""

import os
import signal

import numpy as np

import ishmem

ishmem.init()
box = ishmem.zeros(10)
ishmem.put(box, np.ones(10), 1 - ishmem.my_pe())
ishmem.barrier_all()
if ishmem.my_pe():
    os.kill(os.getpid(), signal.SIGKILL)
ishmem.barrier_all()
