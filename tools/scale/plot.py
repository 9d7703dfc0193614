"""The picture of ``python -m tools.scale``: time against the number of PEs, and the internal memory of a PE."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ishmem.benchmarks import plot
from ishmem.benchmarks.show import short_size
from tools.scale.model import BARRIER, IN_KERNEL, INIT, Links, Point, bound, internal_bytes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLORS = ("#0068b5", "#00a3f6", "#e96115", "#8f5da2", "#6a6d75")
_TOGETHER = (INIT, BARRIER, BARRIER + IN_KERNEL)
"""Routines without sizes, which are in one panel."""


def draw(points: Sequence[Point], width: int, links: Links) -> Figure:
    """Return a figure of the predictions, with the bounds as thin dashed lines."""
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
        axis.set_title(f"{title}: seconds", fontsize=8)
    counts = sorted({point.pes for point in points})
    memory = [internal_bytes(each, width) / (1 << 20) for each in counts]
    axes[-1].plot(counts, memory, color=_COLORS[0], label="internal part of the heap", marker=".", markersize=4)
    axes[-1].set_title("memory of a PE: MiB", fontsize=8)
    for axis in axes:
        plot.log_scales(axis, 10, "{:,}".format)
        axis.legend(fontsize=7)
    figure.supxlabel(f"PEs, {width} on each node", fontsize=8)
    return figure
