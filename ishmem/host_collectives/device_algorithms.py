"""Collectives by the copy engine and reductions by device kernels, for memory that the host accesses slowly.

The core calls `move_by_device` after all PEs have entered a call, and then synchronises them before the return. A PE
copies its data from the others, so nothing is written to a PE that has not called.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Callable, NamedTuple

import dpnp
import numpy as np

from ishmem import _core
from ishmem._core import CollectiveCall
from ishmem.common.collective_table import COLLECTIVES, Collective, Combines, Root
from ishmem.common.shared_numbers import Algorithm
from ishmem.common.type_tables import HALVES, OPAQUE
from ishmem.environment import arrays
from ishmem.host_collectives.collective_call import TYPE_NAMES, Asked, asked
from ishmem.runtime import job
from ishmem.runtime.copy_engine import CopyEngine
from ishmem.runtime.heap import UsmRange

_UNIT = 64
_TRAITS = tuple(COLLECTIVES.values())
_HEAP = 2**48  # published offsets below it are in the heap, others in static objects
_OPERATIONS = {
    "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor", "max": "maximum", "min": "minimum",
    "sum": "add", "prod": "multiply",
}  # fmt: skip


class Pull(NamedTuple):
    """A copy of ``nbytes`` bytes from byte ``origin`` of a member's ``source`` to byte ``to`` of this PE's ``dest``."""

    to: int
    member: int
    origin: int
    nbytes: int


def move_by_device(call: CollectiveCall) -> None:
    """Copy or reduce this PE's share of the data of a call that all members have entered; return on completion."""
    engine, requests = job.current().engine, asked(call.handle)
    try:
        run = {Combines.NOTHING: _copy, Combines.SCAN: _scan, Combines.REDUCTION: _reduce}[_traits(call).combines]
        run(call, requests, engine)
    finally:
        engine.quiet()


def _traits(call: CollectiveCall) -> Collective:
    return _TRAITS[call.routine]


def _dtype(call: CollectiveCall) -> str:
    return TYPE_NAMES[call.dtype]


def _address(offset: int, pe: int) -> int:
    """Return the address of this PE's mapping of a published offset on PE ``pe``, in its heap or static objects."""
    return job.current().heap.peers[pe] + offset if offset < _HEAP else int(_core.static_at(offset, pe))


def _copy(call: CollectiveCall, requests: list[Asked], engine: CopyEngine) -> None:
    pes = call.pes
    copies = []
    for to, member, origin, nbytes in _pulls(call, requests):
        source, dest = _address(requests[member].source, pes[member]) + origin, call.dest + to
        if nbytes and source != dest:
            copies.append((dest, source, nbytes))
    engine.copy_all(copies)


def _pulls(call: CollectiveCall, requests: list[Asked]) -> Iterator[Pull]:
    traits, me = _traits(call), call.me
    if traits.root is Root.RECEIVES and me != call.root:
        return
    members = [call.root] if traits.root is Root.SENDS else range(len(requests))
    pulls_from = _pulls_of_counts if traits.counted else _pulls_of_own_counts if traits.own_counts else _pulls_of_blocks
    for member in members:
        yield from pulls_from(call, requests, member, me)


def _pulls_of_blocks(call: CollectiveCall, _requests: list[Asked], member: int, me: int) -> Iterator[Pull]:
    item, traits = call.item, _traits(call)
    to, origin = (first * call.count * item for first in (traits.dest_blocks * member, traits.source_blocks * me))
    if not traits.strided:
        yield Pull(to, member, origin, call.count * item)
        return
    for i in range(call.count):
        yield Pull((to + i * item) * call.dst, member, (origin + i * item) * call.sst, item)


def _pulls_of_own_counts(call: CollectiveCall, requests: list[Asked], member: int, _me: int) -> Iterator[Pull]:
    counts = [request.extra * call.item for request in requests]
    yield Pull(sum(counts[:member]), member, 0, counts[member])


def _pulls_of_counts(call: CollectiveCall, requests: list[Asked], member: int, me: int) -> Iterator[Pull]:
    item, traits = call.item, _traits(call)
    if not traits.dest_blocks:
        yield Pull(0, member, call.source_places[me] * item, call.source_counts[me] * item)
        return
    numbers = np.frombuffer(requests[member].numbers, "u8")
    displ = int(numbers[2 * len(requests) + me]) if traits.source_blocks else 0
    yield Pull(call.dest_places[member] * item, member, displ * item, call.dest_counts[member] * item)


def _operation(call: CollectiveCall, module: Any) -> Callable[..., Any]:
    operation: Callable[..., Any] = getattr(module, _OPERATIONS[_traits(call).name.split("_")[0]])
    return operation


def _storage(call: CollectiveCall) -> str:
    """Return the name of the numpy dtype that stores the elements of a call."""
    return OPAQUE.get(_dtype(call), _dtype(call))


def _seen_as(array: Any, dtype: str) -> Any:
    """Return a view of a whole numpy or dpnp array with its bytes as elements of ``dtype``, 1-D for dpnp."""
    if isinstance(array, np.ndarray):
        return array.view(dtype)
    count, memory = array.nbytes // np.dtype(dtype).itemsize, arrays.usm_array(array).usm_data
    return dpnp.asarray(arrays.tensor.usm_ndarray((count,), dtype=dtype, buffer=memory))


