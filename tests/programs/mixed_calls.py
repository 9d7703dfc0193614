"""Makes collective calls on the host and in kernels; the argument is the form: good, reduce or barrier."""

import sys
import time

import ishmem
from ishmem import dpex
from ishmem.dpex import kernel_api as kapi


@dpex.kernel
def reduce(item, dest, source, team):
    ishmem.sum_reduce(dest, source, team)


@dpex.kernel
def barrier(item, dest):
    ishmem.barrier_all()


ishmem.init()
me, n, form = ishmem.my_pe(), ishmem.n_pes(), sys.argv[1]
first = ishmem.TEAM_WORLD.split_strided(0, 1, n)
first.sync()
first.destroy()
team = ishmem.TEAM_WORLD.split_strided(n - 1, -1, n)  # its counts do not begin with 0
source, dest, flag = ishmem.ones(4), ishmem.zeros(4), ishmem.zeros(1, dtype="i8")
dpex.call_kernel(reduce, kapi.Range(1), dest, source, team.handle)
ishmem.sum_reduce(dest, source, team)
if form == "good":
    if me == 0:
        time.sleep(1.5)  # the others wait long, first on the host and then in a kernel
    ishmem.sum_reduce(dest, source, team)
    if me == 0:  # waits on the host, in no collective call, while the others are in one in a kernel
        try:
            ishmem.wait_until(flag, ishmem.CMP_NE, 0, timeout=1.5)
        except ishmem.WaitTimeout:
            print("waited")
    dpex.call_kernel(reduce, kapi.Range(1), dest, source, team.handle)
    ishmem.barrier_all()
    print("done")
elif form == "reduce":
    if me == 1:
        dpex.call_kernel(reduce, kapi.Range(1), dest, source, team.handle)
    else:
        ishmem.sum_reduce(dest, source, team)
elif me == 1:
    dpex.call_kernel(barrier, kapi.Range(1), dest)
else:
    ishmem.barrier_all()
ishmem.finalize()
