"""Makes calls of all kinds, for a trace."""

import contextlib

import numpy as np

import ishmem
from ishmem import dpex, get as fetch, put  # before init: replaced in this module, too
from ishmem.dpex import call_kernel, kernel_api as kapi


@dpex.kernel
def send(item: kapi.Item, box, right):
    ishmem.p(box, ishmem.my_pe(), right)
    put(box[1:2], box[2:3], right)


def on_all(me, n, right):
    box, flag = ishmem.zeros(1000, dtype="f8"), ishmem.zeros(2, dtype="u8")
    row, ones = ishmem.zeros(10, dtype="i4"), np.ones(1000)
    for _ in range(5):
        put(box, ones, right)
    fetch(ones[:10], box, pe=right, nelems=10)
    if me == 0:
        ishmem.atomic_add(row, 1, right)
        ishmem.iput(row, row, 2, 2, 3, right)
    ishmem.put_signal(box, ones, flag, 1, ishmem.SIGNAL_SET, right, nelems=20)
    assert ishmem.signal_wait_until(flag, ishmem.CMP_EQ, 1) == 1
    event = ishmem.put_signal_on_queue(box, ones, flag, 7, ishmem.SIGNAL_SET, right, nelems=100, index=1)
    ret = np.zeros(1, dtype="i8")
    ishmem.signal_wait_until_on_queue(flag, ishmem.CMP_EQ, 7, ret, index=1).wait()
    event.wait()
    call_kernel(send, kapi.Range(1), box, right)
    dpex.call_kernel_async(send, kapi.Range(1), (event,), box, right)[1].wait()
    with ishmem.ctx_create() as context:
        context.put(box, ones[:3], right, nelems=3)
    ishmem.sum_reduce(row, row)
    with contextlib.suppress(IndexError):
        ishmem.put(box, ones, n)
    ishmem.barrier_all()
    assert ishmem.put.__name__ == "put" and ishmem.put == put and "Source:" in ishmem.put.__doc__
    ishmem.free_all()


with ishmem.init():
    me, n = ishmem.my_pe(), ishmem.n_pes()
    on_all(me, n, (me + 1) % n)
assert put.__class__.__name__ == "Routine" and put is ishmem.put is ishmem.rma.put
