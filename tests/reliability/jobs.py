"""Runs short jobs, one after the other, and checks what they leave behind."""

from __future__ import annotations

import statistics
import sys
import time

import click
from rich.console import Console
from trials import Trial, new_trial, progress

PROGRAM = """
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


def run(trial: Trial, n: int) -> str:
    """Run one job, whose PEs tell the next one something; return its output if it is wrong."""
    job = trial.start(n, "-c", PROGRAM)
    output: str = job.communicate(timeout=120)[0]
    right = job.returncode == 0 and sorted(output.splitlines()) == [f"[{pe}] well" for pe in range(n)]
    return "" if right else f"status {job.returncode}: {output}"


@click.command()
@click.option("--count", default=1000, show_default=True, help="Jobs.")
@click.option("--pes", default=2, show_default=True, help="PEs of each job.")
def jobs(count: int, pes: int) -> None:
    """Run short jobs in a row."""
    wrong, times = [], []
    with new_trial() as trial, progress() as bar:
        task = bar.add_task("jobs", total=count, remark="")
        for _ in range(count):
            start = time.monotonic()
            if problem := run(trial, pes):
                wrong.append(problem)
                bar.console.print(problem, markup=False, highlight=False)
            times.append(time.monotonic() - start)
            bar.advance(task)
        left = trial.left()
    seconds = statistics.median(times)
    Console().print(f"{count - len(wrong)} of {count} jobs of {pes} PEs ended right, {seconds:.2f} s each")
    Console().print("left behind: " + ("; ".join(left) or "nothing"))
    sys.exit(bool(wrong or left))
