"""Is a PE of one job after another, with heaps of other sizes."""

import numpy as np

import ishmem
from ishmem import dpex
from ishmem.dpex import kernel_api as kapi


@dpex.kernel
def add(item: kapi.Item, a, pe):
    ishmem.atomic_add(a, 1, pe)
    ishmem.put(a[1:2], a[2:3], pe)
    ishmem.barrier_all()


old = None
for turn in range(3):
    ishmem.init(["16M", "32M", "8M"][turn])
    me, n = ishmem.my_pe(), ishmem.n_pes()
    pad = ishmem.zeros(1000 * turn + 1)
    if old is not None:
        try:
            ishmem.put(old, old, 0)
        except ishmem.SymmetryError:
            pass
        else:
            raise SystemExit("an array of the former job was taken")
    a = ishmem.array(np.array([10, 0, me], "i8"))
    dpex.call_kernel(add, kapi.Range(1), a, (me + 1) % n)
    ishmem.barrier_all()
    assert a.asnumpy().tolist() == [11, (me - 1) % n, me], a
    team = ishmem.team_split_strided(ishmem.TEAM_WORLD, 0, 1, n)
    ishmem.sum_reduce(a, a, team)
    assert a.asnumpy().tolist() == [11 * n, n * (n - 1) // 2, n * (n - 1) // 2], a
    event = ishmem.barrier_all_on_queue()
    event.wait()
    old = a
    ishmem.free_all()
    ishmem.finalize()
print("good")
