"""Compares the applications of ``ishmem.examples.apps`` with the same programs by mpi4py.

``python -m tools.applications measure`` measures them, and ``figures`` makes the table and picture of a page.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import click

from ishmem.benchmarks import plot
from ishmem.benchmarks.group import Group, GroupError, missing
from ishmem.benchmarks.results import about, environment
from ishmem.benchmarks.show import short_time
from ishmem.examples.apps import APPS, App, find
from tools import figures

OWN, PEER = "ishmem", "mpi4py"
PES = (1, 2, 4)
STRONG, WEAK = "strong", "weak"
HEAP = "512M"
TARGET, WHOLE_TARGET = 0.7, 1.0
MARKER = "applications"


@dataclass
class Row:
    """The result of an application on N PEs with one library.

    Attributes:
        app: The name of the application.
        scaling: ``strong`` or ``weak``.
        pes: Number of PEs.
        contender: The library; or with ishmem, the host routines of `App.beside` or another one of `App.forms`.
        seconds, communication: Medians over the runs, in seconds: of the slowest PE, and of the mean communication.
        runs: Number of runs.
        reason: The error if there is no result; else empty.
        options: The options of the application.
        device: The device of a PE.
    """

    app: str
    scaling: str
    pes: int
    contender: str
    seconds: float = 0.0
    communication: float = 0.0
    runs: int = 0
    reason: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    device: str = ""


class _Contender:
    """A library that runs one application: its group of processes and the measured times."""

    def __init__(self, group: Group, row: Row, fused: bool) -> None:
        self.row = row
        self._beside = row.contender == find(row.app).beside
        self._group, self._fused = group, fused and row.contender != PEER and not self._beside
        self._whole: list[float] = []
        self._communication: list[float] = []

    def run(self, timeout: float, check: bool = False, keep: bool = True) -> None:
        """Run once, and for a fused application once more without communication; store the times if ``keep``."""
        whole, communication = self._ask(timeout, True, check)
        if self._fused:
            communication = max(whole - self._ask(timeout, False, False)[0], 0.0)
        if keep:
            self._whole.append(whole)
            self._communication.append(communication)

    def _ask(self, timeout: float, communicates: bool, check: bool) -> tuple[float, float]:
        request = ("application", self.row.app, self.row.options, communicates, check, self._beside)
        answers = self._group.ask(request, None, timeout)
        bad = [str(value) for status, value in answers if status != "ok"]
        if bad:
            raise GroupError(bad[0])
        values = [value for _status, value in answers]
        return max(one[0] for one in values), statistics.mean(one[1] for one in values)

    def finish(self) -> None:
        """Set the medians, the number of runs and the device in the row."""
        self.row.runs, self.row.device = len(self._whole), self._group.device
        self.row.seconds = float(f"{statistics.median(self._whole):.4g}")
        self.row.communication = float(f"{statistics.median(self._communication):.4g}")


def measure(
    names: tuple[str, ...], pes: tuple[int, ...], runs: int, seconds: float, timeout: float = 300
) -> Iterator[list[Row]]:
    """Measure applications; yield the rows of each application, scaling and number of PEs: one for each library.

    The first run of each compiles and is checked; then the libraries run in turn, at least ``runs`` times and for at
    least ``seconds``. If an application has equivalent host routines (`App.beside`) or several forms (`App.forms`),
    there are more rows with their names as contender.
    """
    libraries = [library for library in (OWN, PEER) if not missing(library)]
    for n in pes:
        groups = {name: Group(name, n, (), {"ISHMEM_SYMMETRIC_SIZE": HEAP}) for name in libraries}
        try:
            for name in names or tuple(APPS):
                kind = find(name)
                done: dict[Any, list[Row]] = {}
                for scaling, app in ((STRONG, kind.scaled(max(pes))), (WEAK, kind.scaled(n))):
                    rows = [Row(name, scaling, n, user, options=options) for user, options in _problems(app, libraries)]
                    if app in done:  # the largest number of PEs: both scalings have the same problem
                        rows = [Row(**{**asdict(row), "scaling": scaling}) for row in done[app]]
                    else:
                        users = [groups.get(row.contender, groups[OWN]) for row in rows]
                        contenders = [_Contender(user, row, kind.fused) for user, row in zip(users, rows)]
                        _measure(contenders, runs, seconds, timeout)
                    done[app] = rows
                    yield rows
        finally:
            for group in groups.values():
                group.stop()


def _problems(app: App, libraries: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each contender of an application with its options of the application."""
    options = asdict(app)  # type: ignore[call-overload]
    yield from ((library, options) for library in libraries)
    if app.beside:
        yield app.beside, options
    yield from ((form, {**options, "form": form}) for form in app.forms[1:])


