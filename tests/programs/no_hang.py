"""PE 1 comes to a barrier late."""

import time

from victim import me, start

import ishmem

start()
time.sleep(1.5 * (me == 1))
ishmem.barrier_all()
ishmem.free_all()
ishmem.finalize()
