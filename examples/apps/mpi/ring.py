"""Ring allreduce with mpi4py: MPI_Sendrecv of chunks around the ring, added by a kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from ishmem import dpex
from ishmem.dpex import kernel_api as kapi
from ishmem.examples.apps.frame import Blocks, Run, shared
from ishmem.examples.apps.ring import GROUP, Ring, add_tile


@dpex.kernel
def add(item: kapi.NdItem, total, part):
    """Add a chunk that has arrived."""
    add_tile(item.get_group(), item.get_local_id(0), total, part)


def program(ring: Ring, run: Run) -> Any:
    """Run with mpi4py; return what ``Ring.run`` returns. The additions count as communication, as in the kernel."""
    me, n, chunk = run.pe, run.n_pes, Blocks(ring.size, run.n_pes).size
    right, left, items = (me + 1) % n, (me - 1) % n, kapi.NdRange((GROUP,), (GROUP,))
    (data, view), (inbox, inbox_view) = shared((n, chunk), "f8"), shared(chunk, "f8")
    start = np.zeros(n * chunk)
    start[: ring.size] = ring.values(me)
    with run.timed():
        for _ in range(ring.repeats):
            view.reshape(-1)[:] = start
            with run.communication():
                run.barrier()
                for step in range(n - 1):
                    to = (me - step - 1) % n
                    run.comm.Sendrecv(view[(me - step) % n], right, recvbuf=inbox_view, source=left)
                    dpex.call_kernel(add, items, data[to], inbox)
                for step in range(n - 1):
                    run.comm.Sendrecv(view[(me + 1 - step) % n], right, recvbuf=view[(me - step) % n], source=left)
    return {"sums": view.reshape(-1)[: ring.size].copy(), "same": True, "n": n}
