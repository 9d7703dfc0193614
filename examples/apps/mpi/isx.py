"""Integer sort with mpi4py: MPI_Alltoall and MPI_Alltoallv between the kernels of `ishmem.examples.apps.isx`."""

from __future__ import annotations

from typing import Any

import dpnp
import numpy as np

from ishmem.examples.apps.frame import Blocks, Run, launch, shared
from ishmem.examples.apps.isx import Isx, sort_into_buckets, tally


def program(isx: Isx, run: Run) -> Any:
    """Run with mpi4py; return what ``Isx.run`` returns, on PE 0; on others, None for the counts."""
    keys = dpnp.asarray(isx.made(run.pe, run.n_pes))
    ranges = Blocks(isx.range, run.n_pes)
    (received, received_view), (buckets, buckets_view) = (shared(isx.capacity(run.n_pes), "i8") for _ in range(2))
    (sent, sent_view), (counts, counts_view) = shared(run.n_pes, "i8"), shared(ranges.size, "i8")
    due = np.zeros(run.n_pes, "i8")
    with run.timed():
        launch(tally, len(keys), keys, 0, ranges.size, sent)
        with run.communication():
            run.comm.Alltoall(sent_view, due)
        ends = dpnp.asarray(np.cumsum([0, *sent_view[:-1]]))
        launch(sort_into_buckets, len(keys), keys, ranges.size, ends, buckets)
        with run.communication():
            run.comm.Alltoallv((buckets_view, sent_view.tolist()), (received_view, due.tolist()))
        launch(tally, int(due.sum()), received, run.pe * ranges.size, 1, counts)
    whole = run.comm.gather(counts_view[: ranges.counts[run.pe]].copy())
    return {"counts": np.concatenate(whole) if whole else None, "n": run.n_pes}
