"""Makes collective calls, for a trace."""

import contextlib

import ishmem

with ishmem.init():
    me, n = ishmem.my_pe(), ishmem.n_pes()
    a, b, wide = (ishmem.zeros(size, dtype="i4") for size in (12, 12, 36))
    ishmem.barrier_all()
    ishmem.broadcast(a, b, root=2, nelems=10)
    ishmem.broadcast(a, b, 1)
    ishmem.fcollect(wide[:15], ishmem.static("mine", 5, "i4"))
    ishmem.collect(wide, b, nelems=me + 1)
    ishmem.alltoall(a, b)
    ishmem.alltoall(a, b, nelems=2)
    ishmem.alltoalls(wide, b, 2, 1, 1)
    ishmem.gather(wide, b, 1, nelems=3)
    ishmem.gather(wide, b, 0)
    ishmem.scatter(a, wide, 1, nelems=3)
    ishmem.scatter(a, wide, 0)
    ishmem.sum_inscan(a, b)
    ishmem.max_reduce_on_queue(a, b, nelems=1).wait()
    ishmem.alltoallv(a, b, [1] * n, [1] * n)
    ends = ishmem.TEAM_WORLD.split_strided(0, 2, 2)
    if me != 1:
        ishmem.sum_reduce(a, b, ends, 5)
        ishmem.scatter_on_queue(a[:6], b, 1, ends).wait()
    with contextlib.suppress(IndexError):
        ishmem.broadcast(a, b, 7)
