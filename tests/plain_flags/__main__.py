"""Runs the programs with seeds of the emulated card's weak memory; ends with 1 if one is not as it should be."""

from __future__ import annotations

import os

from order_programs import runner

from .kernels import Arrays, Program, programs


def is_good(run: Program, the: Arrays, seed: int, whole: bool) -> bool:
    """Run a program with a seed; return whether every PE has seen what it should. Collective."""
    os.environ["ISHMEM_CARD_MEMORY"] = f"weak:{seed}"
    the.clear()
    return runner.on_all(run(the, whole))


def seeds_that_fail(name: str, seeds: int) -> tuple[list[int], list[int]]:
    """Return the seeds with which a program fails, and one that shows its missing fence. Collective."""
    run, the = programs[name], Arrays.make()
    wrong = [seed for seed in range(seeds) if not is_good(run, the, seed, whole=True)]
    broken = (seed for seed in range(runner.BROKEN_SEEDS) if not is_good(run, the, seed, whole=False))
    return wrong, [seed for seed in (next(broken, None),) if seed is not None]


if __name__ == "__main__":
    runner.main(programs, seeds_that_fail)
