"""Heat in a plate (Jacobi iteration): halos travel inside the kernel that computes, and so does the residual."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import dpnp
import numpy as np

import ishmem
from ishmem import dpex
from ishmem.dpex import kernel_api as kapi
from ishmem.examples.apps.frame import App, Blocks, Run, option, require

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GROUP = 32  # work-items, which share a row
ABOVE, BELOW = 0, 1  # indices into `arrived`: the iteration of the halo row that has come from there


@dpex.device_func
def relax_row(now, new, row, item_id):
    """Set the cells of a row of ``new`` to the means of their neighbours in ``now``, by `GROUP` work-items."""
    for column in range(1 + item_id, now.shape[1] - 1, GROUP):
        total = now[row - 1, column] + now[row + 1, column] + now[row, column - 1] + now[row, column + 1]
        new[row, column] = 0.25 * total


@dpex.kernel
def relax(item: kapi.NdItem, now, new, rows, above, below, arrived, iteration):
    """Do one iteration, a group per row. The groups of the edge rows wait for halos, and put their rows.

    ``above`` and ``below`` are the neighbours, or -1. These groups come first, so that rows travel while the others are
    computed, and no halo is late in the next iteration.
    """
    group, number, item_id = item.get_group(), item.get_group().get_group_id(0), item.get_local_id(0)
    if number > 1:  # an inner row
        relax_row(now, new, number, item_id)
        return
    row = 1 if number == 0 else rows
    if row == 1 and above >= 0:
        ishmem.signal_wait_until_work_group(arrived, ishmem.CMP_GE, iteration, group, ABOVE)
    if row == rows and below >= 0:
        ishmem.signal_wait_until_work_group(arrived, ishmem.CMP_GE, iteration, group, BELOW)
    relax_row(now, new, row, item_id)
    following = iteration + 1
    # The halo rows of a neighbour's `new`: it may still read those of its `now`.
    if row == 1 and above >= 0:
        ishmem.put_signal_work_group(
            new[-1], new[row], arrived, following, ishmem.SIGNAL_SET, above, group, index=BELOW
        )
    if row == rows and below >= 0:
        ishmem.put_signal_work_group(
            new[0], new[row], arrived, following, ishmem.SIGNAL_SET, below, group, index=ABOVE
        )


@dpex.device_func
def sum_of_squares(group, item_id, now, new, rows, sums):
    """Leave the sum of the squares of the changes from ``now`` to ``new`` on this PE in ``sums[0]``."""
    total = 0.0
    for row in range(1 + item_id, rows + 1, GROUP):
        for column in range(1, now.shape[1] - 1):
            change = new[row, column] - now[row, column]
            total += change * change
    sums[item_id] = total
    kapi.group_barrier(group)
    if item_id == 0:
        for other in range(1, GROUP):
            sums[0] += sums[other]


@dpex.kernel
def measure(item: kapi.NdItem, now, new, rows, sums, together):
    """Leave the sum of the squared changes in ``sums[0]``: of all PEs if ``together``, else of this one."""
    group = item.get_group()
    sum_of_squares(group, item.get_local_id(0), now, new, rows, sums)
    if together:
        ishmem.sum_reduce_work_group(sums[:1], sums[:1], group)


def neighbours(blocks: Blocks, pe: int) -> tuple[int, int]:
    """Return the PEs with the rows above and below those of a PE; -1: none."""
    rows = blocks.counts
    return (pe - 1 if pe and rows[pe] else -1, pe + 1 if pe + 1 < len(rows) and rows[pe + 1] else -1)


@dataclass(frozen=True)
class Jacobi(App):
    """Heat in a plate (Jacobi iteration): the PEs own blocks of rows.

    In the kernel that computes, the groups of a block's edge rows wait for the neighbours' rows and put their own with
    a signal. From time to time (``--every``) a kernel computes the residual with ``sum_reduce``. The result is that of
    a serial program, bit for bit.
    """

    rows: int = option(60, "rows of cells")
    columns: int = option(80, "columns of cells")
    tolerance: float = option(2e-3, "the iteration ends when the root of the sum of the squared changes is smaller")
    iterations: int = option(20_000, "most iterations")
    every: int = option(50, "iterations between two residuals")

    name = "jacobi"
    title = "Heat (Jacobi)"
    differs = True
    fused = True

    @classmethod
    def small(cls) -> list[App]:
        return [cls(rows=23, columns=70, tolerance=0.3, iterations=400, every=7)]

    @classmethod
    def scaled(cls, n: int) -> Jacobi:
        return cls(rows=256 * n, columns=512, tolerance=0.0, iterations=100, every=50)

    def plate(self) -> np.ndarray[Any, Any]:
        """Return the plate at the start, with its fixed border."""
        plate = np.zeros((self.rows + 2, self.columns + 2))
        plate[0] = np.sin(np.linspace(0, np.pi, self.columns + 2))
        plate[1:-1, -1] = np.linspace(0, 1, self.rows) ** 2
        plate[-1, self.columns // 3 : self.columns // 2] = 1
        return plate

    def iterate(self, run: Run, relax_once: Any, residual: Any) -> tuple[int, float]:
        """Call ``relax_once(number)`` until ``residual(number)`` is small; return the iterations and the residual."""
        squared = 0.0
        for number in run.steps(range(1, self.iterations + 1), "heating"):
            relax_once(number - 1)
            if number % self.every == 0 or number == self.iterations:
                squared = residual(number - 1)
                if squared < self.tolerance**2:
                    break
        return number, float(np.sqrt(squared))

    def run(self, run: Run) -> dict[str, Any]:
        blocks, start = Blocks(self.rows, run.n_pes), self.plate()
        rows, part = blocks.counts[run.pe], blocks.part(run.pe)
        above, below = neighbours(blocks, run.pe) if run.communicates else (-1, -1)
        plates = ishmem.zeros((2, blocks.size + 2, self.columns + 2), dtype="f8")
        plates[:, : rows + 2] = dpnp.asarray(start[part.start : part.start + rows + 2] if rows else start[:2])
        arrived, sums = ishmem.zeros(2, dtype="u8"), ishmem.zeros(GROUP, dtype="f8")

        def relax_once(number: int) -> None:
            if rows:
                items = kapi.NdRange((rows * GROUP,), (GROUP,))
                now, new = plates[number % 2], plates[1 - number % 2]
                dpex.call_kernel(relax, items, now, new, rows, above, below, arrived, number)

        def residual(number: int) -> float:
            now, new, one_group = plates[number % 2], plates[1 - number % 2], kapi.NdRange((GROUP,), (GROUP,))
            dpex.call_kernel(measure, one_group, now, new, rows, sums, int(run.communicates))
            return float(sums[0])

        with run.timed():
            iterations, left = self.iterate(run, relax_once, residual)
        inside = run.gathered(plates[iterations % 2][1:], blocks.counts)
        return {"plate": np.concatenate([start[:1], inside, start[-1:]]), "iterations": iterations, "residual": left}

    def check(self, result: dict[str, Any]) -> str:
        now = self.plate()
        for _ in range(result["iterations"]):
            before = now
            now = now.copy()
            now[1:-1, 1:-1] = 0.25 * (before[:-2, 1:-1] + before[2:, 1:-1] + before[1:-1, :-2] + before[1:-1, 2:])
        require(np.array_equal(result["plate"], now), "the plate differs from that of serial numpy")
        residual = float(np.sqrt(((now - before) ** 2).sum()))
        close = np.isclose(result["residual"], residual, rtol=1e-9)
        require(close, f"the residual is {result['residual']}, with numpy {residual}")
        ended = residual < self.tolerance or result["iterations"] == self.iterations
        require(ended, f"ended with the residual {residual}")
        return f"{result['iterations']} iterations, residual {residual:.2g}; bit for bit that of serial numpy"

    def draw(self, figure: Figure, result: dict[str, Any], run: Run) -> None:
        left, right = figure.subplots(1, 2)
        for axes, plate, title in (
            (left, self.plate(), f"{self.rows} x {self.columns} cells at the start"),
            (right, result["plate"], f"After {result['iterations']} iterations on {run.n_pes} PEs"),
        ):
            picture = axes.imshow(plate, cmap="inferno", vmin=0, vmax=1)
            axes.set(title=title, xticks=[], yticks=[])
        right.contour(result["plate"], levels=12, colors="white", linewidths=0.5, alpha=0.6)
        for pe in range(1, run.n_pes):
            right.axhline(pe * Blocks(self.rows, run.n_pes).size + 0.5, color="#00a3f6", linewidth=1, linestyle="--")
        figure.colorbar(picture, ax=[left, right], shrink=0.8, label="temperature")
