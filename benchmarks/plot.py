"""Draws results: latency and bandwidth against size, all pairs of PEs, and the comparison with peers."""

from __future__ import annotations

import io
import math
import re
import textwrap
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable

import numpy as np

from ishmem.benchmarks.runner import MACHINE, Row
from ishmem.benchmarks.show import short_size, short_time

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PICTURES = ("latency", "bandwidth", "pairs", "peers")
BOTH = "ishmem, all PEs at once"
COLORS = {
    "ishmem": "#0068b5", BOTH: "#00a3f6", "mpi4py": "#e96115", MACHINE: "#6a6d75",
}  # fmt: skip
"""The colours of the lines, in the order of the legend."""
STYLES = {MACHINE: "--", BOTH: ":"}
_COLUMNS = 3
_MOST_BARS = 48

Panel = dict[str, list[Row]]


class NothingToPlot(Exception):
    """The results contain no data for a picture."""


def draw(rows: Sequence[Row], picture: str, title: str = "") -> Figure:
    """Return a figure of results with a title; ``picture`` is one of `PICTURES`. Failed rows are left out.

    Raises:
        NothingToPlot: The results contain no data for the picture.
        ImportError: matplotlib is not installed.
    """
    figure = _DRAWERS[picture]([row for row in rows if row.status == "ok" and row.seconds])
    if title:
        entitle(figure, title)
    return figure


def entitle(figure: Figure, title: str) -> None:
    """Add a title above all panels, wrapped to the width of the figure."""
    figure.suptitle(textwrap.fill(title, int(12 * figure.get_figwidth())), fontsize=8)


def save(figure: Figure, path: Path) -> None:
    """Write a figure to a PNG file with a palette of 48 colours, which makes the file small."""
    from PIL import Image

    whole = io.BytesIO()
    figure.savefig(whole, format="png", dpi=100)
    Image.open(whole).convert("RGB").quantize(48).save(path, optimize=True)


