"""Operations of PE 0 on a PE of another node, and collectives of PEs on several nodes.

While PE 0 calls, the other PEs wait in a barrier of their library, so that each library makes progress at the target.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ishmem.benchmarks.cases import Plan, case
from ishmem.benchmarks.collectives import BY_HOST, GROUPS, plan_in_kernel, plan_of
from ishmem.benchmarks.copies import plan_of_copy
from ishmem.benchmarks.worlds import PEERS, Ishmem, Mpi, World

PREFIX = "nodes_"
WINDOW = 64
SIZES = (8, 1 << 20)


class Operation(NamedTuple):
    """A copy by PE 0 between its array ``own`` and ``far`` on another PE.

    Attributes:
        call: The statement of ishmem.
        mpi: The statement of mpi4py, on ``window``.
        puts: Whether ``own`` is the source.
        sizes: Sizes in bytes.
        times: Number of operations in one statement.
    """

    call: str
    mpi: str
    puts: bool
    sizes: tuple[int, ...] = (8,)
    times: int = 1


ARRIVED = "window.Get(word, pe, last); window.Flush(pe)"
"""MPICH over ofi/tcp returns from a flush before the data have arrived; a get from the same place waits for them."""

PUT, MPI_PUT = "ishmem.put(far, own, pe); ishmem.quiet()", "window.Put(own, pe); window.Flush(pe)"
OPERATIONS = {
    "put": Operation(PUT, f"{MPI_PUT}; {ARRIVED}", True, SIZES),
    "put_flush": Operation(PUT, MPI_PUT, True),
    "get": Operation("ishmem.get(own, far, pe)", "window.Get(own, pe); window.Flush(pe)", False, SIZES),
    "put_nbi": Operation(
        f"for _ in range({WINDOW}): ishmem.put_nbi(far, own, pe)\n    ishmem.quiet()",
        f"for _ in range({WINDOW}): window.Put(own, pe)\n    window.Flush(pe); {ARRIVED}",
        True,
        times=WINDOW,
    ),
}  # fmt: skip


def repeated(statement: str) -> str:
    """Return a statement by which PE 0 runs ``statement`` ``count`` times while the others wait in a barrier."""
    return f"for _ in range(count if calls else 0):\n    {statement}\nbarrier()"


def _callers(w: World) -> dict[str, Any]:
    return {"calls": w.pe == 0, "barrier": w.barrier}


def _register(op: str, operation: Operation) -> None:
    @case(PREFIX + op, "host", size=operation.sizes, peers=PEERS)
    def body(w: Ishmem | Mpi, size: int) -> Plan:
        statement = repeated(w.either(operation.call, operation.mpi))
        plan = plan_of_copy(w, statement, size, operation.puts, operations=operation.times, counted=True)
        plan.active = None  # all PEs run the statement, and PE 0 alone copies
        plan.names.update(_callers(w), word=np.zeros(1, "int64"), last=size - 8)
        return plan


for _op, _operation in OPERATIONS.items():
    _register(_op, _operation)


@case(PREFIX + "fetch_add", "host", peers=PEERS)
def fetch_add(w: Ishmem | Mpi) -> Plan:
    far = w.far(8, filled=False)
    names = w.names(far=far, one=np.array([1]), old=np.array([0]), **_callers(w))
    by_mpi = "window.Fetch_and_op(one, old, pe, 0, MPI.SUM); window.Flush(pe)"
    statement = repeated(w.either("ishmem.atomic_fetch_add(far, 1, pe)", by_mpi))
    return Plan(statement, names, w.counted(far), 8, counted=True)


@case(PREFIX + "put", "device", limit="put and quiet by the host")
def put_in_kernel(w: Ishmem) -> Plan:
    from ishmem import dpex
    from ishmem.benchmarks.kernels import KERNELS

    call = "dpex.call_kernel(put_quiet, dpex.kernel_api.Range(1), far, own, pe, count)"
    plan = plan_of_copy(w, call, 8, True, counted=True, limit=f"for _ in range(count):\n    {PUT}")
    plan.names.update(dpex=dpex, put_quiet=KERNELS["put_quiet"])
    return plan


def _register_collective(name: str) -> None:
    @case(PREFIX + name, "host", size=SIZES, pes=(4,), peers=PEERS)
    def by_host(w: Ishmem | Mpi, size: int) -> Plan:
        return plan_of(w, name, size)

    @case(PREFIX + name, "group", size=SIZES, pes=(4,), limit=BY_HOST)
    def by_group(w: Ishmem, size: int) -> Plan:
        return plan_in_kernel(w, name, size, items=GROUPS[0])


for _name in ("sum_reduce", "alltoall", "fcollect"):
    _register_collective(_name)


@case(PREFIX + "barrier", "host", pes=(4,), peers=PEERS)
def barrier(w: Ishmem | Mpi) -> Plan:
    return Plan(w.either("ishmem.barrier_all()", "comm.Barrier()"), w.names())
