"""``python -m tools.counts``: counts instructions of operations on emulated cards, and of kernels without ishmem."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import click

from ishmem.environment import card
from tools.figures import markdown, update

MARKER = "counts"
MODULE = "tools.counts.card"
ROOT = Path(__file__).parents[2]
FILE = "ISHMEM_CARD_COUNT"
CARDS = {"b580": "B580", "max1550": "Max 1550"}
PES = (2, 4)
MOST = 1.2
"""The goal: at most this ratio of instructions to those without ishmem, and no more messages and fences."""
PATIENCE = 900.0  # seconds for a process, on a machine with other work
INSTRUCTIONS = "instructions"

Counts = dict[str, float]
Operation = dict[str, Counts]


def versions() -> list[str]:
    """Return the packages of Intel's driver with their versions; empty if those of the system are used."""
    libraries = card.folder()
    found = libraries.parent / "versions" if libraries else None
    return found.read_text().splitlines() if found and found.exists() else []


def counted(name: str, pes: int) -> dict[str, Operation]:
    """Return the counts of operations on card ``name`` with ``pes`` PEs: with ishmem (``own``) and without (``bare``).

    Raises:
        RuntimeError: The processes that count failed; the text is their output.
    """
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder, "result")
        environment = {**os.environ, FILE: str(Path(folder, "lines")), "ISHMEM_CHECK": "0"}
        environment.pop("ISHMEM_DEVICE", None)
        command = [sys.executable, "-m", "ishmem", "run", "--card", name, "-n", str(pes), "-m", MODULE, str(result)]
        done = subprocess.run(
            command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
        if done.returncode or not result.exists():
            raise RuntimeError(done.stdout + done.stderr)
        found: dict[str, Operation] = json.loads(result.read_text())
        return found


def on_card(name: str) -> dict[str, Operation]:
    """Return the counts of all operations on the card ``name``, for all numbers of PEs in `PES`."""
    return {operation: counts for pes in PES for operation, counts in counted(name, pes).items()}


def grown(before: Counts, now: Counts) -> list[str]:
    """Return a text for each count of an operation that is larger ``now`` than ``before``; empty if there is none."""
    return [
        f"{count:g} {what}, {before.get(what, 0):g} before"
        for what, count in now.items()
        if count > before.get(what, 0)
    ]


def messages(counts: Counts) -> str:
    """Return the counts other than of instructions as text: messages and fences."""
    return ", ".join(f"{count:g} {what.replace('_', ' ')}" for what, count in counts.items() if what != INSTRUCTIONS)


def reaches_goal(found: Operation) -> bool:
    """Return whether the counts of an operation, ``own`` beside ``bare``, reach the goal; see `MOST`."""
    own, bare = found["own"], found["bare"]
    return own[INSTRUCTIONS] <= MOST * bare[INSTRUCTIONS] and not any(
        count > bare.get(what, 0) for what, count in own.items() if what != INSTRUCTIONS
    )


def table(cards: dict[str, dict[str, Operation]]) -> str:
    """Return the table in markdown: a row for each operation and card."""
    titles = ["", "card", "instructions", "bare", "ratio", "messages and fences", "bare", "goal"]
    operations = dict.fromkeys(operation for found in cards.values() for operation in found)
    pairs = ((operation, name) for operation in operations for name in cards if operation in cards[name])
    return markdown(titles, ([operation, *_cells(name, cards[name][operation])] for operation, name in pairs))


def _cells(card_name: str, found: Operation) -> list[str]:
    own, bare = found["own"], found["bare"]
    ratio, same = own[INSTRUCTIONS] / bare[INSTRUCTIONS], messages(own) == messages(bare)
    cells = [CARDS.get(card_name, card_name), f"{own[INSTRUCTIONS]:g}", f"{bare[INSTRUCTIONS]:g}", f"{ratio:.2f}"]
    goal = "reached" if reaches_goal(found) else "**missed**"
    return [*cells, messages(own), "the same" if same else messages(bare), goal]


def page_text(result: dict[str, Any]) -> str:
    """Return the text of the page for a result: the versions and the table."""
    return f"Compiled by {', '.join(result['versions']) or 'the driver of the system'}.\n\n{table(result['cards'])}"


@click.command()
@click.option("--card", "cards", default=",".join(CARDS), show_default=True, help="Cards, each by its name.")
@click.option("--json", "json_path", type=click.Path(dir_okay=False, path_type=Path), help="Write counts as JSON.")
@click.option(
    "--page", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Renew the table of this page."
)
def counts(cards: str, json_path: Path | None, page: Path | None) -> None:
    """Count instructions, messages and fences of operations in kernels, on emulated cards."""
    if reason := card.problem():
        raise click.ClickException(f"no emulated card: {reason}")
    try:
        result: dict[str, Any] = {"versions": versions(), "cards": {name: on_card(name) for name in cards.split(",")}}
    except RuntimeError as error:
        raise click.ClickException(str(error)) from None
    if json_path:
        json_path.write_text(json.dumps(result, indent=1) + "\n")
    if page:
        update(page, page_text(result), MARKER)
    else:
        click.echo(table(result["cards"]))


if __name__ == "__main__":
    counts()
