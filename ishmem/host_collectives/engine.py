"""Collectives by the copy engine and reductions by device kernels, for memory that the host reaches slowly.

The functions run between entry and exit of a call, at which the core synchronises the PEs. A PE pulls its data from
the others, so nothing is written to a PE that has not called.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Callable, NamedTuple

import dpnp
import numpy as np

from ishmem import _core
from ishmem.common import algorithms
from ishmem.common.collective_table import Combines, Root
from ishmem.environment import arrays
from ishmem.host_collectives.calls import Asked, Call
from ishmem.runtime import job
from ishmem.runtime.copy_engine import CopyEngine
from ishmem.runtime.heap import UsmRange

_UNIT = 64
_HEAP = 2**48  # published offsets below are in the heap, others in static objects
_OPERATIONS = {
    "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor", "max": "maximum", "min": "minimum",
    "sum": "add", "prod": "multiply",
}  # fmt: skip


class Pull(NamedTuple):
    """A copy from a member's ``source`` into this PE's ``dest``, in bytes."""

    to: int
    member: int
    origin: int
    nbytes: int


def move(call: Call, requests: list[Asked]) -> None:
    """Move or reduce the data of a call that all members have entered, until this PE's share is complete."""
    this = job.current()
    engine = this.engine
    try:
        run = {Combines.NOTHING: _copy, Combines.SCAN: _scan, Combines.REDUCTION: _reduce}[call.traits.combines]
        run(call, requests, engine)
    finally:
        engine.quiet()


def _address(offset: int, pe: int) -> int:
    """Translate a published offset into an address on PE ``pe``."""
    return job.current().heap.peers[pe] + offset if offset < _HEAP else int(_core.static_at(offset, pe))


def _copy(call: Call, requests: list[Asked], engine: CopyEngine) -> None:
    pes = list(call.team.shape)
    copies = []
    for to, member, origin, nbytes in _pulls(call, requests):
        source, dest = _address(requests[member].source, pes[member]) + origin, call.dest.address + to
        if nbytes and source != dest:
            copies.append((dest, source, nbytes))
    engine.copy_all(copies)


def _pulls(call: Call, requests: list[Asked]) -> Iterator[Pull]:
    traits, me = call.traits, call.team.my_pe()
    if traits.root is Root.RECEIVES and me != call.root:
        return
    members = [call.root] if traits.root is Root.SENDS else range(len(requests))
    pulls_from = _pulls_of_counts if traits.counted else _pulls_of_own_counts if traits.own_counts else _pulls_of_blocks
    for member in members:
        yield from pulls_from(call, requests, member, me)


def _pulls_of_blocks(call: Call, _requests: list[Asked], member: int, me: int) -> Iterator[Pull]:
    item, traits = call.dest.itemsize, call.traits
    to, origin = (first * call.count * item for first in (traits.dest_blocks * member, traits.source_blocks * me))
    if not traits.strided:
        yield Pull(to, member, origin, call.count * item)
        return
    dst, sst = call.steps
    for i in range(call.count):
        yield Pull((to + i * item) * dst, member, (origin + i * item) * sst, item)


def _pulls_of_own_counts(call: Call, requests: list[Asked], member: int, _me: int) -> Iterator[Pull]:
    counts = [request.extra * call.dest.itemsize for request in requests]
    yield Pull(sum(counts[:member]), member, 0, counts[member])


def _pulls_of_counts(call: Call, requests: list[Asked], member: int, me: int) -> Iterator[Pull]:
    item, traits = call.dest.itemsize, call.traits
    dest_counts, dest_displs, source_counts, source_displs = call.lists
    if not traits.dest_blocks:
        yield Pull(0, member, source_displs[me] * item, source_counts[me] * item)
        return
    numbers = np.frombuffer(requests[member].numbers, "u8")
    displ = int(numbers[2 * len(requests) + me]) if traits.source_blocks else 0
    yield Pull(dest_displs[member] * item, member, displ * item, dest_counts[member] * item)


