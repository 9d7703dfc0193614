"""The cases of ``ishmem tune``: each algorithm of each collective, and both routes of host copies."""

from __future__ import annotations

import ctypes
from typing import Any

from ishmem.benchmarks.cases import Plan, Skip, case, values
from ishmem.benchmarks.collectives import COLLECTIVES, plan_of
from ishmem.benchmarks.copies import own_array, plan_of_copy
from ishmem.benchmarks.worlds import Ishmem
from ishmem.common.algorithms import SLOT_LIMIT, allowed, install
from ishmem.environment.profile import GET_PRIVATE, PUT, PUT_PRIVATE, ROUTES

SAME = {
    "fcollect": ("collect",),
    "alltoall": ("alltoalls", "alltoallv"),
    "gather": ("gatherv",),
    "scatter": ("scatterv",),
    "sum_reduce": ("prod_reduce", "max_reduce", "min_reduce", "and_reduce", "or_reduce", "xor_reduce"),
    "sum_inscan": ("sum_exscan",),
}
"""By measured routine: the routines that use its algorithms and are not measured."""
MEASURED = tuple(name for name in COLLECTIVES if name not in {each for group in SAME.values() for each in group})
PREFIX = "tune "
NODE_ONLY = ("tree", "engine", "kernel")
"""Algorithms for teams on one node only."""
NODES_ONLY = ("levels", "rounds")
"""Algorithms for teams on several nodes only."""


def _register(name: str) -> None:
    @case(PREFIX + name, "host", size=True, algorithm=allowed(name))
    def of_ishmem(w: Ishmem, size: int, algorithm: str) -> Plan:
        if algorithm == "slot" and size > SLOT_LIMIT:
            raise Skip(f"a slot holds at most {SLOT_LIMIT} bytes")
        if algorithm in (NODE_ONLY if w.spans_nodes() else NODES_ONLY):
            raise Skip("the PEs are on several nodes" if w.spans_nodes() else "the PEs are on one node")
        plan = plan_of(w, name, size)
        w.barrier()
        install({name: [(0, algorithm)]})
        return plan


def mapped_private(array: Any) -> Any:
    """Return a mapping of a private array for the host, a `HostMap`, which the caller keeps while it uses it."""
    from ishmem.ipc import handles
    from ishmem.runtime import job

    export = handles.export(job.current().heap.context, array._pointer)
    return handles.map_host(export.fds, array.nbytes, export.fd_offset)


def _register_route(name: str, puts: bool, private: bool) -> None:
    """Register a copy by loads and stores of the host, or by the copy engine, with a symmetric or private array."""

    @case(PREFIX + name, "host", size=True, algorithm=ROUTES)
    def of_ishmem(w: Ishmem, size: int, algorithm: str) -> Plan:
        from ishmem.runtime import job

        statement = "a[:] = b" if algorithm == "mapped" else "engine.copy(to, origin, size, own); engine.quiet()"
        own = own_array("dpctl" if private else "symmetric", values(size, w.pe) * puts)
        plan, this = plan_of_copy(w, statement, size, puts, None, own), job.current()
        far, near = plan.names["far"], own if private else own.get_array()
        mapping = mapped_private(own) if private else None
        here = memoryview((ctypes.c_char * size).from_address(mapping.address)).cast("B") if mapping else None
        views = [here or w.host_view(own, w.pe), w.host_view(far, w.right)]
        sides = [near._pointer, this.heap.peers[w.right] + far.get_array()._pointer - this.heap.base]
        order = slice(None, None, -1 if puts else 1)
        plan.names.update(zip(("to", "origin", "a", "b"), (*sides[order], *views[order])))
        plan.names.update(engine=this.engine, size=size, mapping=mapping)
        return plan


for _name in MEASURED:
    _register(_name)
_register_route(PUT, True, False)
_register_route(PUT_PRIVATE, True, True)
_register_route(GET_PRIVATE, False, True)
