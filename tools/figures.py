"""``python -m tools.figures RESULTS [--page PAGE]``: prints the performance targets, ratios within one run, as a table.

``--part`` is the name in the markers on the page between which the table is written; some names select another table.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import click

from ishmem.benchmarks import results as files
from ishmem.benchmarks.runner import MACHINE, Row
from ishmem.benchmarks.show import short_size, short_time

BEGIN, END = "<!-- begin: figures -->", "<!-- end: figures -->"


class Figure(NamedTuple):
    """A performance target.

    Attributes:
        what: The description in the table.
        op, side: The operation, as in the results.
        against: The contender to compare with.
        most: The largest ratio of the time to that of the contender.
        sizes: The sizes in bytes to which the target applies; None: all from 4 KiB on.
        pes: Number of PEs.
        argument: The kind of the private array, for operations with that axis; else None.
    """

    what: str
    op: str
    side: str
    against: str
    most: float
    sizes: tuple[int | None, ...] | None = (None,)
    pes: int = 2
    argument: str | None = None


HOST = "mpi4py"
COLLECTIVE = (
    ("sum_reduce", ((8, 0.5), (1 << 20, 0.9))),
    ("alltoall", ((8, 0.4), (1 << 20, 0.95), (32 << 20, 0.95))),
    ("broadcast", ((8, 0.5), (1 << 20, 0.95), (32 << 20, 0.95))),
    ("fcollect", ((8, 0.5), (1 << 20, 0.95), (32 << 20, 0.95))),
)
COLLECTIVE_FIGURES = tuple(
    Figure(f"host {name}", name, "host", HOST, most, (size,), pes)
    for pes in (2, 4)
    for name, targets in COLLECTIVE
    for size, most in targets
)
PRIVATE_FIGURES = tuple(
    Figure(f"host {words} a private {argument} array", op, "host", against, most, sizes, 2, argument)
    for words, op, against, most, sizes in (
        ("put from", "put_from", HOST, 0.4, (8,)),
        ("get into", "get_into", HOST, 0.4, (8,)),
        ("put_nbi from", "put_nbi_from", HOST, 0.5, (8,)),
        ("get_nbi into", "get_nbi_into", HOST, 0.5, (8,)),
        ("put from", "put_from", MACHINE, 1 / 0.95, (1 << 20, 16 << 20)),
        ("get into", "get_into", MACHINE, 1 / 0.95, (1 << 20, 16 << 20)),
    )
    for argument in ("dpnp", "dpctl")
)
NODES_FIGURES = tuple(
    Figure(words, f"nodes_{op}", side, against, most, sizes, pes)
    for words, op, side, against, most, sizes, pes in (
        ("put and quiet, arrived", "put", "host", HOST, 1.3, (8,), 2),
        ("put and quiet, arrived", "put", "host", HOST, 1.0, (1 << 20,), 2),
        ("get", "get", "host", HOST, 1.1, (8,), 2),
        ("fetch_add", "fetch_add", "host", HOST, 0.8, (None,), 2),
        ("put_nbi, 64 then quiet, each", "put_nbi", "host", HOST, 0.5, (8,), 2),
        ("kernel: put and quiet", "put", "device", MACHINE, 1.3, (None,), 2),
        ("barrier_all", "barrier", "host", HOST, 1.0, (None,), 4),
        ("sum_reduce", "sum_reduce", "host", HOST, 1.0, (8, 1 << 20), 4),
        ("alltoall", "alltoall", "host", HOST, 1.0, (8, 1 << 20), 4),
    )
)
"""Targets between nodes, where MPI uses the same transport."""
FIGURES = (
    Figure("host put", "put", "host", HOST, 0.25, (8,)),
    Figure("host get", "get", "host", HOST, 0.25, (8,)),
    Figure("host p", "p", "host", HOST, 0.25),
    Figure("host g", "g", "host", HOST, 0.25),
    Figure("host fetch_add", "atomic_fetch_add", "host", HOST, 0.2),
    Figure("host compare_swap", "atomic_compare_swap", "host", HOST, 0.2),
    Figure("host put_nbi, 64 then quiet, each", "put_nbi", "host", HOST, 0.35, (8,)),
    Figure("host put", "put", "host", MACHINE, 1 / 0.95, None),
    Figure("host get", "get", "host", MACHINE, 1 / 0.95, None),
    Figure("host flag ping-pong, one way", "ping_pong", "host", MACHINE, 3.0),
    Figure("kernel: loop of p", "p", "device", MACHINE, 1.2),
    Figure("kernel: loop of put", "put", "device", MACHINE, 1.2, (8,)),
    Figure("kernel: put by one work-item", "put", "device", MACHINE, 1 / 0.8, (65536,)),
    Figure("kernel: put by a work-group", "put", "group", MACHINE, 1 / 0.95, (65536,)),
    Figure("kernel: fetch_add", "atomic_fetch_add", "device", MACHINE, 1.2),
    Figure("kernel: quiet", "quiet", "device", MACHINE, 2.0),
    Figure("kernel: fence", "fence", "device", MACHINE, 2.0),
    Figure("kernel: barrier_all", "barrier_all", "device", MACHINE, 3.0),
    Figure("on-queue put", "put", "queue", MACHINE, 1 / 0.95, (16 << 20,)),
    Figure("import, init, first barrier, exit", "start", "program", MACHINE, 1.3),
    Figure("host barrier_all", "barrier_all", "host", HOST, 0.25),
    Figure("host barrier_all", "barrier_all", "host", HOST, 1.0, (None,), 4),
    *PRIVATE_FIGURES,
    *COLLECTIVE_FIGURES,
    *NODES_FIGURES,
)


def markdown(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in markdown."""
    lines = [f"| {' | '.join(titles)} |".replace("|  |", "| |"), "|---" * len(titles) + "|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def table(rows: Sequence[Row]) -> str:
    """Return the table in markdown: each target with times, ratio, whether it is reached, and the physical limit."""
    titles = ["", "size", "PEs", "ishmem", "against", "its time", "ratio", "at most", "", "physical limit"]
    found = (_cells(figure, *each) for figure in FIGURES for each in _found(figure, rows))
    return markdown([*titles, "its time", "ratio"], found)


def kernel_table(rows: Sequence[Row]) -> str:
    """Return the table of collectives in kernels, in markdown: by number of PEs, their time, the host's, the ratio."""
    counts = sorted({row.pes for row in rows})
    titles = [f"{n} PEs: {title}" for n in counts for title in ("kernel", "host", "ratio")]
    times = {(_point(row), row.pes, row.contender): row for row in rows if row.seconds}
    found = []
    for point in dict.fromkeys(_point(row) for row in rows):
        pairs = [[times.get((point, n, contender)) for contender in ("ishmem", MACHINE)] for n in counts]
        found.append([*point, *(cell for own, host in pairs for cell in _beside(own, host))])
    return markdown(["routine", "size", "called by", *titles], found)


def _point(row: Row) -> tuple[str, str, str]:
    items = row.axes.get("items")
    return row.op, short_size(row.axes["size"]), f"a group of {items}" if items else "a work-item"


def _beside(own: Row | None, host: Row | None) -> list[str]:
    if not own or not host:
        return [""] * 3
    return [*(short_time(row.seconds["median"]) for row in (own, host)), f"{_ratio(own, host):.2f}"]


def _found(figure: Figure, rows: Sequence[Row]) -> list[tuple[Row, Row, Row | None]]:
    def wanted(row: Row) -> bool:
        size = row.axes.get("size")
        fits = size >= 4096 if figure.sizes is None and size is not None else size in (figure.sizes or ())
        one_way = row.axes.get("direction", "one") == "one"
        asked = (figure.op, figure.side, figure.pes, figure.argument)
        return (row.op, row.side, row.pes, row.axes.get("argument")) == asked and fits and one_way

    found = [row for row in rows if wanted(row) and row.seconds]
    own = {row.axes.get("size"): row for row in found if row.contender == "ishmem"}
    other = {row.axes.get("size"): row for row in found if row.contender == figure.against}
    limit = {row.axes.get("size"): row for row in found if row.contender == MACHINE}
    return [(own[size], other[size], limit.get(size)) for size in own if size in other]


def _cells(figure: Figure, own: Row, other: Row, limit: Row | None) -> list[str]:
    ratio, size = _ratio(own, other), own.axes.get("size")
    against = _words(other) if figure.against == MACHINE else figure.against
    cells = [figure.what, short_size(size) if size else "", str(own.pes), short_time(own.seconds["median"]), against]
    cells += [short_time(other.seconds["median"]), f"{ratio:.2f}", f"{figure.most:.2f}"]
    cells.append("reached" if ratio <= figure.most else "**missed**")
    cells += [_words(limit), short_time(limit.seconds["median"]), f"{_ratio(own, limit):.2f}"] if limit else [""] * 3
    return cells


def _ratio(own: Row, other: Row) -> float:
    return own.seconds["median"] / other.seconds["median"]


def _words(limit: Row) -> str:
    return re.split("[,;]", limit.limit)[0]


def update(page: Path, text: str, name: str = "figures") -> None:
    """Replace the text between the markers of name ``name`` on a page.

    Raises:
        ValueError: The page has no markers.
    """
    first, last = BEGIN.replace("figures", name), END.replace("figures", name)
    head, begin, rest = page.read_text().partition(first)
    _old, end, tail = rest.partition(last)
    if not begin or not end:
        raise ValueError(f"{page} has no part between {first} and {last}")
    page.write_text(f"{head}{first}\n{text}\n{last}{tail}")


TABLES = {"kernels": kernel_table}
"""Functions that return the table, by the name in the markers; other parts have the performance targets."""


RESULTS = click.Path(exists=True, dir_okay=False, path_type=Path)


def put(page: Path | None, text: str, name: str) -> None:
    """Write a text between the markers ``name`` of a page; print it if ``page`` is None."""
    if page is None:
        click.echo(text)
        return
    try:
        update(page, text, name)
    except ValueError as error:
        raise click.ClickException(str(error)) from None


@click.command()
@click.argument("results", type=RESULTS)
@click.option("--page", type=RESULTS, help="Write it between the markers of this page instead of printing it.")
@click.option("--part", default="figures", show_default=True, help="The name in the markers.")
def main(results: Path, page: Path | None, part: str) -> None:
    """Print the table of the performance targets, or that of a part of a page, in markdown."""
    try:
        head, rows = files.read(results)
    except ValueError as error:
        raise click.ClickException(str(error)) from None
    put(page, f"{files.about(head)}\n\n{TABLES.get(part, table)(rows)}", part)


if __name__ == "__main__":
    main()
