"""Prints the table of results: a line for each point, as soon as it is measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from ishmem.benchmarks.runner import MACHINE, Row, Rows

COLUMNS = (
    ("operation", 17, "<"), ("size", 5, ">"), ("PEs", 3, ">"), ("time", 9, ">"), ("±", 5, ">"), ("GB/s", 7, ">"),
    ("Mop/s", 8, ">"), ("machine", 9, ">"), ("ratio", 6, ">"), ("mpi4py", 9, ">"), ("ratio", 6, ">"),
)  # fmt: skip
"""Title, width and alignment of each column."""


class Screen:
    """The table on the terminal with a progress bar below it; without a terminal, the table alone."""

    def __init__(self, peers: Sequence[str], total: int) -> None:
        self._peers = peers
        self._console = Console(soft_wrap=True, highlight=False)
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self._progress = Progress(
            *columns, console=self._console, transient=True, disable=not self._console.is_terminal
        )
        self._task = self._progress.add_task("", total=total)
        self._has_header = False

    def __enter__(self) -> Screen:
        """Show the progress bar."""
        self._progress.start()
        return self

    def __exit__(self, *_error: object) -> None:
        """Remove the progress bar."""
        self._progress.stop()

    def show(self, rows: Rows, device: str = "") -> None:
        """Print the line of a point, given its rows, and its errors; first the table's header with the ``device``."""
        if not self._has_header:
            self._has_header = True
            self.say(header(self._peers) + (f"   {device}" if device else ""), style="bold")
        self.say(line(rows, self._peers), style="red" if rows[0].status in ("wrong", "failed") else None)
        for problem in problems(rows):
            self.say(problem, style="red")
        self._progress.update(self._task, advance=1, description=rows[0].op)

    def say(self, text: str, style: str | None = None) -> None:
        """Print a line."""
        self._progress.console.print(text, style=style, markup=False, soft_wrap=True)


def header(peers: Sequence[str]) -> str:
    """Return the header of the table, with columns for the ``peers``, the libraries beside ishmem."""
    return _line([title for title, _width, _side in COLUMNS], peers)


def line(rows: Rows, peers: Sequence[str]) -> str:
    """Return the line of a point: ishmem's row, the first one, then times of the others and ishmem's ratio to them."""
    own, others = rows[0], {row.contender: row for row in rows[1:]}
    size = own.axes.get("size")
    cells = [name_of(own), "" if size is None else short_size(size), str(own.pes)]
    if own.status != "ok":
        return _line(cells, peers).rstrip() + f"  {own.status}: {_first_line(own.reason)}"
    spread = (own.seconds["q3"] - own.seconds["q1"]) / own.seconds["median"] / 2
    bandwidth = f"{own.bandwidth / 1e9:.3g}" if own.nbytes else ""
    cells += [short_time(own.seconds["median"]), f"{spread:.0%}", bandwidth, f"{own.rate / 1e6:.3g}"]
    for contender in (MACHINE, "mpi4py"):
        cells += _beside(own, others.get(contender))
    return _line(cells, peers)


def problems(rows: Rows) -> list[str]:
    """Return the reasons of wrong and failed rows that are not in the line of the point."""
    bad = [row for row in rows if row.status in ("wrong", "failed")]
    shown = rows[0] if "\n" not in rows[0].reason else None  # a reason of one line is in the line of the point
    return [f"    {row.contender}: {row.status}: {_ends(row.reason)}" for row in bad if row is not shown]


def _beside(own: Row, other: Row | None) -> list[str]:
    if other is None:
        return ["", ""]
    if other.status != "ok":
        return [other.status, ""]
    return [short_time(other.seconds["median"]), f"{own.seconds['median'] / other.seconds['median']:.2f}"]


def _line(cells: list[str], peers: Sequence[str]) -> str:
    columns = COLUMNS[: 9 + 2 * len(peers)]
    return " ".join(f"{cell:{side}{width}}" for cell, (_title, width, side) in zip(cells, columns))


def name_of(row: Row) -> str:
    """Return a short label of operation, side unless it is the host, and all axes except the size."""
    rest = [f"{value}" for name, value in row.axes.items() if name != "size"]
    return " ".join([f"{row.op}", *([row.side] if row.side != "host" else []), *rest])


def _ends(text: str) -> str:
    """Return a text without blank lines; of more than eight lines, the first four and the last three."""
    lines = [line for line in text.splitlines() if line.strip()]
    return "\n    ".join(lines if len(lines) <= 8 else [*lines[:4], "...", *lines[-3:]])


def _first_line(text: str) -> str:
    return text.strip().splitlines()[0] if text.strip() else ""


def short_size(size: Any) -> str:
    """Return a number of bytes as text, with G, M or K if it is a multiple of these, such as ``64K``."""
    for unit, shift in (("G", 30), ("M", 20), ("K", 10)):
        if size >= 1 << shift and size % (1 << shift) == 0:
            return f"{size >> shift}{unit}"
    return str(size)


def short_time(seconds: float) -> str:
    """Return seconds as text with three digits and a unit, such as ``1.25 us``."""
    for unit, factor in (("ns", 1e9), ("us", 1e6), ("ms", 1e3)):
        if seconds * factor < 999.5:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds:.3g} s"
