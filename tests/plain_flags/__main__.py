"""Runs the programs with seeds of the emulated card's weak memory; ends with 1 if one is not as it should be."""

from __future__ import annotations

import os
import sys

import ishmem

from .kernels import Arrays, Program, programs

BROKEN_SEEDS = 10


def is_good(run: Program, the: Arrays, seed: int, whole: bool) -> bool:
    """Run a program with a seed; return whether every PE has seen what it should. Collective."""
    os.environ["ISHMEM_CARD_MEMORY"] = f"weak:{seed}"
    the.clear()
    bad = ishmem.array([0 if run(the, whole) else 1], dtype="i8")
    total = ishmem.zeros(1, dtype="i8")
    ishmem.sum_reduce(total, bad)
    failed = int(total.asnumpy()[0])
    ishmem.free(total)
    ishmem.free(bad)
    return not failed


def main(seeds: int, names: list[str]) -> bool:
    """Run programs; return whether all are as they should be."""
    the, good = Arrays.make(), True
    for name in names or programs:
        wrong = [seed for seed in range(seeds) if not is_good(programs[name], the, seed, whole=True)]
        broken = (seed for seed in range(BROKEN_SEEDS) if not is_good(programs[name], the, seed, whole=False))
        caught = next(broken, None)
        good = good and not wrong and caught is not None
        if ishmem.my_pe() == 0:
            found = f"Right: fails with {wrong}; without it: {caught} shows it"
            print(f"{name}: {programs[name].__doc__} {found}", flush=True)
    return good


if __name__ == "__main__":
    with ishmem.init():
        status = 0 if main(int(sys.argv[1]), sys.argv[2:]) else 1
    sys.exit(status)
