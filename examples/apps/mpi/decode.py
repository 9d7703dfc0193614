"""Flash decoding with mpi4py: a kernel that attends, MPI_Allgather of the partial results, a kernel that combines."""

from __future__ import annotations

from typing import Any

import dpnp

from ishmem import dpex
from ishmem.dpex import kernel_api as kapi
from ishmem.examples.apps.decode import ROW, SIZE, Decode, attend_all, combine_all
from ishmem.examples.apps.frame import Run, shared


def program(app: Decode, run: Run) -> Any:
    """Run with mpi4py; return what ``Decode.run`` returns."""
    arrays, count = app.parts(run)
    (own, own_view), (parts, view) = (shared(n * app.heads * ROW, "f4") for n in (1, run.n_pes))
    out = dpnp.zeros(app.heads * SIZE, dtype="f4")
    with run.timed():
        dpex.call_kernel(attend_all, kapi.Range(app.heads), *arrays, own, app.heads, count)
        with run.communication():
            run.comm.Allgather(own_view, view)
        dpex.call_kernel(combine_all, kapi.Range(app.heads), parts, out, app.heads, run.n_pes)
    return app.shaped(out)
