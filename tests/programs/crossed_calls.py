"""Makes the collective calls of the arguments, on PE 1 in the reverse order."""

import sys
import time

import ishmem

ishmem.init()
me, n = ishmem.my_pe(), ishmem.n_pes()
x, y, flag = ishmem.ones(4), ishmem.zeros(4), ishmem.zeros(1, dtype="i8")
world = ishmem.TEAM_WORLD
first = world.split_strided(0, 1, n)
second = world.split_strided(n - 1, -1, n)
calls = {
    "barrier": ishmem.barrier_all,
    "sync": ishmem.sync_all,
    "reduce": lambda: ishmem.sum_reduce(y, x),
    "broadcast": lambda: ishmem.broadcast(y, x, 0),
    "alloc": lambda: ishmem.zeros(3),
    "split": lambda: world.split_strided(0, 1, n),
    "first": first.sync,
    "second": lambda: ishmem.sum_reduce(y, x, second),
}
for name in sys.argv[1:] if me != 1 else sys.argv[:0:-1]:
    if me == 2:
        time.sleep(0.3)
    calls[name]()
    print("after", name)
ishmem.finalize()
