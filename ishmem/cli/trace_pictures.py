"""Pictures of a trace: the timeline of the PEs, and the bytes between them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from matplotlib.figure import Figure
from rich.filesize import decimal

from ishmem.cli import trace_summary, trace_traffic

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ishmem.cli.trace_data import Call, Trace

KINDS = {
    "own code": "#e4e7ec", "kernels": "#3a9d5d", "ishmem": "#0068b5", "waiting": "#d9480f", "on a queue": "#8f5da2",
}  # fmt: skip
"""The colours of the timeline."""
_MOST_PES = 64
_MOST_ARROWS = 60
_NUMBERS = 12  # PEs up to which the squares of the heat map have numbers


def draw(trace: Trace, folder: Path) -> list[Path]:
    """Draw all pictures; return their files."""
    found = {"timeline.png": timeline(trace)}
    if matrices := trace_traffic.between(trace):
        found["bytes.png"] = heat_maps(matrices)
    for name, figure in found.items():
        figure.savefig(folder / name, dpi=110)
    return [folder / name for name in found]


def heat_maps(matrices: dict[str, trace_traffic.Matrix]) -> Figure:
    """Draw the bytes from each PE to each, one map beside the other, by their titles."""
    n = len(next(iter(matrices.values())))
    side = max(4.2, 0.55 * n + 2.5) if n <= _NUMBERS else 6.5
    figure = Figure(figsize=(side * len(matrices), 0.8 * side), layout="constrained")
    panels = figure.subplots(1, len(matrices), squeeze=False)[0]
    for axes, (title, matrix) in zip(panels, matrices.items()):
        image = axes.imshow(matrix, cmap="Blues", vmin=0)
        axes.set(title=f"{title}: bytes", xlabel="to PE", ylabel="from PE")
        if n <= _NUMBERS:
            _write_numbers(axes, matrix)
        figure.colorbar(image, ax=axes, fraction=0.046, pad=0.03, format=lambda value, _position: decimal(int(value)))
    return figure


def _write_numbers(axes: Axes, matrix: trace_traffic.Matrix) -> None:
    """Write the bytes into the squares of a heat map, with lines between them."""
    n, half = len(matrix), max(map(max, matrix)) / 2
    axes.set_xticks(range(n))
    axes.set_yticks(range(n))
    between = [pe + 0.5 for pe in range(n - 1)]
    axes.hlines(between, -0.5, n - 0.5, color="white", linewidth=2)
    axes.vlines(between, -0.5, n - 0.5, color="white", linewidth=2)
    for pe, row in enumerate(matrix):
        for peer, nbytes in enumerate(row):
            color = "white" if nbytes > half else "#222"
            axes.text(peer, pe, decimal(nbytes) if nbytes else "-", ha="center", va="center", color=color, size=8)


def timeline(trace: Trace) -> Figure:
    """Draw what each PE did, one row for each PE, and arrows from the calls that ended waits."""
    shown = list(trace.facts)[:_MOST_PES]
    figure = Figure(figsize=(11, 1.7 + 0.5 * len(shown)), layout="constrained")
    axes = figure.subplots()
    rows = {pe: row for row, pe in enumerate(shown)}
    first, last = _window(trace)
    for pe, row in rows.items():
        _row(axes, trace, pe, row, first)
    _arrows(axes, trace, rows)
    _shares(axes, trace, rows)
    axes.set(xlim=(first, last), ylim=(len(shown) - 0.5, -0.5), xlabel="seconds since the first PE called init")
    axes.set_yticks(range(len(shown)), [f"PE {pe}" for pe in shown])
    axes.set_title("What each PE did from the end of init to finalize", size=10)
    _legend(figure, axes, bool(trace.arrows))
    return figure


def _row(axes: Axes, trace: Trace, pe: int, row: int, first: float) -> None:
    """Draw what a PE did; on queues in a strip of their own."""
    end = max((call.end for call in trace.of(pe)), default=first)
    spans = {"own code": [(first, max(end - first, 0.0))], **_spans(trace, pe)}
    for kind, found in spans.items():
        low, height = (row + 0.2, 0.16) if kind == "on a queue" else (row - 0.36, 0.72)
        axes.broken_barh(found, (low, height), color=KINDS[kind], label=kind, linewidth=0)


def _shares(axes: Axes, trace: Trace, rows: dict[int, int]) -> None:
    """Write beside each row which part of its time the PE waited."""
    for time in trace_summary.pes(trace):
        if time.pe in rows and time.worked + time.waited:
            text = f" waits {time.waited / (time.worked + time.waited):.0%}"
            axes.text(1.0, rows[time.pe], text, transform=axes.get_yaxis_transform(), va="center", size=9)


def _window(trace: Trace) -> tuple[float, float]:
    """Return from when to when there is something to see: from the end of ``init`` to that of ``finalize``."""
    starts = [call.end for call in trace.calls if call.name == "init"]
    first = min(starts, default=0.0)
    return first, max(trace.seconds, first + 1e-6)


def _spans(trace: Trace, pe: int) -> dict[str, list[tuple[float, float]]]:
    """Return begin and length of what a PE did, by kind."""
    found: dict[str, list[tuple[float, float]]] = {kind: [] for kind in KINDS if kind != "own code"}
    for call in trace.calls:
        if call.pe != pe or (call.track and not call.queued):
            continue
        if call.queued:
            found["on a queue"].append((call.begin, call.seconds))
            continue
        found["kernels" if "kernels" in call.categories else "ishmem"].append((call.begin, call.seconds))
        found["waiting"].append((call.begin, call.waited))
    return found


def _arrows(axes: Axes, trace: Trace, rows: dict[int, int]) -> None:
    """Draw arrows to the longest waits."""
    between = [(update, wait) for update, wait in trace.arrows if update.pe != wait.pe]
    shown = [(update, wait) for update, wait in between if update.pe in rows and wait.pe in rows]
    for update, wait in sorted(shown, key=lambda arrow: -arrow[1].waited)[:_MOST_ARROWS]:
        axes.annotate(
            "", (wait.end, rows[wait.pe]), (_middle(update), rows[update.pe]),
            arrowprops={"arrowstyle": "->", "color": "black", "linewidth": 0.8, "shrinkA": 0, "shrinkB": 0},
        )  # fmt: skip


def _middle(call: Call) -> float:
    return (call.begin + call.end) / 2


def _legend(figure: Figure, axes: Axes, arrows: bool) -> None:
    """Name the colours that appear, and the arrows."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    shown = {each.get_label() for each in axes.collections if each.get_paths()}
    handles: list[Patch | Line2D] = [Patch(color=KINDS[kind], label=kind) for kind in KINDS if kind in shown]
    if arrows:
        handles.append(Line2D([], [], color="black", marker=">", label="the call that ended a wait"))
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles), fontsize=8, frameon=False)
