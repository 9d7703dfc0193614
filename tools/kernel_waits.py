"""Measures the variation of times of kernels that wait for each other: ``python -m tools.kernel_waits [--page PAGE]``.

Each run is a job of its own. Its PEs launch a kernel of round trips between neighbours (`kernels.ping_pong`), and a
kernel of barriers (`kernels.barrier_all`), several times each. The time of a run is the median of its launches, per hop
or barrier, launch included; the first launch is not counted. The times are those of PE 0.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import click

from tools.figures import markdown, update

OPERATIONS = {"ping_pong": "ping-pong, one hop", "barrier_all": "`barrier_all`"}
MARKER = "kernel waits"
PATIENCE = 600.0
"""The time-out of one run in seconds."""

Times = dict[str, list[float]]
"""By operation: the seconds of each launch, divided by the number of hops or barriers."""


def measure(launches: int, count: int) -> Times:
    """Launch the kernels on this PE, ``launches`` times with ``count`` operations, and return the times; collective."""
    import ishmem
    from ishmem import dpex
    from ishmem.benchmarks import kernels

    me, one = ishmem.my_pe(), dpex.kernel_api.Range(1)
    flag = ishmem.zeros(1, dtype="int64")

    def ping_pong(number: int) -> None:
        dpex.call_kernel(kernels.ping_pong, one, flag, me ^ 1, int(me % 2 == 0), number * count, count)

    def barrier_all(number: int) -> None:
        dpex.call_kernel(kernels.barrier_all, one, flag, count)

    times: Times = {}
    for name, launch, operations in (("ping_pong", ping_pong, 2 * count), ("barrier_all", barrier_all, count)):
        for number in range(launches + 1):
            ishmem.barrier_all()
            start = time.perf_counter()
            launch(number)
            times.setdefault(name, []).append((time.perf_counter() - start) / operations)
    ishmem.free(flag)
    return {name: each[1:] for name, each in times.items()}


def run(pes: int, launches: int, count: int) -> Times:
    """Run a job of ``pes`` PEs, each of which calls `measure`; return the times of its PE 0.

    Raises:
        click.ClickException: The job failed; the text contains its errors.
    """
    program = ["-m", "tools.kernel_waits", "--launches", str(launches), "--count", str(count), "--pe"]
    command = [sys.executable, "-m", "ishmem.launch.run", "-n", str(pes), "--no-prefix", *program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise click.ClickException(f"a job of {pes} PEs failed with exit status {done.returncode}:\n{done.stderr}")
    found: Times = json.loads(done.stdout)
    return found


def table(runs: dict[int, list[Times]]) -> str:
    """Return a markdown table of the runs, by number of PEs; times in us."""
    lines = []
    for name, text in OPERATIONS.items():
        for pes, found in runs.items():
            medians = [1e6 * statistics.median(times[name]) for times in found]
            middle, worst = statistics.median(medians), max(medians)
            launch = 1e6 * max(max(times[name]) for times in found)
            lines.append([text, str(pes), f"{middle:.2f}", f"{worst:.2f}", f"{worst / middle:.1f}", f"{launch:.2f}"])
    return markdown(["", "PEs", "median", "worst run", "worst / median", "worst launch"], lines)


def conditions(runs: int, launches: int, count: int, busy: float) -> str:
    """Return the sentence above the table, with the options; ``busy`` is the load average before the first run."""
    return (
        f"Times in us of {runs} runs, each of {launches} launches of {count} round trips or barriers, on "
        f"{len(os.sched_getaffinity(0))} cores; load of the machine before the first run: {busy:.1f}."
    )


def _even(_ctx: Any, _param: Any, value: str) -> list[int]:
    words = value.split(",")
    if any(not word.isdigit() or int(word) < 2 or int(word) % 2 for word in words):
        raise click.BadParameter(f"{value!r}: allowed are even numbers of PEs, such as 2,4")
    return [int(word) for word in words]


@click.command()
@click.option("--runs", type=click.IntRange(1), default=50, show_default=True, help="Jobs for each number of PEs.")
@click.option("--launches", type=click.IntRange(1), default=10, show_default=True, help="Launches that are counted.")
@click.option("--count", type=click.IntRange(1), default=200, show_default=True, help="Round trips of a launch.")
@click.option("--pes", callback=_even, default="2,4", show_default=True, help="Numbers of PEs.")
@click.option("--page", type=click.Path(path_type=Path, exists=True), help="A page whose table is to be renewed.")
@click.option("--pe", "inside", is_flag=True, hidden=True)
def main(runs: int, launches: int, count: int, pes: list[int], page: Path | None, inside: bool) -> None:
    """Measure how long kernels of neighbouring PEs wait for each other."""
    if inside:
        import ishmem

        with ishmem.init():
            times = measure(launches, count)
            if ishmem.my_pe() == 0:
                print(json.dumps(times))
        return
    busy = os.getloadavg()[0]
    with click.progressbar(range(runs), label="runs", file=sys.stderr) as bar:
        found = [{n: run(n, launches, count) for n in pes} for _ in bar]
    text = f"{conditions(runs, launches, count, busy)}\n\n{table({n: [one[n] for one in found] for n in pes})}"
    click.echo(text)
    if page:
        update(page, text, MARKER)


if __name__ == "__main__":
    main()
