"""The command ``ishmem tune``: measures the algorithms of the collectives on this machine and writes a profile."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ishmem.benchmarks.command import FILE, parse_sizes
from ishmem.common.algorithms import Table
from ishmem.environment import profile

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ishmem.benchmarks.runner import Row

Times = Mapping[str, Mapping[int, float]]
"""The time in seconds by algorithm and size."""

SIZES = "8,32:8M:4"
COLUMNS = 4
"""Columns of the picture."""
WORTH = 0.95
"""An algorithm replaces another if its time is less than this fraction of the other's."""


@click.command()
@click.option("--pes", default="2,4", show_default=True, help="Numbers of PEs.")
@click.option("--hosts", default="", help="Hosts of all PEs, such as a,b; this node by default.")
@click.option("--op", default="", help="Routines; all by default.")
@click.option("--size", default=SIZES, show_default=True, help="Sizes of a block: a list of sizes and ranges.")
@click.option("-o", "--output", type=FILE, help="The profile; by default what init reads.")
@click.option("--plot", type=FILE, help="The picture; by default next to the profile.")
def command(pes: str, hosts: str, op: str, size: str, output: Path | None, plot: Path | None) -> None:
    """Measure the algorithms of the collectives, and write a profile that init reads."""
    path = output or profile.default_path()
    try:
        counts = tuple(int(word) for word in pes.split(","))
        measured, device = measure(counts, tuple(filter(None, op.split(","))), parse_sizes(size), hosts)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    nodes = len(hosts.split(","))
    tables = {profile.section(device, n, min(n, nodes)): table_of(times) for n, times in measured.items()}
    profile.write(path, tables)
    show(tables, measured)
    picture = plot or path.with_suffix(".png")
    draw(picture, measured, device)
    click.echo(f"profile: {path}\npicture: {picture}")


def measure(
    pes: tuple[int, ...], routines: tuple[str, ...], sizes: tuple[int, ...], hosts: str = ""
) -> tuple[dict[int, dict[str, Times]], str]:
    """Measure the algorithms of ``routines``, by default all; return times by number of PEs and routine, and device.

    Raises:
        ValueError: A routine is not one that is tuned.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from ishmem.benchmarks import tune_cases
    from ishmem.benchmarks.cases import CASES
    from ishmem.benchmarks.runner import Options, Runner, points

    known = tune_cases.MEASURED if hosts else (*profile.COPIES, *tune_cases.MEASURED)
    if unknown := [name for name in routines if name not in known]:
        raise ValueError(f"{unknown[0]!r} is not tuned; allowed are {', '.join(known)}")
    files = (str(Path(tune_cases.__file__)),)
    options = Options(sizes=sizes, pes=pes, batch=0.002, batches=7, files=files, hosts=hosts)
    cases = [CASES[f"{tune_cases.PREFIX}{name}/host"] for name in routines or known]
    todo = points(cases, options)
    found: dict[int, dict[str, Any]] = defaultdict(lambda: defaultdict(lambda: defaultdict(dict)))
    columns = (TextColumn("{task.description:24}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Runner(options) as runner, Progress(*columns, transient=True) as progress:
        task = progress.add_task("", total=len(todo))
        for rows in runner.run(todo):
            _note(found, rows[0], tune_cases.PREFIX)
            progress.update(task, advance=1, description=f"{rows[0].op}, {rows[0].pes} PEs")
        return found, runner.device


def _note(found: dict[int, dict[str, Any]], row: Row, prefix: str) -> None:
    if row.status in ("wrong", "failed"):
        raise click.ClickException(f"{row.op} {row.axes} on {row.pes} PEs {row.status}: {row.reason}")
    if row.status == "ok":
        found[row.pes][row.op[len(prefix) :]][row.axes["algorithm"]][row.axes["size"]] = row.seconds["median"]


def table_of(times: Mapping[str, Times]) -> Table:
    """Return the best algorithms of measured routines, and of those in `SAME`, each with its smallest size in bytes."""
    from ishmem.benchmarks.tune_cases import SAME
    from ishmem.common.algorithms import allowed

    table: Table = {}
    for routine, measured in times.items():
        table[routine] = best(measured)
        for other in SAME.get(routine, ()):
            can = [name for name in measured if name in allowed(other)]
            table[other] = best({name: measured[name] for name in can})
    return table


def best(times: Times) -> list[tuple[int, str]]:
    """Return the algorithms by ``times``, each with the least size at which it is the fastest by margin `WORTH`."""
    sizes = sorted({size for of_one in times.values() for size in of_one})
    entries: list[tuple[int, str]] = [(0, next(iter(times)))]
    for before, size in zip([0, *sizes], sizes):
        can = {name: of_one[size] for name, of_one in times.items() if size in of_one}
        name, last = min(can, key=lambda each: can[each]), entries[-1][1]
        if name != last and (last not in can or can[name] < WORTH * can[last]):
            start = _crossing(times[last], times[name], before, size) if before else 0
            entries = [entry for entry in entries if entry[0] < start] + [(start, name)]
    return entries


def _crossing(one: Mapping[int, float], other: Mapping[int, float], before: int, size: int) -> int:
    """Return the size, a multiple of 8 bytes, at which two algorithms cross between two sizes, on logarithmic axes."""
    if not {before, size} <= set(one) & set(other):
        return before + 8  # only one was measured at both sizes: it has a size limit
    low, high = math.log(one[before] / other[before]), math.log(one[size] / other[size])
    part = -low / (high - low) if low < 0 < high else 1.0
    return int(before * (size / before) ** part) // 8 * 8


def show(tables: Mapping[str, Table], measured: Mapping[int, Mapping[str, Times]]) -> None:
    """Print the algorithms of each measured routine, and the block sizes in bytes from which they are used."""
    from rich.console import Console
    from rich.table import Table as Grid

    grid = Grid("routine", "PEs", "algorithms, each with its smallest block size")
    for (n, times), table in zip(measured.items(), tables.values()):
        for routine in times:
            grid.add_row(routine, str(n), profile.entries_text(table[routine]))
        grid.add_section()
    Console(highlight=False).print(grid)


def draw(path: Path, measured: Mapping[int, Mapping[str, Times]], device: str) -> None:
    """Write a picture of time against size: panels by routine, lines by algorithm, dashes where the best changes."""
    from ishmem.benchmarks import plot

    panels = [(f"{routine}, {n} PEs", times[routine]) for n, times in measured.items() for routine in times]
    figure, grid = plot.panel_grid(len(panels), most=COLUMNS)
    plot.entitle(figure, f"{device}: microseconds against block size in bytes")
    for axes, (title, times) in zip(grid, panels):
        _panel(axes, title, times)
    plot.legend(figure, grid)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)


def _panel(axes: Axes, title: str, times: Times) -> None:
    from ishmem.benchmarks import plot
    from ishmem.common.algorithms import ALGORITHMS

    for name, of_one in times.items():
        sizes, color = sorted(of_one), f"C{ALGORITHMS.index(name)}"
        axes.plot(sizes, [1e6 * of_one[size] for size in sizes], "o-", ms=3, label=name, color=color)
    for start, _name in best(times)[1:]:
        axes.axvline(start, color="grey", ls="--", lw=0.8)
    axes.set_title(title, fontsize=10)
    plot.log_scales(axes)
