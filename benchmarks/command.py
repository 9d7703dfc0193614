"""The command ``ishmem bench``, which measures, and its subcommands ``plot`` and ``compare``."""

from __future__ import annotations

import re
import signal
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ishmem.common.sizes import parse_size

if TYPE_CHECKING:
    from ishmem.benchmarks.runner import Options, Row, Rows

FILE = click.Path(dir_okay=False, path_type=Path)
_SIZES = "those of each case, or 8,16:64M:4"
_INTERRUPTED = 128 + signal.SIGINT


def parse_sizes(text: str) -> tuple[int, ...]:
    """Return the sizes in bytes, sorted, of a list of sizes and ranges ``from:to`` or ``from:to:factor``, by default 2.

    Raises:
        ValueError: A part is not a size or range; the message contains the allowed forms.
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
            raise ValueError(f"{part!r} is not a size; allowed are {allowed}")
        while first <= last:
            sizes.add(first)
            first *= factor
    return tuple(sorted(sizes))


def _sizes(_ctx: Any, _param: Any, value: str) -> tuple[int, ...]:
    try:
        return parse_sizes(value) if value else ()
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
@click.option("--size", callback=_sizes, default="", show_default=_SIZES, help="Sizes: a list of sizes and ranges.")
@click.option("--pes", callback=_counts, default="", help="Numbers of PEs, such as 2,4; by default those of each case.")
@click.option("--axis", "axes", callback=_axes, multiple=True, help="Values of a case's axis, such as direction=both.")
@click.option("--peers", callback=_words, default="mpi4py", show_default=True, help="Peers; none: no peers.")
@click.option("--batches", type=click.IntRange(3, 1000), default=15, show_default=True, help="Batches of calls.")
@click.option("--batch", type=click.FloatRange(0.0001, 10), help="Seconds per batch; 0.004, between nodes 0.02.")
@click.option("--cases", type=click.Path(exists=True, dir_okay=False), multiple=True, help="A file with more cases.")
@click.option("--hosts", default="", help="Hosts of all PEs, such as a,b: measures what goes between nodes.")
@click.option("--json", "json_path", type=FILE, help="Write results as JSON.")
@click.option("--csv", "csv_path", type=FILE, help="Write results as CSV.")
@click.option("--list", "list_only", is_flag=True, help="List operations, sides and axes, and measure nothing.")
@click.pass_context
def command(
    ctx: click.Context, /, json_path: Path | None, csv_path: Path | None, list_only: bool, **chosen: Any
) -> None:
    """Measure latency, bandwidth and message rate, compared with the machine's limit and with peer libraries."""
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


def _options(
    op: Any, side: Any, size: Any, pes: Any, axes: Any, peers: Any, cases: Any, hosts: str,
    batch: float | None, batches: int,
) -> Options:  # fmt: skip
    from ishmem.benchmarks.runner import Options
    from ishmem.benchmarks.worlds import PEERS

    wrong = [name for name in peers if name not in (*PEERS, "none")]
    if wrong:
        raise click.UsageError(f"no such peer: {wrong[0]}; allowed are {', '.join(PEERS)} and none")
    peers = tuple(name for name in peers if name != "none")
    if hosts:
        op = op or ("nodes",)
    # The PEs leave the barrier before a batch at different times, which differ more between nodes.
    batch = batch or (0.02 if hosts else 0.004)
    return Options(op, side, size, pes, axes, peers, batch, batches, files=tuple(map(str, cases)), hosts=hosts)


def plan(options: Options) -> list[Any]:
    """Return the points to measure.

    Raises:
        ValueError: An option contains an unknown name, or there is no point to measure.
    """
    from ishmem.benchmarks import suite
    from ishmem.benchmarks.runner import points

    suite.load(options.files)
    cases = suite.select(options.ops, options.sides)
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
    """Measure points, print each line at once, and write the files; return the rows and the exit status.

    The status is 1 if a row is wrong or failed, else 0. After Ctrl-C it is 130, and the files contain the rows so far.
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
                screen.show(found, runner.device)
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


_RESULTS = click.Path(exists=True, dir_okay=False, path_type=Path)


@command.command()
@click.argument("results", type=_RESULTS)
@click.option("-o", "--output", type=FILE, help="By default RESULTS with .png.")
@click.option("--picture", callback=_words, default="", help="latency, bandwidth, pairs or peers; all by default.")
@click.option("--op", callback=_words, default="", help="Only these operations.")
@click.option("--side", callback=_words, default="", help="Only these sides.")
def plot(results: Path, output: Path | None, picture: Any, op: Any, side: Any) -> None:
    """Draw results as PNG files: file-latency.png and so on, or file.png for a single --picture."""
    from ishmem.benchmarks import plot, results as files

    head, rows = _read(results)
    chosen = [row for row in rows if (not op or row.op in op) and (not side or row.side in side)]
    target = output or results.with_suffix(".png")
    wrong = [name for name in picture if name not in plot.PICTURES]
    if wrong:
        raise click.BadParameter(f"no such picture: {wrong[0]}; allowed are {', '.join(plot.PICTURES)}")
    for name in picture or plot.PICTURES:
        path = target if len(picture) == 1 else target.with_name(f"{target.stem}-{name}{target.suffix}")
        try:
            plot.save(plot.draw(chosen, name, files.about(head)), path)
        except plot.NothingToPlot as reason:
            print(f"no picture of {name}: {reason}")
            continue
        except ImportError as error:
            raise click.ClickException(f"{error}; pip install 'ishmem4py[bench]'") from None
        print(path)


@command.command()
@click.argument("old", type=_RESULTS)
@click.argument("new", type=_RESULTS, required=False)
@click.option("--threshold", type=click.FloatRange(1.0), default=1.1, show_default=True, help="Ratio that counts.")
@click.option("--fail", is_flag=True, help="Exit with status 1 if anything got slower or broke.")
@click.option("--all", "show_all", is_flag=True, help="Show unchanged operations, too.")
@click.pass_context
def compare(ctx: click.Context, /, old: Path, new: Path | None, threshold: float, fail: bool, show_all: bool) -> None:
    """Show what got slower or faster since OLD; without NEW, the points of OLD are measured now."""
    from ishmem.benchmarks import compare as comparison

    head, before = _read(old)
    after = _read(new)[1] if new else _measure_again(head)
    changes = comparison.compare(before, after, threshold)
    print(comparison.HEADER)
    for change in changes:
        if show_all or change.verdict != "same":
            print(change.line())
    counts = Counter(change.verdict for change in changes)
    order = [name for name in ("slower", "broken", "faster", "same") if counts[name]]
    print(", ".join(f"{counts[name]} {name}" for name in order) or "nothing in common")
    ctx.exit(1 if fail and counts["slower"] + counts["broken"] else 0)


def _read(path: Path) -> tuple[dict[str, Any], list[Row]]:
    from ishmem.benchmarks import results

    try:
        return results.read(path)
    except ValueError as error:
        raise click.ClickException(str(error)) from None


def _measure_again(head: dict[str, Any]) -> list[Row]:
    from ishmem.benchmarks import results

    options = results.options_of(head)
    return measure(options, plan(options))[0]
