"""Runs the programs on the PEs of a job: ``python -m order_programs.runner SEEDS [NAME ...]``."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Callable
from typing import Any

import ishmem
from ishmem.common.errors import IshmemError
from ishmem.environment import card
from ishmem.runtime import late_delivery

from . import calls, static  # noqa: F401
from .arrays import Arrays, Program, programs

BROKEN_SEEDS = 10
"""One of the first so many seeds has to catch a program without its call."""

TRIES_ON_A_CARD = 3
"""How often each seed is tried on an emulated card, where it depends on time as well what is late."""


def is_good(run: Program, the: Arrays, seed: int, whole: bool) -> bool:
    """Run a program with a seed; return whether every PE has got what it should. Collective."""
    late_delivery.reseed(seed)
    if card.requested():
        os.environ["ISHMEM_CARD_MEMORY"] = f"weak:{seed}"
    the.clear()
    try:
        good = run(the, seed + 1, whole)
    except IshmemError as error:
        if "its source has changed" not in str(error):
            raise
        good = False
    ishmem.barrier_all()
    return on_all(good)


def on_all(good: bool) -> bool:
    """Return whether something holds on all PEs. Collective."""
    bad = ishmem.array([0 if good else 1], dtype="i8")
    total = ishmem.zeros(1, dtype="i8")
    ishmem.sum_reduce(total, bad)
    failed = int(ishmem.g(total, ishmem.my_pe()))
    ishmem.free(total)
    ishmem.free(bad)
    return not failed


def seeds_that_fail(name: str, seeds: int, enough: int = BROKEN_SEEDS) -> tuple[list[int], list[int]]:
    """Return the seeds with which a program fails, and at most ``enough`` that show its missing call. Collective."""
    run, the = programs[name], Arrays.make()
    tries, enough = (TRIES_ON_A_CARD, 1) if card.requested() else (1, enough)
    wrong = [seed for seed in range(seeds) if not is_good(run, the, seed, whole=True)]
    caught = (seed for _ in range(tries) for seed in range(BROKEN_SEEDS) if not is_good(run, the, seed, whole=False))
    return wrong, list(itertools.islice(caught, enough))


def main(table: dict[str, Any], fail: Callable[[str, int], tuple[list[int], list[int]]]) -> None:
    """Run the programs of a table that the arguments name, and end the process with 1 unless all are as they should be.

    ``fail`` returns the seeds with which a program fails, and those that show its missing call.
    """
    good, seeds = True, int(sys.argv[1])
    with ishmem.init():
        for name in sys.argv[2:] or table:
            wrong, caught = fail(name, seeds)
            good = good and not wrong and bool(caught)
            if ishmem.my_pe() == 0:
                said = f"Right: fails with {wrong}; without it: fails with {caught}"
                print(f"{name}: {table[name].__doc__} {said}", flush=True)
            ishmem.free_all()
    sys.exit(not good)


if __name__ == "__main__":
    main(programs, seeds_that_fail)
