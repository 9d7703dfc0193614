"""On-queue forms: put and get as operations of a SYCL queue."""

from __future__ import annotations

from ishmem.benchmarks.cases import Plan, case
from ishmem.benchmarks.copies import DIRECTIONS, active, at_origin, at_target
from ishmem.benchmarks.worlds import Ishmem

COPY = "queue.memcpy between the same buffers"
SOME = 16


@case("put", "queue", size=True, limit=COPY, direction=DIRECTIONS)
def put(w: Ishmem, size: int, direction: str) -> Plan:
    import ishmem

    source, dest, who = w.filled(size), w.blank(size), active(direction)
    names = {"ishmem": ishmem, "dest": dest, "source": source, "pe": w.right, "n": size, "queue": dest.sycl_queue}
    names.update(there=w.usm_at(dest, w.right), here=source.get_array().usm_data)
    statement = "ishmem.put_on_queue(dest, source, pe, queue).wait()"
    check = at_target(w, dest, size, who)
    return Plan(statement, names, check, size, active=who, limit="queue.memcpy(there, here, n)")


@case("get", "queue", size=True, limit=COPY, direction=("one",))
def get(w: Ishmem, size: int, direction: str) -> Plan:
    import ishmem

    source, dest, who = w.filled(size), w.blank(size), active(direction)
    names = {"ishmem": ishmem, "dest": dest, "source": source, "pe": w.right, "n": size, "queue": dest.sycl_queue}
    names.update(there=w.usm_at(source, w.right), here=dest.get_array().usm_data)
    statement = "ishmem.get_on_queue(dest, source, pe, queue).wait()"
    check = at_origin(w, dest, size, who)
    return Plan(statement, names, check, size, active=who, limit="queue.memcpy(here, there, n)")


@case("put_nbi", "queue", size=(8, 65536), limit=COPY)
def put_nbi(w: Ishmem, size: int) -> Plan:
    """Several puts, then one quiet_on_queue."""
    import ishmem

    source, dest = w.filled(size), w.blank(size)
    names = {"ishmem": ishmem, "dest": dest, "source": source, "pe": w.right, "n": size, "queue": dest.sycl_queue}
    names.update(there=w.usm_at(dest, w.right), here=source.get_array().usm_data)
    statement = (
        f"for _ in range({SOME}): ishmem.put_nbi_on_queue(dest, source, pe, queue)\nishmem.quiet_on_queue(queue).wait()"
    )
    limit = f"for _ in range({SOME}): queue.memcpy_async(there, here, n)\nqueue.wait()"
    return Plan(statement, names, at_target(w, dest, size, (0,)), size, SOME, active=(0,), limit=limit)
