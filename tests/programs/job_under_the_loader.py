"""Uses copies, atomics and kernels, and checks that the driver refuses nothing."""

import os

os.environ.pop("LD_PRELOAD", None)  # has the loader, which does not load into the programs that numba-dpex starts
import dpnp
import numpy as np

import ishmem
from ishmem import dpex
from ishmem.common.errors import LevelZeroError
from ishmem.environment import stack

refused, plain = [], LevelZeroError.__init__


def note(self, *arguments):
    refused.append(arguments)
    plain(self, *arguments)


LevelZeroError.__init__ = note


@dpex.kernel
def work(item, array, total):
    i, me, n = item.get_id(0), ishmem.my_pe(), ishmem.n_pes()
    ishmem.p(array, 10 * i + me, (me + 1) % n, i)
    ishmem.atomic_add(total, i, 0)


ishmem.init(heap_size="16M")
me, n = ishmem.my_pe(), ishmem.n_pes()
before = (me - 1) % n
array, total = ishmem.zeros(100_000, dtype="int64"), ishmem.zeros(1, dtype="int64")
ishmem.barrier_all()
dpex.call_kernel(work, dpex.Range(100), array, total)
ishmem.barrier_all()
assert array.asnumpy()[:100].tolist() == [10 * i + before for i in range(100)]
assert me or total.asnumpy()[0] == n * 4950
ishmem.barrier_all()  # all have looked
ishmem.atomic_add(total, 7, n - 1)  # the host's, and copies by the copy engine
ishmem.put(array, np.full(100_000, me), (me + 1) % n)
ishmem.put_nbi(array[1000:], dpnp.full(99_000, me + 50), (me + 1) % n)
ishmem.barrier_all()
assert me < n - 1 or total.asnumpy()[0] == 7 * n
assert array.asnumpy().tolist() == [before] * 1000 + [before + 50] * 99_000
copy = np.zeros(100_000, dtype="int64")
ishmem.get(copy, array, (me + 1) % n)
assert copy[5000] == me + 50
ishmem.sum_reduce(array, array)
assert array.asnumpy()[0] == n * (n - 1) // 2
ishmem.free(array)
ishmem.free(total)
ishmem.finalize()
assert not refused, refused
print("loader", stack.loaded_loader())
