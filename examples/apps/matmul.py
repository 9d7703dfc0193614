"""All-gather and matrix product in one kernel: a PE multiplies with the tiles that have arrived while others travel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import dpnp
import numpy as np

import ishmem
from ishmem import dpex
from ishmem.dpex import kernel_api as kapi
from ishmem.examples.apps.frame import App, Blocks, Run, gathered, option
from ishmem.examples.apps.products import Product

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GROUP = 32  # work-items; one group, because groups that wait for other PEs must all run at the same time


@dpex.device_func
def multiply_rows(item_id, a, b, c, first, end, inner):
    """Multiply the rows from ``first`` to ``end`` of ``a`` by ``b``."""
    columns = b.shape[1]
    for place in range(first * columns + item_id, end * columns, GROUP):
        row, column, total = place // columns, place % columns, 0.0
        for i in range(inner):
            total += a[row * inner + i] * b[i, column]
        c[row, column] = total


@dpex.kernel
def gather_and_multiply(item: kapi.NdItem, a, b, c, arrived, block, inner, tile, together):
    """Put this PE's rows of ``a`` to all PEs, and multiply all rows by this PE's columns.

    ``a`` has room for ``block`` rows of each PE. Signal ``pe * tiles + t`` says that tile ``t`` of a PE has arrived.
    """
    group, item_id = item.get_group(), item.get_local_id(0)
    me, n, tiles = ishmem.my_pe(), ishmem.n_pes(), (block + tile - 1) // tile
    for step in range(n):
        pe = (me - step + n) % n
        for t in range(tiles):
            first, end = pe * block + t * tile, pe * block + min(t * tile + tile, block)
            if step == 0 and together:
                rows = a[first * inner : end * inner]
                for distance in range(1, n):
                    ishmem.put_signal_work_group(
                        rows, rows, arrived, 1, ishmem.SIGNAL_SET, (me + distance) % n, group, index=me * tiles + t
                    )
            if step > 0 and together:
                ishmem.signal_wait_until_work_group(arrived, ishmem.CMP_EQ, 1, group, pe * tiles + t)
            multiply_rows(item_id, a, b, c, first, end, inner)


@dataclass(frozen=True)
class Matmul(Product):
    """All-gather and matrix product in one kernel: each PE has some rows of A and some columns of B.

    A PE puts its rows tile by tile to all PEs, with a signal for each tile, and multiplies with a tile as soon as it
    has arrived. No PE waits for the whole of A.
    """

    rows: int = option(200, "rows of A")
    inner: int = option(120, "columns of A and rows of B")
    columns: int = option(160, "columns of B")
    tile: int = option(16, "rows of a tile")

    name = "matmul"
    title = "All-gather and product"
    fused = True
    beside = "fcollect and dpnp.dot"

    @classmethod
    def small(cls) -> list[App]:
        return [cls(rows=17, inner=13, columns=11, tile=4)]

    @classmethod
    def scaled(cls, n: int) -> Matmul:
        return cls(rows=256 * n, inner=256, columns=256)

    def parts(self, run: Run) -> tuple[Blocks, Blocks, np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Return the blocks of rows and columns, and this PE's rows of A and columns of B, with zeros to a block."""
        rows, columns = Blocks(self.rows, run.n_pes), Blocks(self.columns, run.n_pes)
        a, b = self.matrices()
        own_a, own_b = np.zeros((rows.size, self.inner)), np.zeros((self.inner, columns.size))
        own_a[: rows.counts[run.pe]] = a[rows.part(run.pe)]
        own_b[:, : columns.counts[run.pe]] = b[:, columns.part(run.pe)]
        return rows, columns, own_a, own_b

    def collected(self, run: Run, c: dpnp.ndarray, columns: Blocks) -> np.ndarray[Any, Any]:
        """Return the product, whose columns the PEs have computed."""
        turned = ishmem.array(np.ascontiguousarray(c.asnumpy()[: self.rows].T))
        run.barrier()
        result: np.ndarray[Any, Any] = gathered(turned, columns.counts).T
        return result

    def run(self, run: Run) -> np.ndarray[Any, Any]:
        rows, columns, own_a, own_b = self.parts(run)
        a, tile = ishmem.zeros(run.n_pes * own_a.size, dtype="f8"), min(self.tile, rows.size)
        arrived = ishmem.zeros(run.n_pes * -(-rows.size // tile), dtype="u8")
        a[run.pe * own_a.size : (run.pe + 1) * own_a.size] = dpnp.asarray(own_a.reshape(-1))
        b, c = dpnp.asarray(own_b), dpnp.zeros((run.n_pes * rows.size, columns.size))
        with run.timed():
            items = kapi.NdRange((GROUP,), (GROUP,))
            sizes = rows.size, self.inner, tile, int(run.communicates)
            dpex.call_kernel(gather_and_multiply, items, a, b, c, arrived, *sizes)
        return self.collected(run, c, columns)

    def run_beside(self, run: Run) -> np.ndarray[Any, Any]:
        _rows, columns, own_a, own_b = self.parts(run)
        mine, b = ishmem.array(own_a), dpnp.asarray(own_b)
        a = ishmem.zeros((run.n_pes * len(own_a), self.inner), dtype="f8")
        with run.timed():
            with run.communication():
                ishmem.fcollect(a, mine)
            c = dpnp.dot(a, b)
            c.sycl_queue.wait()
        return self.collected(run, c, columns)

    def draw(self, figure: Figure, result: np.ndarray[Any, Any], run: Run) -> None:
        axes = self.draw_matrices(figure, result, ("A, divided by rows", "B, divided by columns", "A B"))
        for pe in range(1, run.n_pes):
            axes[0].axhline(pe * Blocks(self.rows, run.n_pes).size - 0.5, color="black")
            for axis in axes[1:]:
                axis.axvline(pe * Blocks(self.columns, run.n_pes).size - 0.5, color="black")
