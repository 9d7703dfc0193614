"""Is the one PE of a job, without ishmem run."""

import ishmem

with ishmem.init(heap_size=3 << 20) as session:
    assert ishmem.is_initialized()
    a = ishmem.zeros((3 << 20) - 64, dtype="uint8")
    print(ishmem.my_pe(), ishmem.n_pes(), a.size)
    ishmem.free(a)
assert not ishmem.is_initialized()
