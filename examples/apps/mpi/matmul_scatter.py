"""Matrix product and reduce-scatter with mpi4py: a kernel that multiplies, then MPI_Reduce_scatter_block."""

from __future__ import annotations

from typing import Any

import dpnp
import numpy as np

from ishmem import dpex
from ishmem.dpex import kernel_api as kapi
from ishmem.examples.apps.frame import Run, shared
from ishmem.examples.apps.matmul import GROUP
from ishmem.examples.apps.matmul_scatter import MatmulScatter, element


@dpex.kernel
def multiply(item: kapi.NdItem, a, b, product, inner, columns):
    """Multiply this PE's columns of A and rows of B."""
    for place in range(item.get_local_id(0), product.size, GROUP):
        product[place] = element(a, b, place // columns, place % columns, inner, columns)


def program(app: MatmulScatter, run: Run) -> Any:
    """Run with mpi4py; return what ``MatmulScatter.run`` returns, on PE 0."""
    rows, own_a, own_b = app.parts(run)
    a, b = (dpnp.asarray(each.reshape(-1)) for each in (own_a, own_b))
    product, view = shared(len(own_a) * app.columns, "f8")
    c = np.empty(rows.size * app.columns)
    with run.timed():
        items = kapi.NdRange((GROUP,), (GROUP,))
        dpex.call_kernel(multiply, items, a, b, product, own_a.shape[1], app.columns)
        with run.communication():
            run.comm.Reduce_scatter_block(view, c)
    whole = run.comm.gather(c.reshape(-1, app.columns)[: rows.counts[run.pe]])
    return np.concatenate(whole) if whole else None
