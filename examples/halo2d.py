"""Spreads heat over a plane that the PEs share in blocks: ishmem run -n 4 examples/halo2d.py.

Each PE owns a block and a border of one cell around it, the *halo*, into which its neighbours' kernels put their
edges: rows with a contiguous put, columns with ``ibput``. Two teams of ``split_2d`` give the neighbours' numbers.
"""

from __future__ import annotations

import ishmem  # first: it lets the SYCL stack find the GPUs, or simulated ones

# isort: split
import numpy as np

from ishmem import dpex
from ishmem.dpex import kernel_api as kapi

ROWS, COLUMNS = 24, 20  # of a block
WIDTH = COLUMNS + 2
STEPS = 30


@dpex.kernel
def exchange(item: kapi.Item, cells, row_team, column_team):
    """Put the edges of this PE's block into the halos of its neighbours; the teams are given by their handles."""
    x, y = ishmem.team_my_pe(row_team), ishmem.team_my_pe(column_team)
    west, east = ishmem.team_translate_pe(row_team, x - 1, 0), ishmem.team_translate_pe(row_team, x + 1, 0)
    north, south = ishmem.team_translate_pe(column_team, y - 1, 0), ishmem.team_translate_pe(column_team, y + 1, 0)
    if west >= 0:  # the column at its eastern end, one cell of each row
        ishmem.ibput(cells[2 * WIDTH - 1 :], cells[WIDTH + 1 :], WIDTH, WIDTH, 1, ROWS, west)
    if east >= 0:
        ishmem.ibput(cells[WIDTH:], cells[2 * WIDTH - 2 :], WIDTH, WIDTH, 1, ROWS, east)
    if north >= 0:
        ishmem.put(cells[(ROWS + 1) * WIDTH + 1 :], cells[WIDTH + 1 :], north, nelems=COLUMNS)
    if south >= 0:
        ishmem.put(cells[1:], cells[ROWS * WIDTH + 1 :], south, nelems=COLUMNS)


@dpex.kernel
def spread(item: kapi.Item, cells, new):
    """Set a cell to the mean of its four neighbours."""
    here = (item.get_id(0) + 1) * WIDTH + item.get_id(1) + 1
    new[here] = (cells[here - WIDTH] + cells[here - 1] + cells[here + 1] + cells[here + WIDTH]) * np.float32(0.25)


def serial(plane: np.ndarray) -> np.ndarray:
    """Return the plane after `STEPS` steps, computed by numpy alone."""
    for _ in range(STEPS):
        p = np.pad(plane, 1)
        plane = (p[:-2, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] + p[2:, 1:-1]) * np.float32(0.25)
    return plane


def main() -> None:
    """Spread the heat, and compare each block with the serial result."""
    with ishmem.init():
        n = ishmem.n_pes()
        wide = max(width for width in range(1, n + 1) if n % width == 0 and width * width <= n)
        row_team, column_team = ishmem.TEAM_WORLD.split_2d(wide)
        y, x = column_team.my_pe(), row_team.my_pe()
        mine = slice(y * ROWS, (y + 1) * ROWS), slice(x * COLUMNS, (x + 1) * COLUMNS)
        plane = np.random.default_rng(1).random((n // wide * ROWS, wide * COLUMNS), dtype="f4")
        cells = ishmem.array(np.pad(plane[mine], 1).ravel())
        new = ishmem.zeros_like(cells)
        for _ in range(STEPS):
            dpex.call_kernel(exchange, kapi.Range(1), cells, row_team.handle, column_team.handle)
            ishmem.barrier_all()  # all halos have arrived; `new` is not read before the next barrier
            dpex.call_kernel(spread, kapi.Range(ROWS, COLUMNS), cells, new)
            cells, new = new, cells
        block = cells.asnumpy().reshape(ROWS + 2, WIDTH)[1:-1, 1:-1]
        right = np.array_equal(block, serial(plane)[mine])
        print(f"block ({y}, {x}) of {n // wide} x {wide} is {'right' if right else 'WRONG'}")
        ishmem.free_all()


if __name__ == "__main__":
    main()
