"""All-gather and matrix product with mpi4py: MPI_Allgather of the rows, then a kernel that multiplies."""

from __future__ import annotations

from typing import Any

import dpnp
import numpy as np

from ishmem import dpex
from ishmem.dpex import kernel_api as kapi
from ishmem.examples.apps.frame import Run, shared
from ishmem.examples.apps.matmul import GROUP, Matmul, multiply_rows


@dpex.kernel
def multiply(item: kapi.NdItem, a, b, c, rows, inner):
    """Multiply all rows by this PE's columns."""
    multiply_rows(item.get_local_id(0), a, b, c, 0, rows, inner)


def program(matmul: Matmul, run: Run) -> Any:
    """Run with mpi4py; return what ``Matmul.run`` returns, on PE 0."""
    rows, columns, own_a, own_b = matmul.parts(run)
    a, view = shared(run.n_pes * own_a.size, "f8")
    b, c = dpnp.asarray(own_b), dpnp.zeros((run.n_pes * rows.size, columns.size))
    with run.timed():
        with run.communication():
            run.comm.Allgather(own_a, view)
        items = kapi.NdRange((GROUP,), (GROUP,))
        dpex.call_kernel(multiply, items, a, b, c, run.n_pes * rows.size, matmul.inner)
    whole = run.comm.gather(c.asnumpy()[: matmul.rows, : columns.counts[run.pe]])
    return np.concatenate(whole, axis=1) if whole else None