def _numbers(call: CollectiveCall, stored: Any) -> Any:
    """Return the elements ``stored`` in the dtype for combining: float16 and bfloat16 as float32, others unchanged."""
    if _dtype(call) != "bfloat16":
        return stored.astype("float32") if _dtype(call) in HALVES else stored
    return _seen_as(_seen_as(stored, "uint16").astype("uint32") << 16, "float32")


def _rounded(call: CollectiveCall, module: Any, numbers: Any) -> Any:
    """Return results of `_numbers` as stored elements of the call's dtype; ``module`` is numpy or dpnp."""
    if _dtype(call) != "bfloat16":
        return numbers.astype(_storage(call), copy=False)
    bits = _seen_as(numbers, "uint32")
    nearest = bits + ((bits >> 16 & 1) + 0x7FFF)
    return (module.where(module.isnan(numbers), bits | 1 << 22, nearest) >> 16).astype("uint16")


def _share(call: CollectiveCall) -> tuple[int, int]:
    """Return the half-open range of elements that this PE reduces."""
    unit, size, me = max(_UNIT // call.item, 1), len(call.pes), call.me
    share = -(-call.count // (size * unit)) * unit
    first = min(me * share, call.count)
    return first, min(first + share, call.count)


def _addresses(call: CollectiveCall, offsets: list[int], first: int) -> list[int]:
    """Return the address of element ``first`` of an array of each member, from the offsets that they published."""
    return [_address(offset, pe) + first * call.item for offset, pe in zip(offsets, call.pes)]


def _reduce(call: CollectiveCall, requests: list[Asked], engine: CopyEngine) -> None:
    """Reduce this PE's share of the elements and copy the result to ``dest`` of all members."""
    first, last = _share(call)
    if first == last:
        return
    sources = _addresses(call, [request.source for request in requests], first)
    dests = _addresses(call, [request.dest for request in requests], first)
    in_heap = all(offset < _HEAP for request in requests for offset in (request.dest, request.source))
    reached = in_heap and not job.current().heap.far
    by_kernel = reached and requests[0].algorithm == Algorithm.BY_KERNEL
    combine = _combine_on_device if by_kernel else _combine_on_host
    total, address = combine(call, sources, last - first, engine)
    engine.copy_all([(dest, address, (last - first) * call.item) for dest in dests])
    engine.quiet()
    del total  # alive until the copies have completed


def _combine_on_device(call: CollectiveCall, sources: list[int], count: int, engine: CopyEngine) -> tuple[Any, int]:
    parts = [_device_array(address, count, _storage(call)) for address in sources]
    combine, total = _operation(call, dpnp), _numbers(call, dpnp.array(parts[0]))
    for part in parts[1:]:
        total = combine(total, _numbers(call, part))
    total = _rounded(call, dpnp, total)
    total.sycl_queue.wait()  # the library's queue: the program's queue may have operations that wait for this call
    return total, int(total.get_array()._pointer)


def _device_array(address: int, count: int, dtype: str) -> Any:
    heap = job.current().heap
    memory = UsmRange(address, count * np.dtype(dtype).itemsize, heap.own_queue, heap).memory()
    return dpnp.asarray(arrays.tensor.usm_ndarray((count,), dtype=dtype, buffer=memory))


def _combine_on_host(call: CollectiveCall, sources: list[int], count: int, engine: CopyEngine) -> tuple[Any, int]:
    parts = _fetch(sources, count, _storage(call), engine)
    combine, total = _operation(call, np), _numbers(call, parts[0])
    with np.errstate(all="ignore"):
        for part in parts[1:]:
            combine(total, _numbers(call, part), out=total)
        total = _rounded(call, np, total)
    return total, int(total.ctypes.data)


def _fetch(sources: list[int], count: int, dtype: str, engine: CopyEngine) -> Any:
    parts = np.empty((len(sources), count), dtype)
    engine.copy_all([(part.ctypes.data, source, part.nbytes) for part, source in zip(parts, sources)])
    engine.quiet()
    return parts


def _scan(call: CollectiveCall, requests: list[Asked], engine: CopyEngine) -> None:
    """Compute the prefix sums of all members for this PE's share of the elements and copy them to the members."""
    first, last = _share(call)
    if first == last:
        return
    sources = _addresses(call, [request.source for request in requests], first)
    sums = _numbers(call, _fetch(sources, last - first, _storage(call), engine))
    with np.errstate(all="ignore"):
        np.add.accumulate(sums, axis=0, out=sums)
    if _traits(call).name == "sum_exscan":
        sums[1:] = sums[:-1].copy()
        sums[0] = 0
    with np.errstate(all="ignore"):
        sums = _rounded(call, np, sums)
    dests = _addresses(call, [request.dest for request in requests], first)
    engine.copy_all([(dest, row.ctypes.data, row.nbytes) for dest, row in zip(dests, sums)])
    engine.quiet()
