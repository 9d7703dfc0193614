"""Matrix product and all-scatter with mpi4py: a kernel that multiplies, then MPI_Allgather."""

from __future__ import annotations

from typing import Any

from ishmem import dpex
from ishmem.dpex import kernel_api as kapi
from ishmem.examples.apps.frame import Run, shared
from ishmem.examples.apps.matmul_allscatter import GROUP, MatmulAllscatter, multiply_rows


@dpex.kernel
def multiply(item: kapi.NdItem, a, b, c, rows, inner):
    """Multiply all ``rows`` rows of this PE: ``c`` is the product of ``a`` and ``b``."""
    multiply_rows(item.get_local_id(0), a, b, c, 0, rows, inner)


def program(app: MatmulAllscatter, run: Run) -> Any:
    """Run with mpi4py; return what ``MatmulAllscatter.run`` returns."""
    rows, a, b = app.parts(run)
    mine, own_view = shared((rows.size, app.columns), "f8")
    c, view = shared((run.n_pes * rows.size, app.columns), "f8")
    with run.timed():
        dpex.call_kernel(multiply, kapi.NdRange((GROUP,), (GROUP,)), a, b, mine, rows.size, app.inner)
        with run.communication():
            run.comm.Allgather(own_view, view)
    return app.shaped(c)
