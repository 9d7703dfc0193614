"""PEs come late to collective calls, and two threads of each are in different teams."""

import threading
import time

import ishmem

ishmem.init()
me, n = ishmem.my_pe(), ishmem.n_pes()
x, y, flag = ishmem.ones(4), ishmem.zeros(4), ishmem.zeros(1, dtype="i8")
first = ishmem.TEAM_WORLD.split_strided(0, 1, n)
for round in range(3):  # each PE in turn is late, in each kind of call
    for call in (ishmem.barrier_all, lambda: ishmem.sum_reduce(y, x), first.sync, lambda: ishmem.zeros(2)):
        if round % n == me:
            time.sleep(0.3)
        call()


# Two threads of each PE, in different teams, in another order on each PE: no deadlock.
def work(mine):
    if mine:
        time.sleep(0.5)
    first.sync() if mine else ishmem.sync_all()


threads = [threading.Thread(target=work, args=((k + me) % 2,)) for k in range(2)]
for thread in threads:
    thread.start()
    time.sleep(0.7)
for thread in threads:
    thread.join()
print("done")
