"""``ishmem trace``: tables and a timeline of a job that ran with ``ishmem run --trace``."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ishmem.cli import trace_data, trace_summary, trace_traffic

if TYPE_CHECKING:
    from ishmem.cli.trace_data import Trace

MERGED = "trace.json"
_ROUTINES, _WAITS, _PAIRS, _MATRIX = 15, 5, 10, 16  # rows of the tables, and PEs of the matrix of bytes
_LENGTH = 100  # largest number of characters of an error's text
_WORDS = "for whom"  # the column whose cells are text


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
def command(folder: Path) -> None:
    """Show how a traced job spent its time, and which PEs waited for which.

    Writes the timeline of all PEs to FOLDER/trace.json, for https://ui.perfetto.dev.
    """
    from rich.console import Console

    trace = trace_data.read(folder)
    console = Console()
    console.print(_heading(trace), highlight=False)
    for title, table in _tables(trace):
        console.print(f"\n[bold]{title}[/bold]", table)
    (folder / MERGED).write_text(json.dumps(trace_data.merged(trace)), encoding="utf-8")
    console.print(f"Written: {folder / MERGED}", highlight=False, soft_wrap=True)


def _heading(trace: Trace) -> str:
    lines = [f"{len(trace.facts)} of {trace.n_pes} PEs, {len(trace.calls)} calls, {_time(trace.seconds)}"]
    for pe, facts in trace.facts.items():
        if facts["lost"]:
            lines.append(f"PE {pe}: the trace had no room for its first {facts['lost']} calls")
        if facts["ended"] != "finalize":
            lines.append(f"PE {pe} left early: {facts['ended'].splitlines()[0][:_LENGTH]}")
    if missing := [pe for pe in range(trace.n_pes) if pe not in trace.facts]:
        lines.append(f"No file of PE {', '.join(map(str, missing))}: it was killed, or ran on another node's disk")
    return "\n".join(lines)


def _tables(trace: Trace) -> Iterator[tuple[str, Any]]:
    times = trace_summary.pes(trace)
    yield f"Time per routine, all PEs together, the first {_ROUTINES}", _routine_table(trace)
    yield "Time per PE, between init and finalize", _pe_table(times)
    more, busiest = trace_summary.imbalance(times)
    yield f"Imbalance: PE {busiest} worked {more:.0%} longer than the mean", ""
    if found := trace_summary.replays(trace):
        yield "Replays of each graph, all PEs together; launches, driver calls and bytes of one", _replay_table(found)
    yield "Longest waits", _wait_table(trace)
    for kind, matrix in trace_traffic.between(trace).items():
        yield f"{kind}: bytes from PE (rows) to PE (columns)", _byte_table(matrix)
    if names := trace_traffic.left_out(trace):
        yield f"Not in these bytes, since a trace does not have their counts or members: {', '.join(names)}", ""


def _table(*columns: str) -> Any:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number and column != _WORDS else "left", no_wrap=column != _WORDS)
    return table


def _routine_table(trace: Trace) -> Any:
    table = _table("routine", "calls", "time", "waiting", "median", "longest", "bytes")
    for each in trace_summary.routines(trace)[:_ROUTINES]:
        longest = max(call.seconds for call in each.calls)
        times = [_time(value) for value in (each.seconds, each.waited, each.median, longest)]
        table.add_row(each.name, str(len(each.calls)), *times, _size(each.nbytes))
    return table


def _replay_table(found: dict[int, list[trace_data.RecordedCall]]) -> Any:
    table = _table("graph", "replays", "median", "longest", "launches", "copies", "driver calls", "bytes")
    for graph, calls in found.items():
        times, one = [call.seconds for call in calls], calls[-1].arguments
        driver = [call.arguments["driver calls"] for call in calls if "driver calls" in call.arguments]
        shown = str(statistics.median_low(driver)) if driver else "-"
        counts = map(str, (one["launches"], one["nodes"] - one["launches"]))
        spans = _time(statistics.median(times)), _time(max(times))
        table.add_row(str(graph), str(len(calls)), *spans, *counts, shown, _size(one["bytes"]))
    return table


def _pe_table(times: list[trace_summary.PeTime]) -> Any:
    table = _table("PE", "own code", "kernels", "ishmem", "waiting", _WORDS)
    for each in times:
        causes = sorted(each.causes.items(), key=lambda cause: -cause[1])
        words = ", ".join(f"PE {pe} {_time(seconds)}" for pe, seconds in causes[:3] if seconds > 0.01 * each.waited)
        table.add_row(str(each.pe), *map(_time, (each.program, each.kernels, each.ishmem, each.waited)), words)
    return table


def _wait_table(trace: Trace) -> Any:
    table = _table("routine", "PE", "waited", "for PE", "from")
    for call in trace_summary.longest_waits(trace, _WAITS):
        cause = "unknown" if call.cause is None else str(call.cause)
        table.add_row(call.name, str(call.pe), _time(call.waited), cause, _time(call.begin))
    return table


def _byte_table(matrix: list[list[int]]) -> Any:
    if len(matrix) <= _MATRIX:
        table = _table("", *map(str, range(len(matrix))))
        for pe, row in enumerate(matrix):
            table.add_row(str(pe), *map(_size, row))
        return table
    table = _table("from", "to", "bytes")
    pairs = [(nbytes, pe, peer) for pe, row in enumerate(matrix) for peer, nbytes in enumerate(row) if nbytes]
    for nbytes, pe, peer in sorted(pairs, reverse=True)[:_PAIRS]:
        table.add_row(str(pe), str(peer), _size(nbytes))
    return table


def _time(seconds: float) -> str:
    if not seconds:
        return "-"
    if seconds >= 1:
        return f"{seconds:.2f} s"
    return f"{seconds * 1e3:.3g} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.3g} us"


def _size(nbytes: int) -> str:
    from rich.filesize import decimal

    return decimal(nbytes) if nbytes else "-"
