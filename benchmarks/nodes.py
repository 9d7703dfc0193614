"""Operations of PE 0 on a PE of another node, and collectives of PEs on several nodes.

While PE 0 calls, the other PEs wait in a barrier of their library, so that each library makes progress at the target.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import ishmem
from ishmem.benchmarks.cases import Plan, case
from ishmem.benchmarks.collectives import BY_HOST, GROUPS, plan_in_kernel, plan_of_ishmem, plan_of_mpi4py
from ishmem.benchmarks.copies import plan_of_copy
from ishmem.benchmarks.waiting import barrier_of_mpi
from ishmem.benchmarks.worlds import Ishmem, Mpi, World

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
    def plan(w: Ishmem | Mpi, statement: str, size: int) -> Plan:
        copy = plan_of_copy(w, repeated(statement), size, operation.puts, operations=operation.times, counted=True)
        copy.active = None  # all PEs run the statement, and PE 0 alone copies
        copy.names.update(_callers(w), word=np.zeros(1, "int64"), last=size - 8)
        return copy

    @case(PREFIX + op, "host", size=operation.sizes)
    def body(w: Ishmem, size: int) -> Plan:
        return plan(w, operation.call, size)

    @body.peer("mpi4py")
    def _(w: Mpi, size: int) -> Plan:
        return plan(w, operation.mpi, size)


for _op, _operation in OPERATIONS.items():
    _register(_op, _operation)


@case(PREFIX + "fetch_add", "host")
def fetch_add(w: Ishmem) -> Plan:
    array = ishmem.zeros(1, dtype="int64")
    statement, names = repeated("ishmem.atomic_fetch_add(array, 1, pe)"), w.names(array=array, **_callers(w))
    return Plan(statement, names, w.counted(array), 8, counted=True)


@fetch_add.peer("mpi4py")
def _(w: Mpi) -> Plan:
    memory = w.far(8, filled=False)
    names = w.names(one=np.array([1]), old=np.array([0]), **_callers(w))
    statement = repeated("window.Fetch_and_op(one, old, pe, 0, MPI.SUM); window.Flush(pe)")
    return Plan(statement, names, w.counted(memory), 8, counted=True)


@case(PREFIX + "put", "device", limit="put and quiet by the host")
def put_in_kernel(w: Ishmem) -> Plan:
    from ishmem import dpex
    from ishmem.benchmarks.kernels import KERNELS

    call = "dpex.call_kernel(put_quiet, dpex.kernel_api.Range(1), far, own, pe, count)"
    plan = plan_of_copy(w, call, 8, True, counted=True, limit=f"for _ in range(count):\n    {PUT}")
    plan.names.update(dpex=dpex, put_quiet=KERNELS["put_quiet"])
    return plan


def _register_collective(name: str) -> None:
    @case(PREFIX + name, "host", size=SIZES, pes=(4,))
    def by_host(w: Ishmem, size: int) -> Plan:
        return plan_of_ishmem(w, name, size)

    @by_host.peer("mpi4py")
    def _(w: Mpi, size: int) -> Plan:
        return plan_of_mpi4py(w, name, size)

    @case(PREFIX + name, "group", size=SIZES, pes=(4,), limit=BY_HOST)
    def by_group(w: Ishmem, size: int) -> Plan:
        return plan_in_kernel(w, name, size, items=GROUPS[0])


for _name in ("sum_reduce", "alltoall", "fcollect"):
    _register_collective(_name)


@case(PREFIX + "barrier", "host", pes=(4,))
def barrier(w: Ishmem) -> Plan:
    return Plan("ishmem.barrier_all()", w.names())


barrier.peer("mpi4py")(barrier_of_mpi)
