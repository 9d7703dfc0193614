"""PE 1 leaves while the others are in a call: the arguments are the call, and "exit", "kill" or "finalize"."""

import os
import signal
import sys

import ishmem

call, how = sys.argv[1:]
ishmem.init(heap_size="2M")
me, n = ishmem.my_pe(), ishmem.n_pes()
cells, a, b = ishmem.zeros(4, dtype="i8"), ishmem.zeros(40000), ishmem.zeros(40000)
team = ishmem.TEAM_WORLD.split_strided(n - 1, -1, n)
calls = {
    "wait_until": lambda: ishmem.wait_until(cells, ishmem.CMP_NE, 0),
    "wait_until_any": lambda: ishmem.wait_until_any(cells, ishmem.CMP_EQ, 1),
    "set_lock": lambda: ishmem.set_lock(cells, 1),
    "barrier_all": ishmem.barrier_all,
    "sync_all": ishmem.sync_all,
    "team_sync": team.sync,
    "active_set": lambda: ishmem.active_set(0, 1, n),
    "broadcast": lambda: ishmem.broadcast(a, b, 0),
    "finalize": ishmem.finalize,
}
if call == "broadcast":
    for size in (1, 40000):
        ishmem.sum_reduce(a, b, nelems=size)
if call == "set_lock" and me == 1:
    ishmem.set_lock(cells, 1)
ishmem.barrier_all()
signal.signal(signal.SIGTERM, signal.SIG_IGN)  # ishmem run ends the others
if me == 1 and how == "finalize":
    ishmem.finalize()  # a team or set that is alive is no leak
elif me == 1:
    os._exit(0) if how == "exit" else os.kill(os.getpid(), signal.SIGKILL)
else:
    try:
        calls[call]()
    except ishmem.PeerLost as error:
        assert error.pe == 1 and "PE 1" in str(error), error
        assert call == "finalize" or f"{call} on PE {me}: PE 1 is gone" in str(error), error
        assert call == "finalize" or not (ishmem.pe_accessible(1) or ishmem.addr_accessible(cells, 1))
        print("told", me, flush=True)
    os._exit(0)
