"""Passes a token around the ring of PEs, from kernel to kernel, without the hosts: ishmem run -n 4 examples/ring.py.

The token is a list of numbers, one per PE; each PE adds 1 to its own and sends the list on.
"""

from __future__ import annotations

import time

import ishmem  # first: it lets the SYCL stack find the GPUs, or simulated ones

# isort: split
import numpy as np

from ishmem import dpex
from ishmem.dpex import kernel_api as kapi

LAPS = 10


@dpex.kernel
def pass_on(item: kapi.Item, token, arrived, laps):
    """Pass the token on in each of ``laps`` laps; PE 0 starts each lap and ends it when the token is back."""
    me = ishmem.my_pe()
    following = (me + 1) % ishmem.n_pes()
    for lap in range(1, laps + 1):
        if me > 0:
            ishmem.wait_until(arrived, ishmem.CMP_EQ, lap)
        token[me] += 1
        ishmem.put(token, token, following)
        ishmem.fence()  # the token is delivered before the flag
        ishmem.p(arrived, lap, following)
        if me == 0:
            ishmem.wait_until(arrived, ishmem.CMP_EQ, lap)


def main() -> None:
    """Run the kernel on every PE and check the token on PE 0."""
    with ishmem.init():
        me, n = ishmem.my_pe(), ishmem.n_pes()
        token, arrived = ishmem.zeros(n, dtype="i8"), ishmem.zeros(1, dtype="i8")
        dpex.call_kernel(pass_on, kapi.Range(1), token, arrived, 0)  # compiles the kernel; no laps
        ishmem.barrier_all()
        start = time.perf_counter()
        dpex.call_kernel(pass_on, kapi.Range(1), token, arrived, LAPS)
        seconds = time.perf_counter() - start
        seen = np.empty(n, dtype="i8")
        ishmem.get(seen, token, me)
        ishmem.free(arrived)
        ishmem.free(token)
    if me == 0:
        if not (seen == LAPS).all():
            raise SystemExit(f"ring.py: the token is {seen}; each number should be {LAPS}")
        print(f"{LAPS} laps, {LAPS * n} hops, {seconds / (LAPS * n) * 1e3:.2f} ms each; the token is right: {seen}")


if __name__ == "__main__":
    main()
