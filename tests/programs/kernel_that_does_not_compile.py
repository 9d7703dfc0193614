"""Launches a kernel outside of a job and in it, and one that does not compile."""

import dpnp

import ishmem
from ishmem import dpex
from ishmem.dpex import kernel_api as kapi


@dpex.kernel
def bad(item: kapi.Item, a):
    ishmem.put(a, a, "one")


@dpex.kernel
def fine(item: kapi.Item, a):
    a[0] = ishmem.my_pe()


try:
    dpex.call_kernel(fine, kapi.Range(1), dpnp.zeros(1, dtype="i8"))
except Exception as error:
    print(error)
with ishmem.init():
    a = ishmem.zeros(1, dtype="i8")
    dpex.call_kernel(fine, kapi.Range(1), a)
    print("then", int(a[0]))
    dpex.call_kernel(bad, kapi.Range(1), a)
