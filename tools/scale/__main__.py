"""``python -m tools.scale``: predicts the times of collectives and of ``init`` in large jobs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from ishmem.benchmarks import plot
from ishmem.benchmarks.show import short_size, short_time
from ishmem.common.sizes import parse_size
from tools import figures
from tools.scale import kernels, model, mpi, plot as pictures
from tools.scale.model import Links, Point

MARKER, CHECK_MARKER, MEMORY_MARKER = "scale", "scale check", "scale memory"
_MORE = 64  # nodes over which the memory of one more node is averaged, since sizes are rounded
_FILE = click.Path(dir_okay=False, path_type=Path)
_OLD = click.Path(exists=True, dir_okay=False, path_type=Path)


def _numbers(_ctx: Any, _param: Any, value: str) -> tuple[int, ...]:
    try:
        return tuple(parse_size(word) for word in value.split(",") if word)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def _costs(_ctx: Any, _param: Any, value: tuple[str, ...]) -> dict[str, float]:
    try:
        return {name: float(cost) for name, _equals, cost in (text.partition("=") for text in value)}
    except ValueError:
        raise click.BadParameter(f"{value!r}: allowed is a cost with a number, such as far_latency=3e-6") from None


@click.command()
@click.option("--pes", callback=_numbers, default="", help="Numbers of PEs; by default from 16 to 10,000.")
@click.option("--width", type=click.IntRange(1, 255), default=12, show_default=True, help="PEs on each node.")
@click.option("--size", callback=_numbers, default="8,64K,1M", show_default=True, help="Sizes of a block.")
@click.option("--link", "costs", callback=_costs, multiple=True, help="A cost, such as far_bandwidth=50e9.")
@click.option("--network", default="fat tree", show_default=True, help="What goes between two halves of the nodes.")
@click.option("--measured", type=_OLD, multiple=True, help="Compare with what tools.scale.run measured, at its costs.")
@click.option("-o", "--output", type=_FILE, help="Draw a picture.")
@click.option("--page", type=_OLD, help="Write the table between the markers of this page.")
def scale(
    pes: Any, width: int, size: Any, costs: Any, network: str, measured: tuple[Path, ...],
    output: Path | None, page: Path | None,
) -> None:  # fmt: skip
    """Predict time and bytes of collectives and of init for jobs that are larger than this machine."""
    if measured:
        parts = {CHECK_MARKER: check([json.loads(run.read_text()) for run in measured])}
    else:
        try:
            links = model.with_costs(model.on_network(network), costs)
        except ValueError as error:
            raise click.UsageError(str(error)) from None
        jobs = pes or model.sizes_of_jobs(width)
        points = [*model.predictions(jobs, width, size, links), *kernels.predictions(jobs, width, size, links)]
        predicted = f"{about(links, width)}\n\n{table(points, width, links)}"
        parts = {MARKER: predicted, MEMORY_MARKER: memory_table(jobs, width)}
        if output:
            plot.save(pictures.draw(points, width, links), output)
    click.echo("\n\n".join(parts.values()))
    if page:
        for marker, text in parts.items():
            figures.put(page, text, marker)


def about(links: Links, width: int) -> str:
    """Return a sentence with the conditions of the predictions: PEs per node and costs."""
    return (
        f"{width} PEs on each node. Within a node {links.near_bandwidth / 1e9:.3g} GB/s each way for each PE, "
        f"{short_time(links.near_latency)} latency, {short_time(links.store)} for a store or copy; between nodes "
        f"{links.far_bandwidth / 1e9:.3g} GB/s each way for each node, {links.bisection:.0%} of that between two "
        f"halves of the nodes, {short_time(links.far_latency)} latency, "
        f"{short_time(links.message)} at each end of a message; {short_time(links.call)} for the call, "
        f"{short_time(links.open)} to open the memory of a PE; {short_time(links.proxy)} between kernel and proxy."
    )


def table(points: list[Point], width: int, links: Links) -> str:
    """Return the markdown table of predictions, a line for each call and a column for each number of PEs.

    The last columns are for the largest job: the bound, the ratio of the time to it, and the time of MPI's algorithms.
    """
    jobs = sorted({point.pes for point in points})
    shown = [each for each in jobs if each in (jobs[0], jobs[len(jobs) // 3], jobs[2 * len(jobs) // 3], jobs[-1])]
    found = {(point.routine, point.size, point.pes): point for point in points}
    columns = [*(f"{each:,} PEs" for each in shown), "bound", "ratio", "MPI's algorithms"]
    lines = []
    for routine, size in dict.fromkeys((point.routine, point.size) for point in points):
        cells = [f"`{routine}`", short_size(size) if size else ""]
        for each in shown:
            point = found.get((routine, size, each))
            cells.append(f"{short_time(point.seconds)}, {short_bytes(point.far_bytes)}" if point else "")
        if routine == model.INIT or not point:
            cells += ["", "", ""]
        else:
            least = model.bound(routine, point.pes, width, size, links)
            name = routine.removesuffix(model.IN_KERNEL)
            others = mpi.seconds(model.nodes_of(point.pes, width), name, size, links)
            cells += [short_time(least), f"{point.seconds / least:.2f}", short_time(others)]
        lines.append(cells)
    memory = [short_bytes(model.internal_bytes(each, width)) for each in shown]
    return figures.markdown(["", "block", *columns], [*lines, ["internal part of the heap", "", *memory, "", "", ""]])


def memory_table(jobs: Sequence[int], width: int) -> str:
    """Return the markdown table of the memory that grows with the job; its last column is the growth by one node."""
    shown = sorted({min(jobs), max(jobs)})
    lines = []
    columns = [model.memory_of(pes, width) for pes in (*shown, shown[-1] + _MORE * width)]
    for part, more in columns[-1].items():
        cells = [short_bytes(column[part]) for column in columns[:-1]]
        added = more - columns[-2][part]  # negative where fewer teams may be large
        lines.append([part, *cells, short_bytes(max(added, 0) / _MORE)])
    return figures.markdown(["part", *(f"{pes:,} PEs" for pes in shown), "one more node"], lines)


def short_bytes(count: float) -> str:
    """Return a number of bytes with three digits and a unit, such as ``1.5 MiB``."""
    for unit, factor in (("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20)):
        if count < 999.5 * factor:
            return f"{count / factor:.3g} {unit}"
    return f"{count / (1 << 30):.3g} GiB"


COSTS = {
    "near_bandwidth": "GB/s each way of a PE within a node", "near_latency": "latency within a node",
    "store": "a store or copy to another PE of the node", "far_bandwidth": "GB/s each way of a node",
    "far_latency": "latency between nodes", "message": "each end of a message", "call": "the call",
}  # fmt: skip
"""The costs that a run measures, with their descriptions."""


def check(runs: list[dict[str, Any]]) -> str:
    """Return markdown tables of the costs of runs, and of the predicted and measured times."""
    heads = [" + ".join(map(str, Counter(run["nodes"]).values())) for run in runs]
    lines = []
    for cost, words in COSTS.items():
        values = [run["costs"].get(cost) for run in runs]
        shown = ["" if not each else f"{each / 1e9:.3g}" if "GB/s" in words else short_time(each) for each in values]
        lines.append([words, *shown])
    times = figures.markdown(["", "block", *heads], _check_lines(runs))
    return figures.markdown(["cost", *heads], lines) + "\n\n" + times


def _check_lines(runs: list[dict[str, Any]]) -> Iterator[list[str]]:
    """Yield the cells of a line for each call: for each run the predicted time, the measured time, and their ratio."""
    links = [model.with_costs(model.Links(), run["costs"]) for run in runs]
    measured = [{(row["routine"], row["size"]): row["seconds"] for row in run["rows"]} for run in runs]
    for routine, size in measured[0]:
        cells = [f"`{routine}`", short_size(size) if size else ""]
        for run, costs, times in zip(runs, links, measured):
            predicted, real = model.predict(run["nodes"], routine, size, costs).seconds, times[routine, size]
            cells.append(f"{short_time(predicted)}, {short_time(real)}: {predicted / real:.2f}")
        yield cells


if __name__ == "__main__":
    scale()
