"""Adds up the energies of all pairs of particles, a part of the rows on each PE, and moves the particles, step by step.

    ishmem run -n 2 pair_energy.py             blocks of rows: the last PE has most of the pairs
    ishmem run -n 2 pair_energy.py --cyclic    rows in turn: every PE has as many pairs

Row i has i pairs. docs/trace.md shows how a trace of the first form leads to the second.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import ishmem


def rows_of(me: int, n: int, particles: int, cyclic: bool) -> range:
    """Return the rows of PE ``me`` of ``n``: every ``n``-th if ``cyclic``, else a block."""
    if cyclic:
        return range(me, particles, n)
    return range(me * particles // n, (me + 1) * particles // n)


def energies(positions: np.ndarray, rows: range) -> np.ndarray:
    """Return the energy of each row: the sum of 1 / distance over the particles before it."""
    distances = (np.linalg.norm(positions[:row] - positions[row], axis=1) for row in rows)
    return np.array([np.sum(1 / each) for each in distances])


def run(particles: int, steps: int, cyclic: bool) -> float:
    """Run ``steps`` steps on all PEs; return the energy of the last one on PE 0, 0 on others."""
    me, n = ishmem.my_pe(), ishmem.n_pes()
    rows = rows_of(me, n, particles, cyclic)
    positions = ishmem.array(np.random.default_rng(1).random((particles, 3)))
    parts, arrived = ishmem.zeros((n, particles // n + 1)), ishmem.zeros(1, dtype="u8")
    total = 0.0
    for step in range(1, steps + 1):
        mine = energies(positions.asnumpy(), rows)
        ishmem.put_signal(parts[me, : len(rows)], mine, arrived, 1, ishmem.SIGNAL_ADD, 0)
        if me == 0:
            ishmem.signal_wait_until(arrived, ishmem.CMP_GE, n * step)
            total = float(parts.asnumpy().sum())
            positions *= 1.01
        ishmem.broadcast(positions, positions, 0)
    return total


def main() -> None:
    """Run on all PEs; PE 0 prints the energy and the seconds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--particles", type=int, default=8000)
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--cyclic", action="store_true", help="deal the rows out in turn")
    options = parser.parse_args()
    with ishmem.init():
        ishmem.barrier_all()
        start = time.perf_counter()
        total = run(options.particles, options.steps, options.cyclic)
        if ishmem.my_pe() == 0:
            print(f"energy {total:.6e}, {time.perf_counter() - start:.2f} s")
        ishmem.free_all()


if __name__ == "__main__":
    main()
