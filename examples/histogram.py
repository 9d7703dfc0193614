"""Counts numbers into a histogram that is spread over the PEs: ishmem run -n 4 examples/histogram.py.

Each PE has its own numbers and owns some of the bins; the kernels count by atomic increments on any PE.
"""

from __future__ import annotations

import ishmem  # first: it lets the SYCL stack find the GPUs, or simulated ones

# isort: split
import dpnp
import numpy as np

from ishmem import dpex
from ishmem.dpex import kernel_api as kapi

BINS = 16
SAMPLES = 100_000  # per PE


@dpex.kernel
def count(item: kapi.Item, samples, counts):
    """Count one sample: bin b is on PE b % n, at index b // n there."""
    sample, n = samples[item.get_id(0)], ishmem.n_pes()
    ishmem.atomic_inc(counts, sample % n, sample // n)


def draw(pe: int) -> np.ndarray:
    """Return the samples of a PE: how many of 15 coins show heads."""
    return np.random.default_rng(pe).binomial(BINS - 1, 0.5, SAMPLES)


def main() -> None:
    """Fill the histogram on all PEs; show and check it on PE 0."""
    with ishmem.init():
        me, n = ishmem.my_pe(), ishmem.n_pes()
        counts = ishmem.zeros(-(-BINS // n), dtype="i8")
        dpex.call_kernel(count, kapi.Range(SAMPLES), dpnp.asarray(draw(me)), counts)
        ishmem.barrier_all()  # now all PEs have counted
        histogram = [int(ishmem.g(counts, b % n, b // n)) for b in range(BINS)]
        ishmem.free(counts)
    if me == 0:
        for b, number in enumerate(histogram):
            print(f"{b:2} {number:6} {'#' * round(60 * number / max(histogram))}")
        if histogram != sum(np.bincount(draw(pe), minlength=BINS) for pe in range(n)).tolist():
            raise SystemExit("histogram.py: numpy counts otherwise")
        print(f"{n * SAMPLES} samples; numpy counts the same")


if __name__ == "__main__":
    main()
