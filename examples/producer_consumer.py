"""Evaluates a polynomial at a stream of points in a pipeline of PEs, with one coefficient per PE.

    ishmem run -n 4 examples/producer_consumer.py [BLOCKS]

Each PE consumes what the previous one produces, through a ring buffer of blocks in its own memory. ``put_signal``
delivers a block and then increments a counter; a second counter tells the producer how many blocks have been
consumed, so that it overwrites none too early. PE 0 reads the points and the last PE stores the results; the hosts
do not take part.
"""

from __future__ import annotations

import sys

import ishmem  # first: it lets the SYCL stack find the GPUs, or simulated ones

# isort: split
import numpy as np

from ishmem import dpex
from ishmem.dpex import kernel_api as kapi

SLOTS, LENGTH = 4, 500  # blocks in a ring, points in a block
GROUP = 32  # work-items that share a block
POINT, VALUE = 0, 1  # the rows of a block


@dpex.kernel
def work(item: kapi.NdItem, ring, block, stream, arrived, done, coefficient):
    """Consume each block, from ``stream`` or ``ring``, do one step of Horner's scheme, and put it to the next PE."""
    group, rank = item.get_group(), item.get_local_id(0)
    me, last = ishmem.my_pe(), ishmem.n_pes() - 1
    for number in range(stream.shape[0]):
        slot = number % SLOTS
        if me > 0:
            ishmem.signal_wait_until_work_group(arrived, ishmem.CMP_GT, number, group)
        for k in range(rank, LENGTH, GROUP):
            point = stream[number, POINT, k] if me == 0 else ring[slot, POINT, k]
            value = 0.0 if me == 0 else ring[slot, VALUE, k]
            block[POINT, k] = point
            block[VALUE, k] = value * point + coefficient
            if me == last:
                stream[number, VALUE, k] = block[VALUE, k]
        kapi.group_barrier(group)
        if me > 0 and rank == 0:
            ishmem.signal_add(done, 1, me - 1)
        if me < last:
            if number >= SLOTS:
                ishmem.signal_wait_until_work_group(done, ishmem.CMP_GT, number - SLOTS, group)
            ishmem.fence_work_group(group)  # the signals only count: blocks arrive in order
            ishmem.put_signal_work_group(ring[slot], block, arrived, 1, ishmem.SIGNAL_ADD, me + 1, group)


def main() -> None:
    """Run the pipeline and compare its output with numpy's result."""
    blocks = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    with ishmem.init():
        me, n = ishmem.my_pe(), ishmem.n_pes()
        ring, block = ishmem.zeros((SLOTS, 2, LENGTH)), ishmem.zeros((2, LENGTH))
        arrived, done = ishmem.zeros(1, dtype="uint64"), ishmem.zeros(1, dtype="uint64")
        points = np.linspace(-1, 1, blocks * LENGTH).reshape(blocks, LENGTH)
        coefficients = [1.0 / (k + 1) for k in range(n)]
        stream = ishmem.array(np.stack([points, np.zeros_like(points)], axis=1))
        ishmem.barrier_all()
        dpex.call_kernel(work, kapi.NdRange((GROUP,), (GROUP,)), ring, block, stream, arrived, done, coefficients[me])
        ishmem.barrier_all()
        if me == n - 1:
            error = np.abs(stream.asnumpy()[:, VALUE] - np.polyval(coefficients, points)).max()
            print(f"{blocks} blocks of {LENGTH} points through {n} PEs: off by {error:.1e} at most", flush=True)


if __name__ == "__main__":
    main()
