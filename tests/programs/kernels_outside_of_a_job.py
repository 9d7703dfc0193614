"""Compiles kernels before init, after it, and after finalize."""

import dpnp
from numba.core.errors import NumbaError

import ishmem
from ishmem import dpex
from ishmem.dpex import kernel_api as kapi


@dpex.kernel
def who(item: kapi.Item, a):
    a[0] = ishmem.my_pe() + 10 * ishmem.n_pes()


@dpex.kernel
def early(item: kapi.Item, a):
    a[0] = ishmem.my_pe()


@dpex.kernel
def late(item: kapi.Item, a):
    ishmem.barrier_all()


@dpex.kernel
def wrong(item: kapi.Item, a):
    ishmem.p(a, 1, 99)


def refused(kernel, words):
    try:
        dpex.call_kernel(kernel, kapi.Range(1), a)
    except NumbaError as error:
        assert words in str(error), error
    else:
        raise SystemExit("compiled")


a = dpnp.zeros(1, dtype="int64")
refused(early, "my_pe")
ishmem.init(heap_size="1M")
dpex.call_kernel(who, kapi.Range(1), a)
assert int(a[0]) == ishmem.my_pe() + 10 * ishmem.n_pes()
dpex.call_kernel(wrong, kapi.Range(1), ishmem.zeros(1, dtype="int64"))
try:
    ishmem.barrier_all()
except IndexError as error:  # the device functions were loaded before the options of the job
    assert "PEs are numbered" in str(error), error
else:
    raise SystemExit("not checked")
ishmem.finalize()
refused(late, "compiled outside ishmem.init() to ishmem.finalize()")
print("good")
