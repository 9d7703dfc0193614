"""Reductions and scans inside kernels: the device forms of ``ishmem.reductions``.

One work-item or one work-group of each PE calls, as in ``ishmem.kernels.collectives``. Small arrays are sent to all
members as payload of the rendezvous, and each member reduces all of them. Of large arrays, each member reduces one part
and puts the result to all members. Elements are combined in the order of the members, so all PEs get the same bits.
"""

from __future__ import annotations

from typing import Any, Callable

from ishmem import reductions
from ishmem.common.type_tables import REDUCTIONS

from .collective_forms import register
from .intrinsics import compiled, device_function, load, rank_in, size_of, zero_of
from .proxy import load_at, store_at
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
    def reduce(sample, call, flow, group):
        """Run the reduction or scan; return 0, or -1 when this PE is not in the team."""

        def impl(sample, call, flow, group):
            status, count = enter(call, flow, group)
            if status > 0:
                members = members_of(call.team)
                small = count * call.itemsize <= max_payload()
                first, end = (0, count) if small else part_of(count, call.itemsize, members)
                rank, width = rank_in(group), size_of(group)
                work(sample, slots_of(call.team, 1) if small else 0, call, first + rank, end, width, members)
                if small:
                    group_sync(group)
                else:
                    leave(group, call.team)
            return min(status, 0)

        return impl

    return reduce


@compiled
def value_of(slots, source, offset, member, members, sample):
    """Return a member's element at a byte offset: from its slot, or from its array where ``slots`` is 0."""
    if slots:
        return load(slot_at(slots, member) + PAYLOAD + offset, sample)
    return load_at(members.start + member * members.stride, source + offset, sample)


def _make_reduction(operator: Callable[[Any, Any], Any]) -> Any:
    combine = compiled(operator)

    @compiled
    def work(sample, slots, call, first, end, width, members):
        dest, source, item = call.dest, call.source, call.itemsize
        start, stride, size, me = members
        low, high = (me, me + 1) if slots else (0, size)
        for i in range(first, end, width):
            total = value_of(slots, source, i * item, 0, members, sample)
            for member in range(1, size):
                total = combine(total, value_of(slots, source, i * item, member, members, sample))
            for member in range(low, high):
                store_at(start + member * stride, dest + i * item, sample, total)

    return _make(work)


def _make_scan(inclusive: bool) -> Any:
    @compiled
    def work(sample, slots, call, first, end, width, members):
        dest, source, item = call.dest, call.source, call.itemsize
        start, stride, size, me = members
        for i in range(first, end, width):
            before = sample
            for member in range(size):
                after = before + value_of(slots, source, i * item, member, members, sample)
                if not slots or member == me:
                    store_at(start + member * stride, dest + i * item, sample, after if inclusive else before)
                before = after

    return _make(work)


for _name, _types in REDUCTIONS.items():
    _operator = _name.split("_")[0]
    _do = _make_reduction(OPERATORS[_operator]) if _name.endswith("_reduce") else _make_scan(_name == "sum_inscan")
    register(_name, reductions, _do, zero_of, _types, (), Flow())
