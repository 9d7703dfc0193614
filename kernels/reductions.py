"""Reductions and scans inside kernels: the device forms of ``ishmem.reductions``.

Called as those of ``ishmem.kernels.collectives``. Small arrays go with the rendezvous to all members, each of which
combines them. Of large ones each member combines a part, and writes the results to all. Elements are always combined
in the order of the members, so that all have the same bits.
"""

from __future__ import annotations

from typing import Any, Callable

from ishmem import reductions
from ishmem.common.layout import RENDEZVOUS_SLOT
from ishmem.common.type_tables import REDUCTIONS

from .collective_forms import register
from .intrinsics import compiled, device_function, load, rank_in, size_of, zero_of
from .proxy import load_at, store_at
from .rendezvous import PAYLOAD, ROOM, Flow, enter, leave, part_of, rally
from .teams import team_facts

# ``max`` and ``min`` are NaN where either operand is.
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
    """Make a reduction or scan of the function that combines elements of what lies in slots, or in arrays."""

    @device_function
    def reduce(sample, word, arrays, nelems, steps, flow, group, team):
        """Do the call."""

        def impl(sample, word, arrays, nelems, steps, flow, group, team):
            slots, count = enter(word, arrays, nelems, steps, flow, group, team)
            if slots > 0:
                facts = team_facts(team)
                small = count * arrays[4] <= ROOM
                first, end = (0, count) if small else part_of(count, arrays[4], facts)
                rank, width = rank_in(group), size_of(group)
                work(sample, slots if small else 0, arrays, first + rank, end, width, facts)
                if small:
                    rally(group)
                else:
                    leave(group, team)
            return min(slots, 0)

        return impl

    return reduce


@compiled
def value_of(slots, source, place, member, facts, sample):
    """Return what a member has at a place: in its slot, or where there are no slots, in its array."""
    if slots:
        return load(slots + member * RENDEZVOUS_SLOT + PAYLOAD + place, sample)
    return load_at(facts[0] + member * facts[1], source + place, sample)


def _make_reduction(operator: Callable[[Any, Any], Any]) -> Any:
    combine = compiled(operator)

    @compiled
    def work(sample, slots, arrays, first, end, width, facts):
        dest, _to_size, source, _origin_size, item = arrays
        start, stride, size, me = facts
        low, high = (me, me + 1) if slots else (0, size)
        for i in range(first, end, width):
            total = value_of(slots, source, i * item, 0, facts, sample)
            for member in range(1, size):
                total = combine(total, value_of(slots, source, i * item, member, facts, sample))
            for member in range(low, high):
                store_at(start + member * stride, dest + i * item, sample, total)

    return _make(work)


def _make_scan(inclusive: bool) -> Any:
    @compiled
    def work(sample, slots, arrays, first, end, width, facts):
        dest, _to_size, source, _origin_size, item = arrays
        start, stride, size, me = facts
        for i in range(first, end, width):
            before = sample
            for member in range(size):
                after = before + value_of(slots, source, i * item, member, facts, sample)
                if not slots or member == me:
                    store_at(start + member * stride, dest + i * item, sample, after if inclusive else before)
                before = after

    return _make(work)


for _name, _types in REDUCTIONS.items():
    _word = _name.split("_")[0]
    _do = _make_reduction(OPERATORS[_word]) if _name.endswith("_reduce") else _make_scan(_name == "sum_inscan")
    register(_name, reductions, _do, zero_of, _types, (), Flow())
