"""Makes host calls from 8 threads of each PE at once, for minutes, and compares all results."""

from __future__ import annotations

import json
import random
import sys
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from trials import new_trial, progress


@click.command()
@click.option("--minutes", default=5.0, show_default=True, help="How long.")
@click.option("--pes", default=2, show_default=True, help="PEs, of 8 threads each.")
@click.option("--seed", type=int, help="For the same operations again.")
def threads(minutes: float, pes: int, seed: int | None) -> None:
    """Put, get, count, signal and wait from 8 threads of each PE at once."""
    seed = random.randrange(1 << 30) if seed is None else seed
    last: dict[str, Any] = {"seconds": 0, "done": {}}
    with new_trial() as trial, progress() as bar:
        task = bar.add_task("threads", total=round(60 * minutes), remark=f"seed {seed}")
        job = trial.start(pes, "threads_pe.py", 60 * minutes, seed)
        assert job.stdout
        for line in job.stdout:
            if not line.startswith('[0] {"seconds"'):
                bar.console.print(line.rstrip(), markup=False, highlight=False)
                continue
            last = json.loads(line[4:])
            bar.update(task, completed=round(last["seconds"]))
        status = job.wait()
        job.stdout.close()
        left = trial.left()
    table = Table("operation", "times, by the threads of PE 0")
    for name, number in sorted(last["done"].items()):
        table.add_row(name, f"{number:,}")
    console = Console(highlight=False)
    console.print(table)
    console.print(f"{last['seconds']} seconds, seed {seed}: " + ("FAILED" if status else "all results right"))
    console.print("left behind: " + ("; ".join(left) or "nothing"))
    sys.exit(status or bool(left))
