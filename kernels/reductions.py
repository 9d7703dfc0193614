"""Reductions and scans inside kernels: the device forms of ``ishmem.reductions``.

Elements and results of members that kernels do not reach, such as those of other nodes, are copied by the proxy. They
pass through the members' rendezvous slots on this PE, which a call with large arrays uses for nothing else.

One work-item or one work-group of each PE calls, as in ``ishmem.kernels.collectives``. Small arrays are sent to all
members as payload of the rendezvous, and each member reduces all of them. Of large arrays, each member reduces one part
and puts the result to all members. Elements are combined in the order of the members, so all PEs get the same bits.
"""

from __future__ import annotations

from typing import Any, Callable

from ishmem import reductions
from ishmem.common.type_tables import REDUCTIONS

from . import binding
from .collective_forms import register
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
    """Make a reduction or scan from ``work``, which combines elements of rendezvous slots or of the members' arrays."""

    @device_function
    def large(sample, call, count, group):
        """Work on this PE's part of large arrays."""

        def direct(sample, call, count, group):
            members = members_of(call.team)
            first, end = part_of(count, call.itemsize, members)
            work(sample, 0, call, first + rank_in(group), end, size_of(group), members, 0)

        def staged(sample, call, count, group):
            members, item = members_of(call.team), call.itemsize
            slots, step = slots_of(call.team, 1), max_payload() // item
            first, last = part_of(count, item, members)
            for at in range(first, last, step):
                end = min(at + step, last)
                stage(GET, slots, call.source + at * item, (end - at) * item, members, group)
                work(sample, slots - at * item, call, at + rank_in(group), end, size_of(group), members, 0)
                stage(PUT, slots, call.dest + at * item, (end - at) * item, members, group)

        return staged if binding.options().proxied else direct

    @device_function
    def reduce(sample, call, flow, group):
        """Run the reduction or scan; return 0, or -1 when this PE is not in the team."""

        def impl(sample, call, flow, group):
            status, count = enter(call, flow, group)
            if status > 0 and count * call.itemsize <= max_payload():
                slots = slots_of(call.team, 1)
                work(sample, slots, call, rank_in(group), count, size_of(group), members_of(call.team), 1)
                group_sync(group)
            elif status > 0:
                large(sample, call, count, group)
                leave(group, call.team)
            return min(status, 0)

        return impl

    return reduce


@compiled
def stage(kind, slots, address, nbytes, members, group):
    """Let the proxy copy ``nbytes`` bytes of each unreachable member's array into its slot (GET) or back (PUT).

    The proxy serves requests in order, so a PUT has read a slot before the next GET writes it.
    """
    group_sync(group)
    if rank_in(group) == 0:
        ticket = -1
        for member in range(members.size):
            pe = members.start + member * members.stride
            if not reachable(pe):
                ticket = copy_by_proxy(kind, pe, address, slot_at(slots, member) + PAYLOAD, nbytes)
        if ticket >= 0 and kind == GET:
            await_ticket(ticket)
    group_sync(group)


@compiled
def value_of(slots, source, offset, member, members, sample, small):
    """Return a member's element at a byte offset: from its slot if ``small`` or unreachable, else from its array."""
    pe = members.start + member * members.stride
    if small or not reachable(pe):
        return load(slot_at(slots, member) + PAYLOAD + offset, sample)
    return load(source + offset + peer_delta(pe), sample)


@compiled
def store_result(slots, dest, offset, member, members, sample, value):
    """Store an element of a member's result: in its array, or in its slot if the member is unreachable."""
    pe = members.start + member * members.stride
    if reachable(pe):
        store(dest + offset + peer_delta(pe), sample, value)
    else:
        store(slot_at(slots, member) + PAYLOAD + offset, sample, value)


def _make_reduction(operator: Callable[[Any, Any], Any]) -> Any:
    combine = compiled(operator)

    @compiled
    def work(sample, slots, call, first, end, width, members, small):
        dest, source, item = call.dest, call.source, call.itemsize
        size, me = members.size, members.me
        low, high = (me, me + 1) if small else (0, size)
        for i in range(first, end, width):
            total = value_of(slots, source, i * item, 0, members, sample, small)
            for member in range(1, size):
                total = combine(total, value_of(slots, source, i * item, member, members, sample, small))
            for member in range(low, high):
                store_result(slots, dest, i * item, member, members, sample, total)

    return _make(work)


def _make_scan(inclusive: bool) -> Any:
    @compiled
    def work(sample, slots, call, first, end, width, members, small):
        dest, source, item = call.dest, call.source, call.itemsize
        size, me = members.size, members.me
        for i in range(first, end, width):
            before = sample
            for member in range(size):
                after = before + value_of(slots, source, i * item, member, members, sample, small)
                if not small or member == me:
                    store_result(slots, dest, i * item, member, members, sample, after if inclusive else before)
                before = after

    return _make(work)


for _name, _types in REDUCTIONS.items():
    _operator = _name.split("_")[0]
    _do = _make_reduction(OPERATORS[_operator]) if _name.endswith("_reduce") else _make_scan(_name == "sum_inscan")
    register(_name, reductions, _do, zero_of, _types, (), Flow())
