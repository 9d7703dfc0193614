"""Puts to the next PE in a kernel."""

import ishmem
from ishmem import dpex
from ishmem.dpex import kernel_api as kapi


@dpex.kernel
def tell(item: kapi.Item, box):
    ishmem.p(box, 100 * ishmem.n_pes() + ishmem.my_pe(), (ishmem.my_pe() + 1) % ishmem.n_pes())
    ishmem.barrier_all()


with ishmem.init():
    box = ishmem.zeros(1, dtype="i8")
    dpex.call_kernel(tell, kapi.Range(1), box)
    ishmem.barrier_all()
    print("got", int(box[0]))
    ishmem.free_all()
