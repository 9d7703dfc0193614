"""Matrix product whose rows go to all PEs, in one kernel: a tile is sent while the next one is computed.

Each PE computes some rows of C, and all PEs get the whole of C.
"""

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

GROUP = 32  # work-items
FORMS = ("fused", "specialised")
PRODUCER = 0  # the number of the work-group that multiplies


@dpex.device_func
def multiply_rows(item_id, a, b, c, first, end, inner):
    """Write rows ``first`` to ``end``, excluded, of ``a``, flat with ``inner`` columns, times ``b`` to ``c``."""
    columns = b.shape[1]
    for place in range(first * columns + item_id, end * columns, GROUP):
        row, column, total = place // columns, place % columns, 0.0
        for i in range(inner):
            total += a[row * inner + i] * b[i, column]
        c[row, column] = total


@dpex.device_func
def put_to_others(rows, group):
    """Put rows to the same place on all other PEs, as a work-group."""
    me, n = ishmem.my_pe(), ishmem.n_pes()
    for distance in range(1, n):
        ishmem.put_work_group(rows, rows, (me + distance) % n, group)


@dpex.kernel
def multiply_and_put(item: kapi.NdItem, a, b, mine, block, inner, tile, together):
    """Multiply tiles of ``tile`` of the ``block`` rows here; put each to all PEs, if ``together``, before the next."""
    group, item_id = item.get_group(), item.get_local_id(0)
    for first in range(0, block, tile):
        end = min(first + tile, block)
        multiply_rows(item_id, a, b, mine, first, end, inner)
        if together:
            put_to_others(mine[first:end], group)


@dpex.kernel
def multiply_beside_puts(item: kapi.NdItem, a, b, mine, computed, block, inner, tile, together):
    """Multiply tiles of rows in one work-group, and put them to all PEs in another one, if ``together``.

    Signal ``t`` says that tile ``t`` has been computed. Both work-groups must run at the same time.
    """
    group, item_id, me = item.get_group(), item.get_local_id(0), ishmem.my_pe()
    for t in range((block + tile - 1) // tile):
        first, end = t * tile, min(t * tile + tile, block)
        if group.get_group_id(0) == PRODUCER:
            multiply_rows(item_id, a, b, mine, first, end, inner)
            kapi.atomic_fence(kapi.MemoryOrder.ACQ_REL, kapi.MemoryScope.DEVICE)
            kapi.group_barrier(group)
            if item_id == 0:
                ishmem.signal_set(computed, 1, me, t)
        elif together:
            ishmem.signal_wait_until_work_group(computed, ishmem.CMP_EQ, 1, group, t)
            put_to_others(mine[first:end], group)


@dpex.kernel
def multiply(item: kapi.NdItem, a, b, c, rows, inner):
    """Multiply all rows of this PE."""
    multiply_rows(item.get_local_id(0), a, b, c, 0, rows, inner)


@dataclass(frozen=True)
class MatmulAllscatter(App):
    """Matrix product whose rows go to all PEs, in one kernel: each PE has some rows of A, and B.

    In the form "fused" one work-group multiplies a tile of rows and puts it to all PEs before the next one. In the form
    "specialised" one work-group multiplies, and another one puts the tiles that are ready.
    """

    rows: int = option(200, "rows of A")
    inner: int = option(120, "columns of A and rows of B")
    columns: int = option(160, "columns of B")
    tile: int = option(16, "rows of a tile")
    form: str = option("fused", "fused or specialised", FORMS)

    name = "matmul_allscatter"
    title = "Product and all-scatter"
    fused = True
    beside = "dpnp.dot and fcollect"
    forms = FORMS

    @classmethod
    def small(cls) -> list[App]:
        return [cls(rows=17, inner=13, columns=11, tile=4, form=form) for form in cls.forms]

    @classmethod
    def scaled(cls, n: int) -> MatmulAllscatter:
        return cls(rows=256 * n, inner=256, columns=256)

    def matrices(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Return A and B: whole numbers, whose products are exact in any order."""
        random = np.random.default_rng(7)
        shapes = (self.rows, self.inner), (self.inner, self.columns)
        a, b = (random.integers(-9, 10, shape).astype("f8") for shape in shapes)
        return a, b

    def parts(self, run: Run) -> tuple[Blocks, dpnp.ndarray, dpnp.ndarray]:
        """Return the blocks of rows, and this PE's rows of A, flat and with zeros to a block, and B on its device."""
        rows, (a, b) = Blocks(self.rows, run.n_pes), self.matrices()
        own = np.zeros((rows.size, self.inner))
        own[: rows.counts[run.pe]] = a[rows.part(run.pe)]
        return rows, dpnp.asarray(own.reshape(-1)), dpnp.asarray(b)

    def run(self, run: Run) -> np.ndarray[Any, Any]:
        rows, a, b = self.parts(run)
        c = ishmem.zeros((run.n_pes * rows.size, self.columns), dtype="f8")
        mine, tile = c[run.pe * rows.size : (run.pe + 1) * rows.size], min(self.tile, rows.size)
        sizes = rows.size, self.inner, tile, int(run.communicates)
        with run.timed():
            if self.form == "fused":
                dpex.call_kernel(multiply_and_put, kapi.NdRange((GROUP,), (GROUP,)), a, b, mine, *sizes)
            else:
                computed = ishmem.zeros(-(-rows.size // tile), dtype="u8")
                items = kapi.NdRange((2 * GROUP,), (GROUP,))
                dpex.call_kernel(multiply_beside_puts, items, a, b, mine, computed, *sizes)
            ishmem.barrier_all()
        return self.shaped(c)

    def run_beside(self, run: Run) -> np.ndarray[Any, Any]:
        rows, a, b = self.parts(run)
        c, mine = (run.zeros((n * rows.size, self.columns), "f8") for n in (run.n_pes, 1))
        with run.timed():
            if run.comm:  # the kernel of `run`, without its puts
                dpex.call_kernel(multiply, kapi.NdRange((GROUP,), (GROUP,)), a, b, mine, rows.size, self.inner)
            else:
                mine[...] = dpnp.dot(a.reshape(rows.size, self.inner), b)
                mine.sycl_queue.wait()
            with run.communication():
                run.fcollect(c, mine)
        return self.shaped(c)

    def shaped(self, c: Any) -> np.ndarray[Any, Any]:
        """Return product ``c`` as a numpy array without the rows that fill the blocks."""
        product: np.ndarray[Any, Any] = c.asnumpy()[: self.rows]
        return product

    def check(self, result: np.ndarray[Any, Any]) -> str:
        a, b = self.matrices()
        require(np.array_equal(result, a @ b), "the product differs from that of numpy")
        return f"the product of {self.rows} x {self.inner} and {self.inner} x {self.columns} is that of numpy"

    def draw(self, figure: Figure, result: np.ndarray[Any, Any], run: Run) -> None:
        axes = figure.subplots(1, 3)
        names = "A, divided by rows", "B, whole on all PEs", "A B, whole on all PEs"
        for matrix, axis, name in zip((*self.matrices(), result), axes, names):
            axis.imshow(matrix, cmap="RdBu", interpolation="nearest")
            axis.set(title=name, xticks=[], yticks=[])
        for pe in range(1, run.n_pes):
            axes[0].axhline(pe * Blocks(self.rows, run.n_pes).size - 0.5, color="black")
