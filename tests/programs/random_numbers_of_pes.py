"""Puts to the next PE in a kernel, and draws random numbers."""

import random

import numpy as np

import ishmem
from ishmem import dpex
from ishmem.dpex import kernel_api as kapi


@dpex.kernel
def put_number(item: kapi.Item, box, right):
    ishmem.p(box, ishmem.my_pe(), right)


with ishmem.init():
    me, n = ishmem.my_pe(), ishmem.n_pes()
    box = ishmem.zeros(1, dtype="i8")
    dpex.call_kernel(put_number, kapi.Range(1), box, (me + 1) % n)
    ishmem.barrier_all()
    print("got", int(box[0]), box.sycl_device.name, flush=True)
    print("drawn", random.random(), np.random.rand())
    ishmem.free_all()
