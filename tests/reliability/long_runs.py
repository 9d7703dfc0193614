"""Runs programs that make many calls, which are a soak, of many threads, or bad, and many short jobs."""

from __future__ import annotations

import json
import random
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from trials import Trial, new_trial, progress

WARM = 0.1
"""Part of the time of a soak after which caches are taken to be full."""
UNITS = {"private": 1 << 20, "shared": 1 << 20, "fds": 1, "maps": 1, "threads": 1}

Report = dict[str, Any]
console = Console(highlight=False)


def follow(program: str, pes: int, amount: float, seed: int | None, show: Callable[[list[Report]], bool]) -> None:
    """Run a program with a progress bar, show what its PEs have reported, and exit with its status.

    Args:
        program: Name of the program, without ``_pe.py``; its arguments are the amount and the seed.
        pes: Number of PEs.
        amount: Seconds that it lasts, or its calls.
        seed: For the same operations again.
        show: Prints the reports; returns whether something is wrong.
    """
    seed = random.randrange(1 << 30) if seed is None else seed
    reports = []
    with new_trial() as trial, progress() as bar:
        task = bar.add_task(program, total=round(amount), remark=f"seed {seed}")
        job = trial.start(pes, f"{program}_pe.py", amount, seed)
        assert job.stdout
        with job.stdout:
            for line in job.stdout:
                if '] {"pe"' not in line:
                    bar.console.print(line.rstrip(), markup=False, highlight=False)
                    continue
                reports.append(json.loads(line.split("] ", 1)[1]))
                bar.update(task, completed=round(reports[-1].get("seconds", amount)))
        status, left = job.wait(), trial.left()
    wrong = not reports or show(reports)
    console.print("left behind: " + ("; ".join(left) or "nothing"))
    sys.exit(status or bool(left or wrong))


def show_resources(samples: list[Report]) -> bool:
    """Print each PE's resources after warm-up and at the end."""
    table = Table("PE", "turns", "private memory, MiB", "a turn", "shared, MiB", "fds", "mappings", "threads")
    for pe in sorted({sample["pe"] for sample in samples}):
        taken = [sample for sample in samples if sample["pe"] == pe]
        last = taken[-1]
        warm = next(sample for sample in taken if sample["seconds"] >= WARM * last["seconds"])
        grown = (last["private"] - warm["private"]) / max(last["turns"] - warm["turns"], 1)
        pairs = [f"{warm[name] / unit:.4g} to {last[name] / unit:.4g}" for name, unit in UNITS.items()]
        table.add_row(str(pe), str(last["turns"]), pairs[0], f"{grown:.0f} bytes", *pairs[1:])
    console.print(table)
    return False


def show_counts(reports: list[Report]) -> bool:
    """Print how often PE 0 has done what, and what went wrong."""
    table = Table("what", "times")
    for name, number in sorted(reports[-1]["done"].items()):
        table.add_row(name, f"{number:,}")
    console.print(table)
    wrong = reports[-1].get("wrong", [])
    console.print(f"not documented, or wrong afterwards: {len(wrong)}")
    console.print("\n".join(wrong), markup=False, end="")
    return bool(wrong)


JOB = """
import ishmem
with ishmem.init(heap_size="1M"):
    me, n = ishmem.my_pe(), ishmem.n_pes()
    told = ishmem.zeros(1, dtype="i8")
    ishmem.p(told, me + 1, (me + 1) % n)
    ishmem.wait_until(told, ishmem.CMP_EQ, (me - 1) % n + 1)
    ishmem.barrier_all()
    ishmem.free(told)
print("well")
"""


def run_job(trial: Trial, n: int) -> str:
    """Run one job, whose PEs tell the next one something; return its output if it is wrong."""
    job = trial.start(n, "-c", JOB)
    output: str = job.communicate(timeout=120)[0]
    right = job.returncode == 0 and sorted(output.splitlines()) == [f"[{pe}] well" for pe in range(n)]
    return "" if right else f"status {job.returncode}: {output}"


PES = click.option("--pes", default=2, show_default=True, help="PEs.")
SEED = click.option("--seed", type=int, help="For the same operations again.")


@click.command()
@click.option("--minutes", default=30.0, show_default=True, help="How long.")
@click.option("--pes", default=4, show_default=True, help="PEs.")
@SEED
def soak(minutes: float, pes: int, seed: int | None) -> None:
    """Allocate, free, move, wait, split, lock and launch kernels for a long time; memory, threads... must not grow."""
    follow("soak", pes, 60 * minutes, seed, show_resources)


@click.command()
@click.option("--minutes", default=5.0, show_default=True, help="How long.")
@PES
@SEED
def threads(minutes: float, pes: int, seed: int | None) -> None:
    """Put, get, count, signal and wait from 8 threads of each PE at once; compare all results."""
    follow("threads", pes, 60 * minutes, seed, show_counts)


@click.command()
@click.option("--count", default=10_000, show_default=True, help="Calls, on all PEs together.")
@PES
@click.option("--seed", default=1, show_default=True, help="The same seed makes the same calls.")
def calls(count: int, pes: int, seed: int) -> None:
    """Make random bad calls of every routine, each followed by a put and a get that must work; count the outcomes."""
    follow("calls", pes, count, seed, show_counts)


@click.command()
@click.option("--count", default=1000, show_default=True, help="Jobs.")
@PES
def jobs(count: int, pes: int) -> None:
    """Run short jobs in a row."""
    wrong, times = [], []
    with new_trial() as trial, progress() as bar:
        task = bar.add_task("jobs", total=count, remark="")
        for _ in range(count):
            start = time.monotonic()
            if problem := run_job(trial, pes):
                wrong.append(problem)
                bar.console.print(problem, markup=False, highlight=False)
            times.append(time.monotonic() - start)
            bar.advance(task)
        left = trial.left()
    seconds = statistics.median(times)
    console.print(f"{count - len(wrong)} of {count} jobs of {pes} PEs ended right, {seconds:.2f} s each")
    console.print("left behind: " + ("; ".join(left) or "nothing"))
    sys.exit(bool(wrong or left))
