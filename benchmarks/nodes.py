"""Operations of PE 0 on a PE of another node, and collectives of PEs on several nodes.

While PE 0 calls, the other PEs wait in a barrier of their library, so that each library makes progress at the target.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import ishmem
from ishmem.benchmarks.cases import Plan, case, values
from ishmem.benchmarks.collectives import BY_HOST, GROUPS, plan_in_kernel, plan_of_ishmem, plan_of_mpi4py
from ishmem.benchmarks.worlds import Ishmem, Mpi

PREFIX = "nodes_"
WINDOW = 64
SIZES = (8, 1 << 20)


class Operation(NamedTuple):
    """An operation of PE 0 on the array ``there`` of another PE, with the array ``here`` of its own.

    Attributes:
        call: The statement of ishmem.
        mpi: The statement of mpi4py; ``w`` is the window.
        puts: Whether the operation changes the target's array, which receives the values of PE 0.
        sizes: Sizes in bytes.
        times: Number of operations in one statement.
    """

    call: str
    mpi: str
    puts: bool
    sizes: tuple[int, ...] = (8,)
    times: int = 1


ARRIVED = "w.Get(word, pe, last); w.Flush(pe)"
"""MPICH over ofi/tcp returns from a flush before the data have arrived; a get from the same place waits for them."""

PUT, MPI_PUT = "ishmem.put(there, here, pe); ishmem.quiet()", "w.Put(here, pe); w.Flush(pe)"
OPERATIONS = {
    "put": Operation(PUT, f"{MPI_PUT}; {ARRIVED}", True, SIZES),
    "put_flush": Operation(PUT, MPI_PUT, True),
    "get": Operation("ishmem.get(here, there, pe)", "w.Get(here, pe); w.Flush(pe)", False, SIZES),
    "put_nbi": Operation(
        f"for _ in range({WINDOW}): ishmem.put_nbi(there, here, pe)\n    ishmem.quiet()",
        f"for _ in range({WINDOW}): w.Put(here, pe)\n    w.Flush(pe); {ARRIVED}",
        True,
        times=WINDOW,
    ),
}  # fmt: skip


def repeated(statement: str) -> str:
    """Return a statement by which PE 0 runs ``statement`` ``count`` times while the others wait in a barrier."""
    return f"for _ in range(count if calls else 0):\n    {statement}\nbarrier()"


def _callers(w: Any) -> dict[str, Any]:
    return {"pe": w.right, "calls": w.pe == 0, "barrier": w.barrier}


def _copied(w: Any, puts: bool, here: Any, there: Any, size: int) -> Any:
    """Return the check of a copy between PE 0 and its right neighbour."""

    def check(done: int) -> None:
        if puts and w.pe == 1:
            w.expect(there, values(size, 0))
        elif not puts and w.pe == 0:
            w.expect(here, values(size, w.right))

    return check


def _register(op: str, operation: Operation) -> None:
    @case(PREFIX + op, "host", size=operation.sizes)
    def body(w: Ishmem, size: int) -> Plan:
        here, there = (w.filled(size), w.blank(size)) if operation.puts else (w.blank(size), w.filled(size))
        names = {"ishmem": ishmem, "here": here, "there": there, **_callers(w)}
        check = _copied(w, operation.puts, here, there, size)
        return Plan(repeated(operation.call), names, check, size, operation.times, counted=True)

    @body.peer("mpi4py")
    def _(w: Mpi, size: int) -> Plan:
        own = values(size, w.pe)
        window, there = w.window(size, None if operation.puts else own)
        here = own if operation.puts else np.zeros_like(own)
        names = {"w": window, "here": here, **_callers(w)}
        names.update(word=np.zeros(1, "int64"), last=size - 8)
        check = _copied(w, operation.puts, here, there, size)
        return Plan(repeated(operation.mpi), names, check, size, operation.times, counted=True)


for _op, _operation in OPERATIONS.items():
    _register(_op, _operation)


@case(PREFIX + "fetch_add", "host")
def fetch_add(w: Ishmem) -> Plan:
    array = ishmem.zeros(1, dtype="int64")
    names = {"ishmem": ishmem, "array": array, **_callers(w)}
    check = lambda done: w.expect(array, np.array([done if w.pe == 1 else 0]))  # noqa: E731
    return Plan(repeated("ishmem.atomic_fetch_add(array, 1, pe)"), names, check, 8, counted=True)


@fetch_add.peer("mpi4py")
def _(w: Mpi) -> Plan:
    window, memory = w.window(8)
    names = {"w": window, "SUM": w.MPI.SUM, **_callers(w)}
    names.update(one=np.array([1]), old=np.array([0]))
    check = lambda done: w.expect(memory, np.array([done if w.pe == 1 else 0]))  # noqa: E731
    return Plan(repeated("w.Fetch_and_op(one, old, pe, 0, SUM); w.Flush(pe)"), names, check, 8, counted=True)


@case(PREFIX + "put", "device", limit="put and quiet by the host")
def put_in_kernel(w: Ishmem) -> Plan:
    from ishmem import dpex
    from ishmem.benchmarks.kernels import KERNELS

    here, there = w.filled(8), w.blank(8)
    names = {"ishmem": ishmem, "here": here, "there": there, "pe": w.right, "dpex": dpex}
    names["put_quiet"] = KERNELS["put_quiet"]
    call = "dpex.call_kernel(put_quiet, dpex.kernel_api.Range(1), there, here, pe, count)"
    by_host = "for _ in range(count):\n    ishmem.put(there, here, pe); ishmem.quiet()"
    check = _copied(w, True, here, there, 8)
    return Plan(call, names, check, 8, counted=True, active=(0,), limit=by_host)


def _register_collective(name: str) -> None:
    @case(PREFIX + name, "host", size=SIZES, pes=(4,))
    def body(w: Ishmem, size: int) -> Plan:
        return plan_of_ishmem(w, name, size)

    @body.peer("mpi4py")
    def _(w: Mpi, size: int) -> Plan:
        return plan_of_mpi4py(w, name, size)


def _register_in_kernel(name: str) -> None:
    @case(PREFIX + name, "group", size=SIZES, pes=(4,), limit=BY_HOST)
    def body(w: Ishmem, size: int) -> Plan:
        return plan_in_kernel(w, name, size, items=GROUPS[0])


for _name in ("sum_reduce", "alltoall", "fcollect"):
    _register_collective(_name)
    _register_in_kernel(_name)


@case(PREFIX + "barrier", "host", pes=(4,))
def barrier(w: Ishmem) -> Plan:
    return Plan("ishmem.barrier_all()", {"ishmem": ishmem})


@barrier.peer("mpi4py")
def _(w: Mpi) -> Plan:
    return Plan("comm.Barrier()", {"comm": w.comm})
