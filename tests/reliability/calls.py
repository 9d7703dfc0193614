"""Makes random bad calls of every routine, and counts the outcomes."""

from __future__ import annotations

import json
import sys

import click
from rich.console import Console
from rich.table import Table
from trials import new_trial


@click.command()
@click.option("--count", default=10_000, show_default=True, help="Calls, on all PEs together.")
@click.option("--pes", default=2, show_default=True, help="PEs.")
@click.option("--seed", default=1, show_default=True, help="The same seed makes the same calls.")
def calls(count: int, pes: int, seed: int) -> None:
    """Make random bad calls of every routine, each followed by a put and a get that must work."""
    console = Console(highlight=False)
    with new_trial() as trial, console.status(f"{count} calls on {pes} PEs"):
        job = trial.start(pes, "calls_pe.py", "--calls", count, "--seed", seed)
        output = job.communicate()[0]
        left = trial.left()
    try:
        found = json.loads("".join(line[4:] for line in output.splitlines() if line.startswith("[0] ")))
    except ValueError:
        console.print(output, markup=False)
        sys.exit(1)
    table = Table("what came of it", "calls")
    for name, number in found["counts"].items():
        table.add_row(name, str(number))
    console.print(table)
    console.print(f"not documented, or wrong afterwards: {len(found['wrong'])}")
    console.print("\n".join(found["wrong"]), markup=False, end="")
    console.print("left behind: " + ("; ".join(left) or "nothing"))
    sys.exit(1 if found["wrong"] or left else job.returncode)