def _operation(routine: str, module: Any) -> Callable[..., Any]:
    operation: Callable[..., Any] = getattr(module, _OPERATIONS[routine.split("_")[0]])
    return operation


def _share(call: Call) -> tuple[int, int]:
    """Return the half-open range of elements that this PE reduces."""
    unit, size, me = max(_UNIT // call.dest.itemsize, 1), call.team.shape.size, call.team.my_pe()
    share = -(-call.count // (size * unit)) * unit
    first = min(me * share, call.count)
    return first, min(first + share, call.count)


def _reduce(call: Call, requests: list[Asked], engine: CopyEngine) -> None:
    """Reduce this PE's share of the elements and copy the result to all members."""
    first, last = _share(call)
    if first == last:
        return
    item, pes = call.dest.itemsize, list(call.team.shape)
    sources = [_address(request.source, pe) + first * item for request, pe in zip(requests, pes)]
    dests = [_address(request.dest, pe) + first * item for request, pe in zip(requests, pes)]
    in_heap = all(offset < _HEAP for request in requests for offset in (request.dest, request.source))
    reached = in_heap and not job.current().heap.far
    by_kernel = reached and requests[0].algorithm == algorithms.ALGORITHMS.index("kernel")
    combine = _combine_on_device if by_kernel else _combine_on_host
    total, address = combine(call, sources, last - first, engine)
    engine.copy_all([(dest, address, (last - first) * item) for dest in dests])
    engine.quiet()
    del total  # alive until the copies have completed


def _combine_on_device(call: Call, sources: list[int], count: int, engine: CopyEngine) -> tuple[Any, int]:
    parts = [_device_array(address, count, call.dest.storage) for address in sources]
    combine, total = _operation(call.routine, dpnp), dpnp.array(parts[0])
    for part in parts[1:]:
        total = combine(total, part)
    total.sycl_queue.wait()
    return total, int(total.get_array()._pointer)


def _device_array(address: int, count: int, dtype: str) -> Any:
    heap = job.current().heap
    memory = UsmRange(address, count * np.dtype(dtype).itemsize, heap.queue, heap).memory()
    return dpnp.asarray(arrays.tensor.usm_ndarray((count,), dtype=dtype, buffer=memory))


def _combine_on_host(call: Call, sources: list[int], count: int, engine: CopyEngine) -> tuple[Any, int]:
    parts = _fetch(sources, count, call.dest.storage, engine)
    combine, total = _operation(call.routine, np), parts[0]
    with np.errstate(all="ignore"):
        for part in parts[1:]:
            combine(total, part, out=total)
    return total, int(total.ctypes.data)


def _fetch(sources: list[int], count: int, dtype: str, engine: CopyEngine) -> Any:
    parts = np.empty((len(sources), count), dtype)
    engine.copy_all([(part.ctypes.data, source, part.nbytes) for part, source in zip(parts, sources)])
    engine.quiet()
    return parts


def _scan(call: Call, requests: list[Asked], engine: CopyEngine) -> None:
    """Compute this PE's share of the prefix sums of all members and copy it to them."""
    first, last = _share(call)
    if first == last:
        return
    item, pes = call.dest.itemsize, list(call.team.shape)
    sources = [_address(request.source, pe) + first * item for request, pe in zip(requests, pes)]
    sums = _fetch(sources, last - first, call.dest.storage, engine)
    with np.errstate(all="ignore"):
        np.add.accumulate(sums, axis=0, out=sums)
    if call.routine == "sum_exscan":
        sums[1:] = sums[:-1].copy()
        sums[0] = 0
    dests = [_address(request.dest, pe) + first * item for request, pe in zip(requests, pes)]
    engine.copy_all([(dest, row.ctypes.data, row.nbytes) for dest, row in zip(dests, sums)])
    engine.quiet()
