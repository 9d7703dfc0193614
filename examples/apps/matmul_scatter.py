"""Matrix product and reduce-scatter in one kernel: a PE sends the tiles of its product on while it computes others.

Each PE has some columns of A and the same rows of B, so that its product is one summand of C. It owns some rows of C.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import dpnp
import numpy as np

import ishmem
from ishmem import dpex
from ishmem.dpex import kernel_api as kapi
from ishmem.examples.apps.frame import App, Blocks, Run, gathered, option
from ishmem.examples.apps.matmul import GROUP
from ishmem.examples.apps.products import Product

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dpex.device_func
def element(a, b, row, column, inner, columns):
    """Return an element of the product of this PE's columns of A and rows of B."""
    total = 0.0
    for i in range(inner):
        total += a[row * inner + i] * b[i * columns + column]
    return total


@dpex.kernel
def multiply_and_pass(item: kapi.NdItem, a, b, c, sums, arrived, block, inner, columns, tile, together):
    """Add this PE's products to the sums that come from the left, and pass them to the right.

    The sums of the rows of a PE begin at its right neighbour and end at the PE itself. ``sums`` has room for the rows
    that come in each step. Signal ``step * tiles + t`` says that tile ``t`` has arrived.
    """
    group, item_id = item.get_group(), item.get_local_id(0)
    me, n, tiles = ishmem.my_pe(), ishmem.n_pes(), (block + tile - 1) // tile
    for step in range(n):
        owner, last = (me - 1 - step + n) % n, step == n - 1
        for t in range(tiles):
            first, end = t * tile * columns, min(t * tile + tile, block) * columns
            if step > 0 and together:
                ishmem.signal_wait_until_work_group(arrived, ishmem.CMP_EQ, 1, group, step * tiles + t)
            for place in range(first + item_id, end, GROUP):
                value = element(a, b, owner * block + place // columns, place % columns, inner, columns)
                total = sums[step * block * columns + place] + value
                if last:
                    c[place] = total
                else:
                    sums[step * block * columns + place] = total
            if not last and together:
                rows = sums[step * block * columns + first : step * block * columns + end]
                there = sums[(step + 1) * block * columns + first : (step + 1) * block * columns + end]
                ishmem.put_signal_work_group(
                    there, rows, arrived, 1, ishmem.SIGNAL_SET, (me + 1) % n, group, index=(step + 1) * tiles + t
                )


@dpex.kernel
def multiply_and_add(item: kapi.Item, a, b, c, block, inner, columns, together):
    """Add each element of this PE's product to the element of C on the PE that owns it: one work-item for each."""
    place, me, n = item.get_id(0), ishmem.my_pe(), ishmem.n_pes()
    row, column = place // columns, place % columns
    row = (row + (me + 1) * block) % (n * block)  # each PE begins with another owner
    value = element(a, b, row, column, inner, columns)
    ishmem.atomic_add(c, value, row // block if together else me, row % block * columns + column)


@dataclass(frozen=True)
class MatmulScatter(Product):
    """Matrix product and reduce-scatter in one kernel: each PE has some columns of A and the same rows of B.

    The products of the PEs are added up, and each PE gets some rows of the sum: by passing tiles around a ring, each
    with a signal, or by atomic additions to the PE that owns an element.
    """

    rows: int = option(120, "rows of A")
    inner: int = option(200, "columns of A and rows of B")
    columns: int = option(96, "columns of B")
    tile: int = option(16, "rows of a tile")
    form: str = option("ring", "ring or atomics")

    name = "matmul_scatter"
    title = "Product and reduce-scatter"
    fused = True
    beside = "dpnp.dot and sum_reduce"
    forms = ("ring", "atomics")

    @classmethod
    def small(cls) -> list[App]:
        return [cls(rows=17, inner=13, columns=11, tile=4, form=form) for form in cls.forms]

    @classmethod
    def scaled(cls, n: int) -> MatmulScatter:
        return cls(rows=256, inner=256 * n, columns=256)

    def parts(self, run: Run) -> tuple[Blocks, np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Return the blocks of rows of C, and this PE's columns of A, with zeros to whole blocks, and rows of B."""
        rows, inner = Blocks(self.rows, run.n_pes), Blocks(self.inner, run.n_pes)
        a, b = self.matrices()
        own_a = np.zeros((run.n_pes * rows.size, inner.size))
        own_a[: self.rows, : inner.counts[run.pe]] = a[:, inner.part(run.pe)]
        own_b = np.zeros((inner.size, self.columns))
        own_b[: inner.counts[run.pe]] = b[inner.part(run.pe)]
        return rows, own_a, own_b

    def run(self, run: Run) -> np.ndarray[Any, Any]:
        rows, own_a, own_b = self.parts(run)
        a, b = (dpnp.asarray(each.reshape(-1)) for each in (own_a, own_b))
        c = ishmem.zeros((rows.size, self.columns), dtype="f8")
        program = self.run_ring if self.form == "ring" else self.run_atomics
        program(run, a, b, c.reshape(-1), rows.size, own_a.shape[1])
        run.barrier()
        return gathered(c, rows.counts)

    def run_ring(self, run: Run, a: Any, b: Any, c: Any, block: int, inner: int) -> None:
        """Compute this PE's rows of C by a ring."""
        tile = min(self.tile, block)
        sums = ishmem.zeros(run.n_pes * block * self.columns, dtype="f8")
        arrived = ishmem.zeros(run.n_pes * -(-block // tile), dtype="u8")
        with run.timed():
            items = kapi.NdRange((GROUP,), (GROUP,))
            sizes = block, inner, self.columns, tile, int(run.communicates)
            dpex.call_kernel(multiply_and_pass, items, a, b, c, sums, arrived, *sizes)

    def run_atomics(self, run: Run, a: Any, b: Any, c: Any, block: int, inner: int) -> None:
        """Compute this PE's rows of C by atomic additions of all PEs."""
        with run.timed():
            items = kapi.Range(run.n_pes * block * self.columns)
            dpex.call_kernel(multiply_and_add, items, a, b, c, block, inner, self.columns, int(run.communicates))
            ishmem.barrier_all()

    def run_beside(self, run: Run) -> np.ndarray[Any, Any]:
        rows, own_a, own_b = self.parts(run)
        a, b = dpnp.asarray(own_a), dpnp.asarray(own_b)
        product = ishmem.empty((len(own_a), self.columns), dtype="f8")
        with run.timed():
            product[...] = dpnp.dot(a, b)
            product.sycl_queue.wait()
            with run.communication():
                ishmem.sum_reduce(product, product)
        mine = ishmem.array(product[rows.size * run.pe : rows.size * (run.pe + 1)])
        run.barrier()
        return gathered(mine, rows.counts)

    def draw(self, figure: Figure, result: np.ndarray[Any, Any], run: Run) -> None:
        names = "A, divided by columns", "B, divided by rows", "A B, divided by rows"
        axes = self.draw_matrices(figure, result, names)
        for pe in range(1, run.n_pes):
            edge = pe * Blocks(self.inner, run.n_pes).size - 0.5
            axes[0].axvline(edge, color="black")
            axes[1].axhline(edge, color="black")
            axes[2].axhline(pe * Blocks(self.rows, run.n_pes).size - 0.5, color="black")
