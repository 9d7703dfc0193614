"""Initialises within a job that is initialised, as a library may do."""

import numpy as np

import ishmem

with ishmem.init():
    me, n = ishmem.my_pe(), ishmem.n_pes()
    box, seen = ishmem.zeros(1, dtype="i8"), ishmem.zeros(n, dtype="i8")
    with ishmem.init():  # by a library
        ishmem.init_thread(ishmem.THREAD_MULTIPLE)
        ishmem.put_nbi(box, np.array([me + 1]), (me + 1) % n)
        ishmem.finalize()  # as barrier_all
        assert box.asnumpy()[0] == (me - 1) % n + 1
        ishmem.atomic_inc(seen, 0, me)
    assert ishmem.is_initialized()
    if me == 0:
        assert seen.asnumpy().tolist() == [1] * n
    ishmem.free_all()
assert not ishmem.is_initialized()
print("good")
