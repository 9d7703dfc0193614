"""``ishmem bench``: measure, plot, compare."""

from __future__ import annotations

import re
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ishmem.settings import parse_size

if TYPE_CHECKING:
    from ishmem.benchmarks.runner import Options, Row, Rows

SIZES = "8,16:64M:4"
_INTERRUPTED = 128 + signal.SIGINT


def parse_sizes(text: str) -> tuple[int, ...]:
    """Read sizes: a list of sizes and of ranges ``from:to`` or ``from:to:factor``, factor 2 by default.

    Raises:
        ValueError: Says what is allowed.
    """
    sizes: set[int] = set()
    for part in text.split(","):
        ends = part.split(":")
        try:
            first, last = parse_size(ends[0]), parse_size(ends[min(1, len(ends) - 1)])
            factor = int(ends[2]) if len(ends) > 2 else 2
        except ValueError:
            first, last, factor = 1, 0, 0
        if len(ends) > 3 or factor < 2 or last < first:
            allowed = "sizes such as 8, 4K or 64M, and ranges such as 8:64M or 8:64M:4"
            raise ValueError(f"{part!r} is no size; allowed are {allowed}")
        while first <= last:
            sizes.add(first)
            first *= factor
    return tuple(sorted(sizes))


def _sizes(_ctx: Any, _param: Any, value: str) -> tuple[int, ...]:
    try:
        return parse_sizes(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def _words(_ctx: Any, _param: Any, value: str) -> tuple[str, ...]:
    return tuple(word for word in re.split(r"[,\s]+", value) if word)


def _counts(ctx: Any, param: Any, value: str) -> tuple[int, ...]:
    words = _words(ctx, param, value)
    if any(not word.isdigit() or not 1 <= int(word) <= 4096 for word in words):
        raise click.BadParameter(f"{value!r}: allowed are numbers of PEs, at least 1, such as 2 or 2,4")
    return tuple(int(word) for word in words)


def _axes(_ctx: Any, _param: Any, value: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    axes = {}
    for text in value:
        name, _equals, values = text.partition("=")
        if not name or not values:
            raise click.BadParameter(f"{text!r}: allowed is a name with values, such as direction=both")
        axes[name] = tuple(values.split(","))
    return axes


@click.group(invoke_without_command=True)
@click.option("--op", callback=_words, default="", help="Operations, such as put,get; --list names them.")
@click.option("--side", callback=_words, default="", help="host, queue, device, group or program; all by default.")
@click.option("--size", callback=_sizes, default=SIZES, show_default=True, help="Sizes: a list of sizes and ranges.")
@click.option("--pes", callback=_counts, default="", help="Numbers of PEs, such as 2,4; by default those of each case.")
@click.option("--axis", "axes", callback=_axes, multiple=True, help="Values of another axis, such as direction=both.")
@click.option("--peers", callback=_words, default="mpi4py,shmem4py", show_default=True, help="Peers; none: no peers.")
@click.option("--batches", type=click.IntRange(3, 1000), default=15, show_default=True, help="Batches of calls.")
@click.option("--batch", type=click.FloatRange(0.0001, 10), default=0.004, show_default=True, help="Seconds of each.")
@click.option("--cases", type=click.Path(exists=True, dir_okay=False), multiple=True, help="A file with more cases.")
@click.option("--json", "json_path", type=click.Path(dir_okay=False, path_type=Path), help="Write results as JSON.")
@click.option("--csv", "csv_path", type=click.Path(dir_okay=False, path_type=Path), help="Write results as CSV.")
@click.option("--list", "list_only", is_flag=True, help="List operations, sides and axes, and measure nothing.")
@click.pass_context
def command(
    ctx: click.Context, /, json_path: Path | None, csv_path: Path | None, list_only: bool, **chosen: Any
) -> None:
    """Measure operations: latency, bandwidth and message rate, beside the machine's limit and peers."""
    if ctx.invoked_subcommand:
        return
    options = _options(**chosen)
    try:
        points = plan(options)
    except (ValueError, OSError) as error:
        raise click.UsageError(str(error)) from None
    if list_only:
        _list_cases(points)
        return
    ctx.exit(measure(options, points, json_path, csv_path)[1])


def _options(op: Any, side: Any, size: Any, pes: Any, axes: Any, peers: Any, cases: Any, **timing: Any) -> Options:
    from ishmem.benchmarks.group import LAUNCHERS
    from ishmem.benchmarks.runner import Options

    known = [name for name in LAUNCHERS if name != "ishmem"]
    wrong = [name for name in peers if name not in (*known, "none")]
    if wrong:
        raise click.UsageError(f"no such peer: {wrong[0]}; allowed are {', '.join(known)} and none")
    peers = tuple(name for name in peers if name != "none")
    return Options(op, side, size, pes, axes, peers, files=tuple(map(str, cases)), **timing)


def plan(options: Options) -> list[Any]:
    """Return the points to measure.

    Raises:
        ValueError: Options that name what there is not, or that leave nothing to measure.
    """
    from ishmem.benchmarks import frame
    from ishmem.benchmarks.runner import points

    frame.load(options.files)
    cases = frame.select(options.ops, options.sides)
    known = {name for one in cases for name in one.axes}
    for name in options.axes:
        if name not in known:
            raise ValueError(f"no such axis: {name}; allowed here are {', '.join(sorted(known - {'size'}))}")
    found = points(cases, options)
    if not found:
        raise ValueError("nothing to measure: no case has these values of its axes")
    return found


def measure(
    options: Options, points: list[Any], json_path: Path | None = None, csv_path: Path | None = None
) -> tuple[list[Row], int]:
    """Measure, show the table as it grows, and write the files; gives the rows and the exit status.

    Ctrl-C ends it cleanly: what has been measured is written.
    """
    from ishmem.benchmarks import results
    from ishmem.benchmarks.runner import Runner
    from ishmem.benchmarks.show import Screen

    rows: list[Row] = []
    complete = False
    with Runner(options) as runner, Screen(runner.present, len(points)) as screen:
        try:
            for found in runner.run(points):
                rows += found
                screen.show(found)
            complete = True
        except KeyboardInterrupt:
            screen.say("interrupted")
    if json_path:
        results.write(json_path, rows, options, runner.device, complete)
    if csv_path:
        csv_path.write_text(results.as_csv(rows))
    return rows, _status(rows, complete)


def _status(rows: Rows, complete: bool) -> int:
    if not complete:
        return _INTERRUPTED
    return 1 if any(row.status in ("wrong", "failed") for row in rows) else 0


def _list_cases(points: list[Any]) -> None:
    cases = {one.key: one for one, _n, _point in points}
    for one in cases.values():
        print(f"{one.name:20} {one.side:8} {', '.join(one.axes) or '-':24} {', '.join(one.bodies)}")
