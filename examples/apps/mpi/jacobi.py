"""Heat with mpi4py: MPI_Sendrecv of the halos between kernels, MPI_Allreduce of the residual."""

from __future__ import annotations

from typing import Any

import numpy as np
from mpi4py import MPI

from ishmem import dpex
from ishmem.dpex import kernel_api as kapi
from ishmem.examples.apps.frame import Blocks, Run
from ishmem.examples.apps.jacobi import GROUP, Jacobi, neighbours, relax_row, sum_of_squares


@dpex.kernel
def relax_only(item: kapi.NdItem, now, new):
    """Do one iteration from ``now`` to ``new`` without communication, a group per row."""
    relax_row(now, new, item.get_group().get_group_id(0) + 1, item.get_local_id(0))


@dpex.kernel
def measure_only(item: kapi.NdItem, now, new, rows, sums):
    """Leave the sum of the squared changes of this PE in ``sums[0]``."""
    sum_of_squares(item.get_group(), item.get_local_id(0), now, new, rows, sums)


def program(jacobi: Jacobi, run: Run) -> Any:
    """Run with mpi4py; return what ``Jacobi.run`` returns, on PE 0; on others, the plate of the start."""
    blocks, start = Blocks(jacobi.rows, run.n_pes), jacobi.plate()
    rows, first = blocks.counts[run.pe], blocks.part(run.pe).start
    above, below = (MPI.PROC_NULL if pe < 0 else pe for pe in neighbours(blocks, run.pe))
    plates, sums = run.zeros((2, rows + 2, jacobi.columns + 2), "f8"), run.zeros(GROUP, "f8")
    view, sums_view = run.view(plates), run.view(sums)
    view[:] = start[first : first + rows + 2] if rows else start[:2]

    def relax_once(number: int) -> None:
        if rows:
            items = kapi.NdRange((rows * GROUP,), (GROUP,))
            dpex.call_kernel(relax_only, items, plates[number % 2], plates[1 - number % 2])
        halo = view[1 - number % 2]
        with run.communication():
            run.comm.Sendrecv(halo[1], above, recvbuf=halo[-1], source=below)
            run.comm.Sendrecv(halo[-2], below, recvbuf=halo[0], source=above)

    def residual(number: int) -> float:
        items = kapi.NdRange((GROUP,), (GROUP,))
        dpex.call_kernel(measure_only, items, plates[number % 2], plates[1 - number % 2], rows, sums)
        with run.communication():
            return float(run.comm.allreduce(float(sums_view[0])))

    with run.timed():
        iterations, left = jacobi.iterate(run, relax_once, residual)
    inside = run.gathered(view[iterations % 2, 1:], blocks.counts)
    inside = start[1:-1] if inside is None else inside
    return {"plate": np.concatenate([start[:1], inside, start[-1:]]), "iterations": iterations, "residual": left}
