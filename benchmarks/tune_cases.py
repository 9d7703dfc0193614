"""The cases of ``ishmem tune``: each algorithm of each collective, and both routes of a put."""

from __future__ import annotations

from typing import Any

from ishmem.benchmarks.cases import Plan, Skip, case, values
from ishmem.benchmarks.collectives import COLLECTIVES, Arrays
from ishmem.benchmarks.worlds import Ishmem
from ishmem.common.algorithms import SLOT_LIMIT, allowed, install
from ishmem.environment.profile import PUT, ROUTES

SAME = {
    "fcollect": ("collect",),
    "alltoall": ("alltoalls", "alltoallv"),
    "gather": ("gatherv",),
    "scatter": ("scatterv",),
    "sum_reduce": ("prod_reduce", "max_reduce", "min_reduce", "and_reduce", "or_reduce", "xor_reduce"),
    "sum_inscan": ("sum_exscan",),
}
"""Routines that are not measured but use the algorithms of another one."""
MEASURED = tuple(name for name in COLLECTIVES if name not in {each for group in SAME.values() for each in group})
PREFIX = "tune "


def _register(name: str) -> None:
    @case(PREFIX + name, "host", size=True, algorithm=allowed(name))
    def of_ishmem(w: Ishmem, size: int, algorithm: str) -> Plan:
        import ishmem

        if algorithm == "slot" and size > SLOT_LIMIT:
            raise Skip(f"a slot holds at most {SLOT_LIMIT} bytes")
        routine = COLLECTIVES[name]
        arrays = Arrays(routine, w, size)
        source, dest = w.filled(arrays.source_bytes), w.blank(arrays.dest_bytes)
        w.barrier()
        install({name: [(0, algorithm)]})
        names = {"ishmem": ishmem, "dest": dest, "source": source, **arrays.names}
        statement = f"ishmem.{name}(dest, source{routine.arguments})"
        return Plan(statement, names, lambda done: w.expect(dest, arrays.wanted), size)


@case(PREFIX + PUT, "host", size=True, algorithm=ROUTES)
def put(w: Ishmem, size: int, algorithm: str) -> Plan:
    """Stores by the host, or a copy by the copy engine."""
    from ishmem.runtime import job

    source, dest = w.filled(size), w.blank(size)
    heap, engine = job.current().heap, job.current().engine
    names: dict[str, Any] = {"here": w.host_view(source, w.pe), "there": w.host_view(dest, w.right), "engine": engine}
    names["to"] = heap.peers[w.right] + dest.get_array()._pointer - heap.base
    names["origin"], names["size"], names["source"] = source.get_array()._pointer, size, source
    statement = "there[:] = here" if algorithm == "mapped" else "engine.copy(to, origin, size, source); engine.quiet()"
    return Plan(statement, names, lambda done: w.expect(dest, values(size, w.left)), size)


for _name in MEASURED:
    _register(_name)
