"""Runs operations for a long time, and checks that memory, file descriptors, mappings and threads do not grow."""

from __future__ import annotations

import json
import random
import sys
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from trials import new_trial, progress

WARM = 0.1
"""Part of the time after which caches are taken to be full."""

Sample = dict[str, Any]


def show(samples: dict[int, list[Sample]], left: list[str]) -> None:
    """Print the table of each PE's resources after warm-up and at the end."""
    table = Table("PE", "turns", "private memory, MiB", "a turn", "shared, MiB", "fds", "mappings", "threads")
    for pe, taken in sorted(samples.items()):
        warm = next(sample for sample in taken if sample["seconds"] >= WARM * taken[-1]["seconds"])
        last = taken[-1]
        grown = (last["private"] - warm["private"]) / max(last["turns"] - warm["turns"], 1)
        pairs = [f"{warm[name] / unit:.4g} to {last[name] / unit:.4g}" for name, unit in UNITS.items()]
        table.add_row(str(pe), str(last["turns"]), pairs[0], f"{grown:.0f} bytes", *pairs[1:])
    Console().print(table)
    Console().print("left behind: " + ("; ".join(left) or "nothing"))


UNITS = {"private": 1 << 20, "shared": 1 << 20, "fds": 1, "maps": 1, "threads": 1}


@click.command()
@click.option("--minutes", default=30.0, show_default=True, help="How long.")
@click.option("--pes", default=4, show_default=True, help="PEs.")
@click.option("--seed", type=int, help="For the same operations again.")
def soak(minutes: float, pes: int, seed: int | None) -> None:
    """Allocate, free, move, wait, split, lock and launch kernels for a long time."""
    seed = random.randrange(1 << 30) if seed is None else seed
    samples: dict[int, list[Sample]] = {}
    with new_trial() as trial, progress() as bar:
        task = bar.add_task("soak", total=round(60 * minutes), remark=f"seed {seed}")
        job = trial.start(pes, "soak_pe.py", 60 * minutes, seed)
        assert job.stdout
        for line in job.stdout:
            if '] {"pe"' not in line:
                bar.console.print(line.rstrip(), markup=False, highlight=False)
                continue
            sample = json.loads(line.split("] ", 1)[1])
            samples.setdefault(sample["pe"], []).append(sample)
            bar.update(task, completed=round(sample["seconds"]), remark=f"{sample['turns']} turns")
        status = job.wait()
        job.stdout.close()
        left = trial.left()
    if samples:
        show(samples, left)
    sys.exit(status or bool(left))
