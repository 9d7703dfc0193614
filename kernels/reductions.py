"""Reductions and scans inside kernels: the device forms of ``ishmem.reductions``.

One work-item or one work-group of each PE calls, as in ``ishmem.kernels.collectives``. Small arrays are sent to all
members as payload of the rendezvous, and each member reduces all of them. Of large arrays, each member reduces one part
and puts the result to all members. In a job without proxies, it loads and stores the elements of all members directly;
otherwise it moves its part in tiles through its rendezvous slots, whose payload is unused in such a call. Elements are
combined in the order of the members, so all PEs get the same bits.
"""

from __future__ import annotations

from typing import Any, Callable

from ishmem import reductions
from ishmem.common.type_tables import REDUCTIONS

from . import binding
from .collective_forms import register
from .copy import copy_bytes
from .intrinsics import compiled, device_function, load, rank_in, size_of, store, zero_of
from .peers import peer_delta
from .proxy import GET, PUT, copy_by_proxy, reachable
from .proxy_ring import await_ticket
from .rendezvous import PAYLOAD, Flow, enter, group_sync, leave, max_payload, part_of, slot_at, slots_of
from .teams import members_of

# ``max`` and ``min`` return NaN if either operand is NaN.
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "max": lambda a, b: a if (a >= b) | (a != a) else b,
    "min": lambda a, b: a if (a <= b) | (a != a) else b,
    "sum": lambda a, b: a + b,
    "prod": lambda a, b: a * b,
}


def _make(work: Any) -> Any:
    """Make a reduction or scan from ``work``, which combines elements of rendezvous slots or of the members' arrays.

    ``work(sample, slots, whole, dest, source, item, first, end, step, members)`` combines each ``step``-th element of
    ``item`` bytes. The elements are in ``slots``, or in the arrays ``source`` where that is 0. This PE gets its result;
    with ``whole``, each member gets its own, in its slot where there are proxies.
    """

    @device_function
    def large(sample, call, count, members, group):
        """Combine this PE's part of large arrays, and give the results to all members."""

        def in_reach(sample, call, count, members, group):
            first, end = part_of(count, call.itemsize, members)
            rank, width = rank_in(group), size_of(group)
            work(sample, 0, 1, call.dest, call.source, call.itemsize, first + rank, end, width, members)

        def by_tiles(sample, call, count, members, group):
            item, slots, rank, width = call.itemsize, slots_of(call.team, 1), rank_in(group), size_of(group)
            first, end = part_of(count, item, members)
            most = max_payload() // item
            for low in range(first, end, most):
                n = min(most, end - low)
                move_tile(GET, members, slots, call.source + low * item, n * item, rank, width)
                group_sync(group)
                work(sample, slots, 1, 0, 0, item, rank, n, width, members)
                group_sync(group)
                move_tile(PUT, members, slots, call.dest + low * item, n * item, rank, width)

        return by_tiles if binding.options().proxied else in_reach

    @device_function
    def reduce(sample, call, flow, group):
        """Run the reduction or scan; return 0, or -1 when this PE is not in the team."""

        def impl(sample, call, flow, group):
            status, count = enter(call, flow, group)
            if status > 0:
                members, slots = members_of(call.team), slots_of(call.team, 1)
                if count * call.itemsize <= max_payload():
                    rank, width = rank_in(group), size_of(group)
                    work(sample, slots, 0, call.dest, 0, call.itemsize, rank, count, width, members)
                    group_sync(group)
                else:
                    large(sample, call, count, members, group)
                    leave(group, call.team)
            return min(status, 0)

        return impl

    return reduce


@compiled
def move_tile(kind, members, slots, address, nbytes, rank, width):
    """Get (``GET``) a tile of each member's array into its slot here, or put (``PUT``) the slots to the members.

    Each of ``width`` work-items takes another member, and returns when its tiles have arrived or may be overwritten.
    Unlike `transfer_steps` of ``copy``, it waits once for all requests to the proxy.
    """
    start, stride, size, _me = members
    ticket = -1
    for member in range(rank, size, width):
        pe, slot = start + member * stride, slot_at(slots, member) + PAYLOAD
        if not reachable(pe):
            ticket = copy_by_proxy(kind, pe, address, slot, nbytes)
        elif kind == GET:
            copy_bytes(slot, address + peer_delta(pe), nbytes, 0, 1)
        else:
            copy_bytes(address + peer_delta(pe), slot, nbytes, 0, 1)
    if ticket >= 0:
        await_ticket(ticket)


@device_function
def value_of(slots, source, offset, member, members, sample):
    """Return a member's element at a byte offset: from its slot, or from its array where ``slots`` is 0."""

    def from_slot(slots, source, offset, member, members, sample):
        return load(slot_at(slots, member) + PAYLOAD + offset, sample)

    def from_either(slots, source, offset, member, members, sample):
        if slots:
            return load(slot_at(slots, member) + PAYLOAD + offset, sample)
        return load(source + offset + peer_delta(members.start + member * members.stride), sample)

    return from_slot if binding.options().proxied else from_either


@device_function
def give(slots, whole, dest, offset, member, members, sample, value):
    """Store a member's result: in its slot or its array if ``whole``, otherwise in this PE's array."""

    def to_slot(slots, whole, dest, offset, member, members, sample, value):
        store((slot_at(slots, member) + PAYLOAD if whole else dest) + offset, sample, value)

    def to_array(slots, whole, dest, offset, member, members, sample, value):
        store(dest + offset + peer_delta(members.start + member * members.stride), sample, value)

    return to_slot if binding.options().proxied else to_array


def _make_reduction(operator: Callable[[Any, Any], Any]) -> Any:
    combine = compiled(operator)

    @compiled
    def work(sample, slots, whole, dest, source, item, first, end, step, members):
        size, me = members.size, members.me
        low, high = (0, size) if whole else (me, me + 1)
        for i in range(first, end, step):
            total = value_of(slots, source, i * item, 0, members, sample)
            for member in range(1, size):
                total = combine(total, value_of(slots, source, i * item, member, members, sample))
            for member in range(low, high):
                give(slots, whole, dest, i * item, member, members, sample, total)

    return _make(work)


def _make_scan(inclusive: bool) -> Any:
    @compiled
    def work(sample, slots, whole, dest, source, item, first, end, step, members):
        for i in range(first, end, step):
            before = sample
            for member in range(members.size):
                after = before + value_of(slots, source, i * item, member, members, sample)
                if whole or member == members.me:
                    give(slots, whole, dest, i * item, member, members, sample, after if inclusive else before)
                before = after

    return _make(work)


for _name, _types in REDUCTIONS.items():
    _operator = _name.split("_")[0]
    _do = _make_reduction(OPERATORS[_operator]) if _name.endswith("_reduce") else _make_scan(_name == "sum_inscan")
    register(_name, reductions, _do, zero_of, _types, (), Flow())
