"""All-reduces for inference: one kernel on a queue, beside the host's reduction and mpi4py's."""

from __future__ import annotations

import numpy as np

from ishmem.benchmarks.cases import Plan, case
from ishmem.benchmarks.worlds import Ishmem, Mpi

SIZES = (8, 4096, 65536)
BY_HOST = "sum_reduce of the host"


@case("all_reduce", "queue", size=SIZES, pes=(2, 4), limit=BY_HOST)
def all_reduce(w: Ishmem, size: int) -> Plan:
    """``all_reduce`` of float32 with a wait of the host."""
    import ishmem

    source = ishmem.full(size // 4, w.pe + 1, dtype="float32")
    dest, communicator = ishmem.zeros_like(source), ishmem.inference.Communicator(size)
    names = {"ishmem": ishmem, "communicator": communicator, "dest": dest, "source": source}
    statement = "communicator.all_reduce(source, dest).wait()"
    limit = "ishmem.sum_reduce(dest, source)"
    return Plan(statement, names, lambda done: w.expect(dest, _wanted(size, w.n_pes)), size, limit=limit)


@all_reduce.peer("mpi4py")
def _(w: Mpi, size: int) -> Plan:
    source = np.full(size // 4, w.pe + 1, "float32")
    names = {"comm": w.comm, "MPI": w.MPI, "dest": np.zeros_like(source), "source": source}
    statement = "comm.Allreduce(source, dest, MPI.SUM)"
    return Plan(statement, names, lambda done: w.expect(names["dest"], _wanted(size, w.n_pes)), size)


def _wanted(size: int, n_pes: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return np.full(size // 4, sum(range(1, n_pes + 1)), "float32")