def _measure(contenders: list[_Contender], runs: int, seconds: float, timeout: float) -> None:
    try:
        for one in contenders:
            one.run(timeout, check=True, keep=False)
        end, done = time.monotonic() + seconds, 0
        while done < runs or time.monotonic() < end:
            for one in contenders:
                one.run(timeout)
            done += 1
        for one in contenders:
            one.finish()
    except GroupError as error:
        for one in contenders:
            one.row.reason = str(error)


def line(rows: list[Row]) -> str:
    """Return the line to print for rows of the same problem."""
    cells = [f"{rows[0].app:10} {rows[0].scaling:7} {rows[0].pes:2} PEs"]
    for row in rows:
        text = f"{short_time(row.seconds)}, communication {short_time(row.communication)}"
        cells.append(f"{row.contender}: {row.reason or text}")
    return "   ".join(cells)


def write(path: Path, rows: list[Row]) -> None:
    """Write results to a file as JSON, one row per line, after the environment in which they were measured."""
    device = next((row.device for row in rows if row.device), "")
    head = json.dumps({"environment": environment(device)}, indent=1)[:-2]
    lines = ",\n".join(json.dumps(asdict(row)) for row in rows)
    path.write_text(f'{head},\n "rows": [\n{lines}\n]}}\n')


def read(path: Path) -> tuple[dict[str, Any], list[Row]]:
    """Return the header, without the rows, and the rows of a file that `write` has written."""
    data = json.loads(path.read_text())
    return data, [Row(**row) for row in data.pop("rows")]


def pairs(rows: list[Row]) -> list[tuple[Row, Row]]:
    """Return pairs of the rows of ishmem and mpi4py for each problem that both have run."""
    own, other = ({_problem(row): row for row in rows if row.contender == name and row.runs} for name in (OWN, PEER))
    return sorted(
        ((own[key], other[key]) for key in own if key in other),
        key=lambda pair: (list(APPS).index(pair[0].app), pair[0].scaling, pair[0].pes),
    )


def table(rows: list[Row]) -> str:
    """Return the table of both libraries in markdown; ratios above the targets are bold."""
    titles = ["", "scaling", "PEs", "ishmem", "mpi4py", "ratio", "communication: ishmem", "mpi4py", "ratio"]
    lines = []
    for own, other in pairs(rows):
        cells = [find(own.app).title, own.scaling, str(own.pes), short_time(own.seconds), short_time(other.seconds)]
        cells.append(_ratio(own.seconds, other.seconds, WHOLE_TARGET))
        cells += [short_time(own.communication), short_time(other.communication)]
        cells.append(_ratio(own.communication, other.communication, TARGET) if own.pes > 1 else "")
        cells += [f"{row.communication / row.seconds:.0%}" for row in (own, other)]
        lines.append(cells)
    return figures.markdown([*titles, "share: ishmem", "mpi4py"], lines)


def beside(rows: list[Row]) -> str:
    """Return the table that compares with host routines and other forms, in markdown; empty if there are none."""
    found = [row for row in rows if row.contender not in (OWN, PEER) and row.runs]
    lines = []
    for own, _other in pairs(rows):
        for row in found:
            if _problem(row) == _problem(own):
                cells = [_form(own), own.scaling, str(own.pes), short_time(own.seconds), row.contender]
                lines.append([*cells, short_time(row.seconds), f"{own.seconds / row.seconds:.2f}"])
    return figures.markdown(["", "scaling", "PEs", "one kernel", "beside it", "", "ratio"], lines) if found else ""


