"""Makes the collective calls of the arguments, on PE 1 in the reverse order; those that begin with kernel: in kernels.

One argument is a function, in which the PEs make the same calls.
"""

import sys
import threading
import time

import ishmem

ishmem.init()
me, n = ishmem.my_pe(), ishmem.n_pes()
x, y, flag = ishmem.ones(4, dtype="i8"), ishmem.zeros(4, dtype="i8"), ishmem.zeros(1, dtype="i8")
world = ishmem.TEAM_WORLD
first = world.split_strided(0, 1, n)
first.sync()
first.destroy()
second = world.split_strided(n - 1, -1, n)  # its counts do not begin with 0
first = world.split_strided(0, 1, n)


def in_a_kernel(name):
    from ishmem import dpex

    @dpex.kernel
    def reduce(item, y, x, team):
        ishmem.sum_reduce(y, x, team)

    @dpex.kernel
    def barrier(item, y, x, team):
        ishmem.barrier_all()

    @dpex.kernel
    def reduce_world(item, y, x, team):
        ishmem.sum_reduce(y, x)

    @dpex.kernel
    def sync(item, y, x, team):
        ishmem.team_sync(team)

    dpex.call_kernel(locals()[name], dpex.Range(1), y, x, second)


def reduce_of_second():
    ishmem.sum_reduce(y, x, second)


calls = {
    "barrier": ishmem.barrier_all,
    "sync": ishmem.sync_all,
    "reduce": lambda: ishmem.sum_reduce(y, x),
    "broadcast": lambda: ishmem.broadcast(y, x, 0),
    "alloc": lambda: ishmem.zeros(3),
    "split": lambda: world.split_strided(0, 1, n),
    "first": first.sync,
    "second": reduce_of_second,
}


def work(mine):
    """Synchronise in one of two teams."""
    if mine:
        time.sleep(0.5)
    first.sync() if mine else ishmem.sync_all()


def come_late():
    """Let each PE in turn be late in calls; two threads of each are in different teams, in another order on each PE."""
    for turn in range(3):
        for call in (ishmem.barrier_all, calls["reduce"], first.sync, calls["alloc"]):
            if turn % n == me:
                time.sleep(0.3)
            call()
    threads = [threading.Thread(target=work, args=((k + me) % 2,)) for k in range(2)]
    for thread in threads:
        thread.start()
        time.sleep(0.7)
    for thread in threads:
        thread.join()
    print("done")


def wait_beside_kernels():
    """Let PEs wait for PE 0, first on the host and then in a kernel, while it waits on the host for something else."""
    if me == 0:
        time.sleep(1.5)
    reduce_of_second()
    if me == 0:
        try:
            ishmem.wait_until(flag, ishmem.CMP_NE, 0, timeout=1.5)
        except ishmem.WaitTimeout:
            print("waited")
    in_a_kernel("reduce")
    ishmem.barrier_all()
    print("done")


def make_calls(names):
    """Make the calls in this order; PE 2 is late."""
    for name in names:
        if me == 2:
            time.sleep(0.3)
        if name.startswith("kernel:"):
            in_a_kernel(name.removeprefix("kernel:"))
        else:
            calls[name]()
        print("after", name)


if any("kernel" in name for name in sys.argv[1:]):
    in_a_kernel("reduce")  # neither on the host nor in kernels is a call of the team the first one
    reduce_of_second()
if len(sys.argv) == 2:
    globals()[sys.argv[1]]()
else:
    make_calls(sys.argv[1:] if me != 1 else sys.argv[:0:-1])
ishmem.finalize()