def panel_grid(panels: int, height: float = 2.3, most: int = _COLUMNS) -> tuple[Figure, list[Axes]]:
    """Return a figure with ``panels`` panels, at most ``most`` in a row, and their axes.

    ``height`` is the height of a panel in inches.
    """
    from matplotlib.figure import Figure

    columns = min(panels, most)
    lines = -(-panels // columns)
    figure = Figure(figsize=(3.3 * max(columns, 2), height * lines + 0.7), layout="constrained")
    axes = figure.subplots(lines, columns, squeeze=False).flatten().tolist()
    for unused in axes[panels:]:
        unused.set_visible(False)
    return figure, axes[:panels]


def _panels(rows: Sequence[Row], both: bool) -> dict[tuple[Any, ...], Panel]:
    """Return rows that have sizes by panel (operation, side, number of PEs, other axes) and line (contender).

    With ``both``, there is also a line for ishmem with all PEs active.
    """
    panels: dict[tuple[Any, ...], Panel] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        rest = tuple(value for name, value in row.axes.items() if name not in ("size", "direction"))
        line = row.contender
        if row.axes.get("direction") == "both":
            line = BOTH if both and row.contender == "ishmem" else ""
        if line and "size" in row.axes and row.op != "pairs":
            panels[row.op, row.side, row.pes, rest][line].append(row)
    return {key: panel for key, panel in panels.items() if any(len(line) > 2 for line in panel.values())}


def _against_size(rows: Sequence[Row], value: Callable[[Row], float], bandwidth: bool) -> Figure:
    panels = _panels([row for row in rows if row.nbytes or not bandwidth], bandwidth)
    if not panels:
        raise NothingToPlot("no operation was measured at three sizes or more")
    figure, axes = panel_grid(len(panels))
    for axis, ((op, side, pes, rest), panel) in zip(axes, panels.items()):
        for name, line in panel.items():
            line.sort(key=lambda row: row.axes["size"])
            sizes, color = [row.axes["size"] for row in line], COLORS.get(name)
            style = STYLES.get(name, "-")
            axis.plot(sizes, [value(row) for row in line], style, color=color, label=name, marker=".", markersize=4)
            if not bandwidth:
                low, high = ([row.seconds[name] for row in line] for name in ("q1", "q3"))
                axis.fill_between(sizes, low, high, color=color, alpha=0.15, linewidth=0)
        log_scales(axis)
        bottom, top = map(math.log10, axis.get_ylim())
        axis.set_ylim(10 ** math.floor(bottom + 0.1), 10 ** math.ceil(top - 0.1))  # whole decades
        limits = [line[0].limit for name, line in panel.items() if name == MACHINE]
        where = " ".join([op, f"({side}, {pes} PEs)", *map(str, rest)])
        axis.set_title(where + "".join(f"\nmachine: {re.split('[,;]', limit)[0]}" for limit in limits), fontsize=7)
    legend(figure, axes, COLORS)
    return figure


def log_scales(axis: Axes, base: int = 2, label: Callable[[int], str] = short_size) -> None:
    """Make both axes logarithmic, with a grid; ``label`` is a function that returns the label of a value of x."""
    axis.set_xscale("log", base=base)
    axis.set_yscale("log")
    axis.xaxis.set_major_formatter(lambda value, _position: label(int(value)))
    axis.tick_params(labelsize=7, which="both")
    axis.grid(alpha=0.3, linewidth=0.5)


def legend(figure: Figure, axes: list[Axes], order: Iterable[str] = ()) -> None:
    """Add one legend of the lines of all panels; ``order`` are labels that come first."""
    lines = {label: line for axis in axes for line, label in zip(*axis.get_legend_handles_labels())}
    lines = {label: lines[label] for label in dict.fromkeys([*order, *lines]) if label in lines}
    figure.legend(lines.values(), lines.keys(), loc="outside lower center", ncols=len(lines), fontsize=8)


def _latency(rows: Sequence[Row]) -> Figure:
    """Return a figure of the time of one operation, with the quartiles of the batches as a band."""
    figure = _against_size(rows, lambda row: row.seconds["median"], False)
    for axis in figure.axes:
        axis.yaxis.set_major_formatter(lambda value, _position: short_time(value))
    figure.supylabel("time of one operation", fontsize=8)
    return figure


def _bandwidth(rows: Sequence[Row]) -> Figure:
    """Return a figure of the bandwidth of all active PEs together."""
    figure = _against_size(rows, lambda row: row.bandwidth / 1e9, True)
    figure.supylabel("GB/s", fontsize=8)
    return figure


def _pairs(rows: Sequence[Row]) -> Figure:
    """Return a figure with a heat map for each size: latency of small puts, bandwidth of large ones."""
    found = [row for row in rows if row.op == "pairs" and row.contender == "ishmem"]
    if not found:
        raise NothingToPlot("the operation pairs was not measured")
    maps = sorted({(row.pes, row.axes["size"]) for row in found})
    figure, axes = panel_grid(len(maps), 3.0)
    for axis, (pes, size) in zip(axes, maps):
        small, grid = size < 4096, np.full((pes, pes), np.nan)
        for row in found:
            if (row.pes, row.axes["size"]) == (pes, size):
                value = row.seconds["median"] * 1e9 if small else row.bandwidth / 1e9
                grid[row.axes["origin"], row.axes["target"]] = value
        axis.imshow(grid, cmap="Blues", vmin=0)
        for (origin, target), value in np.ndenumerate(grid):
            color = "white" if value > np.nanmax(grid) / 2 else "black"
            axis.text(target, origin, f"{value:.3g}", ha="center", va="center", fontsize=8, color=color)
        axis.set(xticks=range(pes), yticks=range(pes))
        axis.set_xlabel("to PE", fontsize=8)
        axis.set_ylabel("from PE", fontsize=8)
        axis.set_title(f"put of {short_size(size)} B, {'ns' if small else 'GB/s'}", fontsize=9)
    return figure


def _peers(rows: Sequence[Row]) -> Figure:
    """Return a figure of ishmem's time as a multiple of each peer's and the machine's, at smallest and largest size."""
    found = {name: _ratios(rows, name)[:_MOST_BARS] for name in COLORS if name not in ("ishmem", BOTH)}
    panels = {contender: bars for contender, bars in found.items() if bars}
    if not panels:
        raise NothingToPlot("neither peers nor the machine's limit were measured")
    figure, axes = panel_grid(len(panels), 0.6 + 0.2 * max(map(len, panels.values())))
    for axis, (contender, bars) in zip(axes, panels.items()):
        names, ratios = zip(*bars)
        drawn = axis.barh(names, np.minimum(ratios, 4.0), color=COLORS[contender], height=0.7)
        axis.bar_label(drawn, [f"{ratio:.2f}" for ratio in ratios], padding=2, fontsize=6)
        axis.axvline(1.0, color="black", linewidth=0.8)
        axis.set_xlim(0, 4.6)
        axis.invert_yaxis()
        axis.tick_params(labelsize=6)
        axis.set_title(f"time, multiple of {'the machine' if contender == MACHINE else contender}", fontsize=9)
    return figure


def _ratios(rows: Sequence[Row], contender: str) -> list[tuple[str, float]]:
    others = {key_of(row): row for row in rows if row.contender == contender}
    pairs = [(row, others[key_of(row)]) for row in rows if row.contender == "ishmem" and key_of(row) in others]
    ends: dict[tuple[Any, ...], list[Any]] = defaultdict(list)
    for own, other in pairs:
        rest = tuple(value for name, value in own.axes.items() if name != "size")
        if own.op != "pairs" and "both" not in rest:
            ends[own.op, own.side, own.pes, own.axes.get("argument", "")].append((own.axes.get("size"), own, other))
    bars = []
    for (op, side, pes, argument), found in ends.items():
        found.sort(key=lambda each: each[0] or 0)
        for size, own, other in [found[0], *found[1:][-1:]]:
            words = [op, argument, side if side != "host" else "", short_size(size) if size else ""]
            words += [f"{pes} PEs"] if pes != 2 else []
            bars.append((" ".join(filter(None, words)), own.seconds["median"] / other.seconds["median"]))
    return bars


def key_of(row: Row) -> tuple[Any, ...]:
    """Return the key of a row's point, which is the same for all contenders."""
    return row.op, row.side, row.pes, tuple(sorted(row.axes.items()))


_DRAWERS: dict[str, Callable[[Sequence[Row]], Figure]] = {
    "latency": _latency, "bandwidth": _bandwidth, "pairs": _pairs, "peers": _peers,
}  # fmt: skip