def _problem(row: Row) -> tuple[str, str, int]:
    return row.app, row.scaling, row.pes


def _form(row: Row) -> str:
    """Return the title of an application, with its form if it has several."""
    kind = find(row.app)
    return f"{kind.title}, {row.options['form']}" if kind.forms else kind.title


def _ratio(own: float, other: float, most: float) -> str:
    ratio = own / other if other else 0.0
    return f"{ratio:.2f}" if ratio <= most else f"**{ratio:.2f}**"


def draw(rows: list[Row]) -> Any:
    """Return a figure of the times: a bar for each library and number of PEs, with the communication at its top."""
    from ishmem.benchmarks.plot import COLORS, panel_grid

    found = pairs(rows)
    panels = list(dict.fromkeys((own.app, own.scaling) for own, _other in found))
    figure, axes = panel_grid(len(panels), 2.2, 4)
    for axis, (app, scaling) in zip(axes, panels):
        shown = [pair for pair in found if (pair[0].app, pair[0].scaling) == (app, scaling)]
        for place, pair in enumerate(shown):
            for side, row in zip((-0.2, 0.2), pair):
                local, color = max(row.seconds - row.communication, 0), COLORS[row.contender]
                axis.bar(place + side, 1e3 * local, 0.36, color=color)
                axis.bar(place + side, 1e3 * row.communication, 0.36, 1e3 * local, color=color, alpha=0.45)
        axis.set_xticks(range(len(shown)), [f"{own.pes} PE{'s' * (own.pes > 1)}" for own, _other in shown], fontsize=7)
        axis.set_title(f"{find(app).title}, {scaling} scaling, ms", fontsize=7)
        axis.tick_params(labelsize=7)
    names = [f"{name}{words}" for name in (OWN, PEER) for words in ("", ", communication")]
    from matplotlib.patches import Patch

    patches = [Patch(color=COLORS[name.split(",")[0]], alpha=0.45 if "," in name else 1) for name in names]
    figure.legend(patches, names, loc="outside lower center", ncols=4, fontsize=8)
    return figure


@click.group()
def main() -> None:
    """Compare the applications with mpi4py."""


@main.command("measure")
@click.argument("names", nargs=-1)
@click.option("--pes", multiple=True, type=click.IntRange(1), default=PES, show_default=True, help="Numbers of PEs.")
@click.option("--runs", type=click.IntRange(1), default=5, show_default=True, help="Least runs of each.")
@click.option("--seconds", type=click.FloatRange(0), default=4, show_default=True, help="Least duration of all runs.")
@click.option("--json", "path", type=click.Path(dir_okay=False, path_type=Path), help="Write results as JSON.")
@click.pass_context
def measure_command(
    ctx: click.Context, names: tuple[str, ...], pes: tuple[int, ...], runs: int, seconds: float, path: Path | None
) -> None:
    """Measure all applications, or some, and print a line for each problem."""
    try:
        for name in names:
            find(name)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    rows: list[Row] = []
    for found in measure(names, pes, runs, seconds):
        click.echo(line(found))
        rows += found
        if path:
            write(path, rows)
    ctx.exit(1 if any(row.reason for row in rows) else 0)


@main.command("figures")
@click.argument("results", type=figures.RESULTS)
@click.option("--page", type=figures.RESULTS, help="Write the table between the markers of this page.")
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Draw a picture.")
def figures_command(results: Path, page: Path | None, output: Path | None) -> None:
    """Print the table of the applications, in markdown."""
    head, rows = read(results)
    runs = [row.runs for row in rows if row.runs]
    counts = f"{min(runs, default=0)} to {max(runs, default=0)} runs of each, in turn."
    text = f"{about(head)} {counts}\n\n{table(rows)}"
    if others := beside(rows):
        text += f"\n\nBeside host routines that do the same, and other forms of the kernel:\n\n{others}"
    figures.put(page, text, MARKER)
    if output:
        plot.save(draw(rows), output)


if __name__ == "__main__":
    main()
