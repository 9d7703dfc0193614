"""Runs kernels and prints which are compiled; with the argument "few", two of them."""

import logging
import sys

import ishmem
from ishmem import dpex
from ishmem.dpex import kernel_api as kapi

logging.basicConfig(stream=sys.stdout, format="%(message)s")


@dpex.device_func
def twice(x):
    return 2 * x


@dpex.kernel
def one(item: kapi.Item, a):
    a[item.get_id(0)] = twice(item.get_id(0))


@dpex.kernel
def two(item: kapi.Item, a, b, pe):
    ishmem.put(b, a, pe)


@dpex.kernel
def three(item: kapi.Item, a, flags, pe):
    ishmem.atomic_add(a, ishmem.my_pe() + 1, pe)
    ishmem.put_signal(a[1:], a[2:], flags, 1, ishmem.SIGNAL_ADD, pe)
    if ishmem.my_pe() == pe:
        ishmem.signal_wait_until(flags, ishmem.CMP_EQ, ishmem.n_pes())
        ishmem.wait_until(a, ishmem.CMP_GT, 0)


@dpex.kernel
def four(item: kapi.Item, a):
    ishmem.barrier_all()


@dpex.kernel
def five(item: kapi.NdItem, a, b, pe):
    ishmem.get_work_group(a, b, pe, item.get_group())


@dpex.kernel
def six(item: kapi.Item, a, b):
    b[99] = ishmem.my_pe() + 1
    ishmem.fcollect(a, b[99:])
    a[ishmem.n_pes()] = ishmem.n_pes()


ishmem.init()
logging.getLogger("ishmem").setLevel("DEBUG")
me, n = ishmem.my_pe(), ishmem.n_pes()
a, b, c = (ishmem.zeros(100, dtype="i8") for _ in range(3))
dpex.call_kernel(one, kapi.Range(100), a)
dpex.call_kernel(two, kapi.Range(1), a, b, (me + 1) % n)
ishmem.barrier_all()
assert b.asnumpy().tolist() == list(range(0, 200, 2))
if "few" not in sys.argv:
    dpex.call_kernel(three, kapi.Range(1), c, ishmem.zeros(1, dtype="u8"), 0)
    dpex.call_kernel(four, kapi.Range(1), c)
    assert c.asnumpy()[0] == (n * (n + 1) // 2 if me == 0 else 0)
    dpex.call_kernel(five, kapi.NdRange((4,), (4,)), a, c, 0)
    assert a.asnumpy()[0] == n * (n + 1) // 2
    dpex.call_kernel(six, kapi.Range(1), b, a)
    assert b.asnumpy().tolist()[: n + 1] == [*range(1, n + 1), n]
ishmem.finalize()
print("imported:", *sorted({"numba", "llvmlite", "ishmem.kernels"} & set(sys.modules)))
