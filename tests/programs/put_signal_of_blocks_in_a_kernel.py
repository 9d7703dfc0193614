"""Puts tiles and transposed arrays with a signal, in a kernel."""

import dpnp

import ishmem
from ishmem import dpex
from ishmem.dpex import kernel_api as kapi


@dpex.kernel
def send(item: kapi.Item, dest, source, flag):
    ishmem.put_signal(dest, source, flag, 1, ishmem.SIGNAL_ADD, 1)


@dpex.kernel
def take(item: kapi.Item, flag, turn, box, seen):
    ishmem.signal_wait_until(flag, ishmem.CMP_GE, turn)
    for i in range(box.size):
        seen[i] = box[i]


with ishmem.init():
    box, data = ishmem.zeros((8, 8), dtype="i4"), ishmem.zeros(128, dtype="i4")
    flag, seen = ishmem.zeros(1, dtype="u8"), dpnp.zeros(64, dtype="i4")
    seen_by = ishmem.zeros(1, dtype="i8")
    tile, transposed = data.reshape(8, 16)[:, :8], data[:64].reshape(8, 8).T
    for turn in range(1, 16):
        data[:] = turn
        ishmem.barrier_all()
        if ishmem.my_pe() == 0:
            dpex.call_kernel(send, kapi.Range(1), box, (tile, transposed)[turn % 2], flag)
            ishmem.wait_until(seen_by, ishmem.CMP_EQ, turn)  # a barrier would deliver all at once
        elif ishmem.my_pe() == 1:
            dpex.call_kernel(take, kapi.Range(1), flag, turn, box.reshape(64), seen)
            assert (seen.asnumpy() == turn).all(), seen
            ishmem.atomic_set(seen_by, turn, 0)
        ishmem.barrier_all()
    ishmem.free_all()
