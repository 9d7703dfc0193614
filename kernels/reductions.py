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
from .levels import make_reduction
from .nodes import spans_nodes
from .peers import peer_delta
from .proxy import GET, PUT, copy_by_proxy, reachable
from .proxy_ring import await_ticket
from .rendezvous import ALIGN, Flow, end_phase, enter, group_sync, part_of
from .shares import work_item_share
from .slots import PAYLOAD, max_payload, slot_bytes, slots_of
from .spec_constants import tile_bytes, tiles
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


def _make_large(work: Any, by_nodes: Any) -> Any:
    """Make what combines this PE's part of large arrays, and gives the results to all members; see `_make`."""

    @compiled
    def in_reach(sample, call, count, members, group):
        """Combine this PE's part of large arrays by direct loads and stores."""
        first, end = part_of(count, call.itemsize, members.size, members.me)
        at, rank, width = first * call.itemsize, rank_in(group), size_of(group)
        work(sample, 0, 0, 1, call.dest + at, call.source + at, call.itemsize, end - first, rank, width, members)

    @compiled
    def by_tiles(sample, call, count, members, group):
        """Combine this PE's part of large arrays in tiles, which the proxy moves where needed."""
        item, rank, width = call.itemsize, rank_in(group), size_of(group)
        first, end = part_of(count, item, members.size, members.me)
        tile, apart, room = tiles_of(call.team, members.size)
        for low in range(first, end, room // item):
            n = min(room // item, end - low)
            move_tiles(GET, members, tile, apart, call.source + low * item, n * item, rank, width)
            group_sync(group)
            work(sample, tile, apart, 1, 0, 0, item, n, rank, width, members)
            group_sync(group)
            move_tiles(PUT, members, tile, apart, call.dest + low * item, n * item, rank, width)

    @device_function
    def large(sample, call, count, members, group):
        """Combine this PE's part of large arrays, and give the results to all members."""
        between_nodes = by_nodes or by_tiles

        def either(sample, call, count, members, group):
            if spans_nodes(call.team):
                between_nodes(sample, call, count, members, group)
            else:
                in_reach(sample, call, count, members, group)

        if binding.options().levels:
            return either
        flat = by_tiles if binding.options().proxied else in_reach
        return lambda sample, call, count, members, group: flat(sample, call, count, members, group)

    return large


def _make(work: Any, by_nodes: Any = None) -> Any:
    """Make a reduction or scan from ``work``, which combines elements of tiles or of the members' arrays.

    ``work(sample, tiles, apart, whole, dest, source, item, count, rank, width, members)`` combines the share of
    work-item ``rank`` of ``width`` in ``count`` elements of ``item`` bytes. The elements are in the members' tiles,
    which are ``apart`` bytes apart, or in the arrays ``source`` where ``tiles`` is 0. This PE gets its result; with
    ``whole``, each member gets its own, in its tile or its array. ``by_nodes``, if given, reduces the large arrays of
    teams that span nodes (``kernels.levels``).
    """
    large = _make_large(work, by_nodes)

    @device_function
    def reduce(sample, call, flow, group):
        """Run the reduction or scan; return 0, or -1 when this PE is not in the team."""

        def impl(sample, call, flow, group):
            status, count = enter(call, flow, group)
            if status > 0:
                members, tile, item = members_of(call.team), slots_of(call.team, 1) + PAYLOAD, call.itemsize
                if count * item <= max_payload():
                    rank, width = rank_in(group), size_of(group)
                    work(sample, tile, slot_bytes(), 0, call.dest, 0, item, count, rank, width, members)
                    group_sync(group)
                else:
                    large(sample, call, count, members, group)
                    end_phase(group, call.team)
            return min(status, 0)

        return impl

    return reduce


@compiled
def tiles_of(team, size):
    """Return the address of the first of ``size`` tiles of a team, the bytes from one to the next, and their room.

    They are those of ``ishmem.common.layout``, or the data of the rendezvous slots, unused in this call, if these have
    more room.
    """
    apart = tile_bytes() // size // ALIGN * ALIGN
    if apart > max_payload():
        return tiles() + tile_bytes() * team, apart, apart
    return slots_of(team, 1) + PAYLOAD, slot_bytes(), max_payload()


@compiled
def move_tiles(kind, members, tile, apart, address, nbytes, rank, width):
    """Get (``GET``) a tile of each member's array, or put (``PUT``) the tiles to the members.

    Each of ``width`` work-items takes another member, and returns when its tiles have arrived or may be overwritten.
    """
    start, stride, size, _me = members
    ticket = -1
    for member in range(rank, size, width):
        pe, here = start + member * stride, tile + member * apart
        if not reachable(pe):
            ticket = copy_by_proxy(kind, pe, address, here, nbytes)
        elif kind == GET:
            copy_bytes(here, address + peer_delta(pe), nbytes, 0, 1)
        else:
            copy_bytes(address + peer_delta(pe), here, nbytes, 0, 1)
    if ticket >= 0:
        await_ticket(ticket)


@device_function
def value_of(tiles, apart, source, offset, member, members, sample):
    """Return a member's element at a byte offset: from its tile, or from its array where ``tiles`` is 0."""

    def from_tile(tiles, apart, source, offset, member, members, sample):
        return load(tiles + member * apart + offset, sample)

    def from_either(tiles, apart, source, offset, member, members, sample):
        if tiles:
            return load(tiles + member * apart + offset, sample)
        return load(source + offset + peer_delta(members.start + member * members.stride), sample)

    return from_tile if binding.options().routed else from_either


@device_function
def give(tiles, apart, whole, dest, offset, member, members, sample, value):
    """Store a member's result: in its tile or its array if ``whole``, otherwise in this PE's array."""

    def to_either(tiles, apart, whole, dest, offset, member, members, sample, value):
        if whole and tiles:
            store(tiles + member * apart + offset, sample, value)
        else:
            store(dest + offset + peer_delta(members.start + member * members.stride), sample, value)

    def to_array(tiles, apart, whole, dest, offset, member, members, sample, value):
        store(dest + offset + peer_delta(members.start + member * members.stride), sample, value)

    return to_either if binding.options().proxied else to_array


def _make_reduction(operator: Callable[[Any, Any], Any]) -> Any:
    combine = compiled(operator)

    @compiled
    def work(sample, tiles, apart, whole, dest, source, item, count, rank, width, members):
        size, me = members.size, members.me
        first, step, end = work_item_share(count, rank, width)
        low, high = (0, size) if whole else (me, me + 1)
        for i in range(first, end, step):
            total = value_of(tiles, apart, source, i * item, 0, members, sample)
            for member in range(1, size):
                total = combine(total, value_of(tiles, apart, source, i * item, member, members, sample))
            for member in range(low, high):
                give(tiles, apart, whole, dest, i * item, member, members, sample, total)

    return _make(work, make_reduction(combine))


def _make_scan(inclusive: bool) -> Any:
    @compiled
    def work(sample, tiles, apart, whole, dest, source, item, count, rank, width, members):
        first, step, end = work_item_share(count, rank, width)
        for i in range(first, end, step):
            before = sample
            for member in range(members.size):
                after = before + value_of(tiles, apart, source, i * item, member, members, sample)
                if whole or member == members.me:
                    give(tiles, apart, whole, dest, i * item, member, members, sample, after if inclusive else before)
                before = after

    return _make(work)


for _name, _types in REDUCTIONS.items():
    _operator = _name.split("_")[0]
    _do = _make_reduction(OPERATORS[_operator]) if _name.endswith("_reduce") else _make_scan(_name == "sum_inscan")
    register(_name, reductions, _do, zero_of, _types, (), Flow())
