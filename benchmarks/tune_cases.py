"""The cases of ``ishmem tune``: each algorithm of each collective, and both routes of host copies."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from ishmem.benchmarks.cases import Plan, Skip, case, values
from ishmem.benchmarks.collectives import COLLECTIVES, plan_of_ishmem
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
        plan = plan_of_ishmem(w, name, size)
        w.barrier()
        install({name: [(0, algorithm)]})
        return plan


@case(PREFIX + PUT, "host", size=True, algorithm=ROUTES)
def put(w: Ishmem, size: int, algorithm: str) -> Plan:
    """Return the plan of a put by stores of the host, or by the copy engine."""
    from ishmem.runtime import job

    source, dest = w.filled(size), w.blank(size)
    heap, engine = job.current().heap, job.current().engine
    names: dict[str, Any] = {"here": w.host_view(source, w.pe), "there": w.host_view(dest, w.right), "engine": engine}
    names["to"] = heap.peers[w.right] + dest.get_array()._pointer - heap.base
    names["origin"], names["size"], names["source"] = source.get_array()._pointer, size, source
    statement = "there[:] = here" if algorithm == "mapped" else "engine.copy(to, origin, size, source); engine.quiet()"
    return Plan(statement, names, lambda done: w.expect(dest, values(size, w.left)), size)


def mapped_private(array: Any) -> Any:
    """Return a mapping of a private array for the host, a `HostMap`."""
    from ishmem.ipc import handles
    from ishmem.runtime import job

    export = handles.export(job.current().heap.context, array._pointer)
    return handles.map_host(export.fds, array.nbytes, export.fd_offset)


def _register_private(name: str, to_peer: bool) -> None:
    @case(PREFIX + name, "host", size=True, algorithm=ROUTES)
    def of_ishmem(w: Ishmem, size: int, algorithm: str) -> Plan:
        from ishmem.environment.arrays import tensor
        from ishmem.runtime import job

        other = w.blank(size) if to_peer else w.filled(size)
        private = tensor.asarray(values(size, w.pe) if to_peer else np.zeros_like(values(size, 0)))
        heap, mapping = job.current().heap, mapped_private(private)
        here = memoryview((ctypes.c_char * size).from_address(mapping.address)).cast("B")
        sides = [private._pointer, heap.peers[w.right] + other.get_array()._pointer - heap.base]
        views, order = [here, w.host_view(other, w.right)], slice(None, None, -1 if to_peer else 1)
        names: dict[str, Any] = {**dict(zip(("to", "origin"), sides[order])), **dict(zip(("a", "b"), views[order]))}
        names.update(engine=job.current().engine, size=size, private=private, mapping=mapping)
        statement = "a[:] = b" if algorithm == "mapped" else "engine.copy(to, origin, size, private); engine.quiet()"
        seen = other if to_peer else private
        return Plan(statement, names, lambda done: w.expect(seen, values(size, w.left if to_peer else w.right)), size)


for _name in MEASURED:
    _register(_name)
_register_private(PUT_PRIVATE, True)
_register_private(GET_PRIVATE, False)
