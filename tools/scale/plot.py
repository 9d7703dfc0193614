"""The picture of ``python -m tools.scale``: time against the number of PEs, and the internal memory of a PE."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ishmem.benchmarks import plot
from ishmem.benchmarks.show import short_size
from tools.scale.model import BARRIER, IN_KERNEL, INIT, Links, Point, bound, internal_bytes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLORS = ("#0068b5", "#00a3f6", "#e96115", "#8f5da2", "#6a6d75")
_TOGETHER = (INIT, BARRIER, BARRIER + IN_KERNEL)
"""Routines without sizes, which are in one panel."""


def draw(points: Sequence[Point], width: int, links: Links) -> Figure:
    """Return a figure of the predictions for ``width`` PEs on each node, with the bounds as thin dashed lines.

    Raises:
        ImportError: matplotlib is not installed.
    """
    import matplotlib

    matplotlib.use("Agg")
    panels: dict[str, dict[str, list[Point]]] = defaultdict(lambda: defaultdict(list))
    for point in points:
        together = point.routine in _TOGETHER
        title = f"{INIT} and {BARRIER}" if together else point.routine
        panels[title][point.routine if together else short_size(point.size)].append(point)
    figure, axes = plot.panel_grid(len(panels) + 1)
    for axis, (title, lines) in zip(axes, panels.items()):
        for color, (name, line) in zip(_COLORS, lines.items()):
            counts = [point.pes for point in line]
            axis.plot(counts, [point.seconds for point in line], color=color, label=name, marker=".", markersize=4)
            if name != INIT:
                least = [bound(point.routine, point.pes, width, point.size, links) for point in line]
                axis.plot(counts, least, color=color, linewidth=0.6, linestyle="--")
        _finish(axis, f"{title}: seconds")
    counts = sorted({point.pes for point in points})
    memory = [internal_bytes(each, width) / (1 << 20) for each in counts]
    axes[-1].plot(counts, memory, color=_COLORS[0], label="internal part of the heap", marker=".", markersize=4)
    _finish(axes[-1], "memory of a PE: MiB")
    figure.supxlabel(f"PEs, {width} on each node", fontsize=8)
    return figure


def _finish(axis: Axes, title: str) -> None:
    from matplotlib.ticker import FuncFormatter

    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _position: f"{int(value):,}"))
    axis.set_title(title, fontsize=8)
    axis.tick_params(labelsize=7, which="both")
    axis.grid(alpha=0.3, linewidth=0.5)
    axis.legend(fontsize=7)
