"""Conjugate gradients with mpi4py: MPI_Allgather of the vector and MPI_Allreduce of sums between kernels."""

from __future__ import annotations

from typing import Any

import dpnp
import numpy as np
from mpi4py import MPI

from ishmem import dpex
from ishmem.dpex import kernel_api as kapi
from ishmem.examples.apps.cg import CHANGE, GROUP, NEXT, SQUARE, STEPS, Cg, advance, dot, turn
from ishmem.examples.apps.frame import Blocks, Run, shared


@dpex.kernel
def multiply_local(item: kapi.Item, q, p, values, columns, starts):
    """Multiply a row of the matrix by ``p``, all of which is on this PE."""
    row, total = item.get_id(0), 0.0
    for k in range(starts[row], starts[row + 1]):
        total += values[k] * p[columns[k]]
    q[row] = total


@dpex.kernel
def dot_only(item: kapi.NdItem, a, b, parts):
    """Compute a dot product on this PE."""
    dot(item.get_group(), item.get_local_id(0), a, b, parts)


@dpex.kernel
def advance_only(item: kapi.NdItem, p, q, r, z, parts, sums):
    """Advance with known sums; leave this PE's part of the new r.r in ``parts[0]``."""
    group, item_id = item.get_group(), item.get_local_id(0)
    advance(item_id, z, sums[SQUARE] / sums[CHANGE], p)
    advance(item_id, r, -sums[SQUARE] / sums[CHANGE], q)
    dot(group, item_id, r, r, parts)


@dpex.kernel
def turn_only(item: kapi.NdItem, p, r, sums):
    """Compute the next direction from known sums."""
    turn(item.get_group(), item.get_local_id(0), p, r, sums)


def program(cg: Cg, run: Run) -> Any:
    """Run with mpi4py; return what ``Cg.run`` returns."""
    blocks, one_group = Blocks(cg.size, run.n_pes), kapi.NdRange((GROUP,), (GROUP,))
    mine, count = cg.matrix()[blocks.part(run.pe)], blocks.counts[run.pe]
    rows = [dpnp.asarray(each) for each in (mine.data, mine.indices.astype("i8"), mine.indptr.astype("i8"))]
    whole, whole_view = shared(blocks.size * run.n_pes, "f8")
    p = whole[run.pe * blocks.size : (run.pe + 1) * blocks.size]
    q, r, z = (dpnp.zeros(blocks.size) for _ in range(3))
    (parts, parts_view), (sums, sums_view) = shared(GROUP, "f8"), shared(3, "f8")

    def add(numbers: Any) -> Any:
        total = np.array(numbers)
        with run.communication():
            run.comm.Allreduce(MPI.IN_PLACE, total)
        return total

    def solve(x: np.ndarray[Any, Any], square: float) -> Any:
        p[:count], r[:count], z[...], sums[SQUARE] = dpnp.asarray(x), dpnp.asarray(x), 0, square
        for _ in range(STEPS):
            with run.communication():
                run.comm.Allgather(MPI.IN_PLACE, whole_view)
            if count:
                dpex.call_kernel(multiply_local, kapi.Range(count), q, whole, *rows)
            dpex.call_kernel(dot_only, one_group, p, q, parts)
            sums_view[CHANGE] = add(parts_view[:1])[0]
            dpex.call_kernel(advance_only, one_group, p, q, r, z, parts, sums)
            sums_view[NEXT] = add(parts_view[:1])[0]
            dpex.call_kernel(turn_only, one_group, p, r, sums)
        return z.asnumpy()[:count]

    with run.timed():
        return cg.zetas(run, count, solve, add)
