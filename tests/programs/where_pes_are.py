"""PE 1 dies when two PEs have waited for long and one sleeps."""

import time

from victim import VICTIM, end, me, start, until

import ishmem

a, _ = start()
if me == VICTIM:
    until(lambda board: board[0].since and board[2].since)
    time.sleep(0.5)
    end()
elif me == 0:
    ishmem.barrier_all()  # barrier
elif me == 2:
    ishmem.wait_until(a, ishmem.CMP_GE, 9, 1)  # wait
elif me == 3:
    time.sleep(9)  # sleep
