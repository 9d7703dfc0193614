"""Counts numbers into a histogram that is spread over the PEs: ishmem run -n 4 examples/histogram.py.

Each PE has its own numbers and owns some of the bins; the kernels count by atomic increments on any PE. --samples N: so
many numbers on each PE.
"""

from __future__ import annotations

import ishmem  # first: it lets the SYCL stack find the GPUs, or simulated ones

# isort: split
import argparse

import dpnp
import numpy as np

from ishmem import dpex
from ishmem.dpex import kernel_api as kapi

BINS = 16


@dpex.kernel
def count(item: kapi.Item, samples, counts):
    """Count one sample: bin b is on PE b % n, at index b // n there."""
    sample, n = samples[item.get_id(0)], ishmem.n_pes()
    ishmem.atomic_inc(counts, sample % n, sample // n)


def draw(pe: int, samples: int) -> np.ndarray:
    """Return the samples of a PE: how many of 15 coins show heads."""
    return np.random.default_rng(pe).binomial(BINS - 1, 0.5, samples)


def main() -> None:
    """Fill the histogram on all PEs; show and check it on PE 0."""
    parser = argparse.ArgumentParser(description="Count numbers into a histogram.")
    parser.add_argument("--samples", type=int, default=100_000)
    samples = parser.parse_args().samples
    with ishmem.init():
        me, n = ishmem.my_pe(), ishmem.n_pes()
        counts = ishmem.zeros(-(-BINS // n), dtype="i8")
        dpex.call_kernel(count, kapi.Range(samples), dpnp.asarray(draw(me, samples)), counts)
        ishmem.barrier_all()  # now all PEs have counted
        histogram = [int(ishmem.g(counts, b % n, b // n)) for b in range(BINS)]
        ishmem.free(counts)
    if me == 0:
        for b, number in enumerate(histogram):
            print(f"{b:2} {number:6} {'#' * round(60 * number / max(histogram))}")
        if histogram != sum(np.bincount(draw(pe, samples), minlength=BINS) for pe in range(n)).tolist():
            raise SystemExit("histogram.py: numpy counts otherwise")
        print(f"{n * samples} samples; numpy counts the same")


if __name__ == "__main__":
    main()
