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
from ishmem.runtime import binding

from .collective_forms import register
from .copy import copy_bytes
from .intrinsics import compiled, device_function, rank_in, size_of, zero_of
from .levels import make_reduction
from .nodes import spans_nodes
from .peers import peer_delta
from .proxy import GET, PUT, copy_by_proxy, reachable
from .proxy_ring import await_ticket
from .rendezvous import ALIGN, end_phase, enter, group_sync, part_of
from .shares import work_item_share
from .slots import PAYLOAD, max_payload, slot_bytes, slots_of
from .spec_constants import tile_bytes, tiles
from .teams import members_of
from .units import BLOCK, ELEMENT, UNIT, bytes_of, elementwise, load_units, nothing, store_units

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
    """Make the reduction of this PE's part of large arrays, with its results for all members; see `_make`."""

    @compiled
    def in_reach(sample, call, nbytes, members, group):
        """Reduce this PE's part of large arrays by direct loads and stores."""
        first, end = part_of(nbytes, members.size, members.me)
        rank, width = rank_in(group), size_of(group)
        work(sample, 0, 0, 1, call.dest + first, call.source + first, end - first, rank, width, members)

    @compiled
    def by_tiles(sample, call, nbytes, members, group):
        """Reduce this PE's part of large arrays in tiles, which the proxy moves where needed."""
        first, end = part_of(nbytes, members.size, members.me)
        tile, apart, room = tiles_of(call.team, members.size)
        rank, width = rank_in(group), size_of(group)
        for low in range(first, end, room):
            n = min(room, end - low)
            move_tiles(GET, members, tile, apart, call.source + low, n, rank, width)
            group_sync(group)
            work(sample, tile, apart, 1, 0, 0, n, rank, width, members)
            group_sync(group)
            move_tiles(PUT, members, tile, apart, call.dest + low, n, rank, width)

    @device_function
    def large(sample, call, nbytes, members, group):
        """Reduce this PE's part of large arrays, and put the results to all members."""
        between_nodes = by_nodes or by_tiles

        def either(sample, call, nbytes, members, group):
            if spans_nodes(call.team):
                between_nodes(sample, call, nbytes, members, group)
            else:
                in_reach(sample, call, nbytes, members, group)

        if binding.options().levels:
            return either
        flat = by_tiles if binding.options().proxied else in_reach
        return lambda sample, call, nbytes, members, group: flat(sample, call, nbytes, members, group)

    return large


def _make(work: Any, by_nodes: Any = None) -> Any:
    """Make a reduction or scan from ``work``, which combines elements of tiles or of the members' arrays.

    ``work(sample, tiles, apart, whole, dest, source, nbytes, rank, width, members)`` combines the share of work-item
    ``rank`` of ``width`` in ``nbytes`` bytes of elements like ``sample``. The elements are in the members' tiles,
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
                members, tile, nbytes = members_of(call.team), slots_of(call.team, 1) + PAYLOAD, count * call.itemsize
                if nbytes <= max_payload():
                    rank, width = rank_in(group), size_of(group)
                    work(sample, tile, slot_bytes(), 0, call.dest, 0, nbytes, rank, width, members)
                    group_sync(group)
                else:
                    large(sample, call, nbytes, members, group)
                    end_phase(group, call.team)
            return min(status, 0)

        return impl

    return reduce


@compiled
def tiles_of(team, size):
    """Return the address of the first of ``size`` tiles of a team, the bytes between their starts, and their capacity.

    They are those of ``ishmem.common.layout``, or the data of the rendezvous slots, unused in this call, if these are
    larger.
    """
    apart = tile_bytes() // size // ALIGN * ALIGN
    if apart > max_payload():
        return tiles() + tile_bytes() * team, apart, apart
    return slots_of(team, 1) + PAYLOAD, slot_bytes(), max_payload()


@compiled
def move_tiles(kind, members, tile, apart, address, nbytes, rank, width):
    """Get (``GET``) a tile of each member's array, or put (``PUT``) the tiles to the members.

    The members are divided among ``width`` work-items; each returns when its tiles have arrived or may be overwritten.
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
def source_of(tiles, apart, source, member, members):
    """Return the address of a member's elements: of its tile, or of its array where ``tiles`` is 0."""

    def tile_of(tiles, apart, source, member, members):
        return tiles + member * apart

    def either(tiles, apart, source, member, members):
        if tiles:
            return tiles + member * apart
        return source + peer_delta(members.start + member * members.stride)

    return tile_of if binding.options().routed else either


@device_function
def dest_of(tiles, apart, whole, dest, member, members):
    """Return the address of a member's result: of its tile or its array if ``whole``, otherwise of this PE's array."""

    def either(tiles, apart, whole, dest, member, members):
        if whole and tiles:
            return tiles + member * apart
        return dest + peer_delta(members.start + member * members.stride)

    def array_of(tiles, apart, whole, dest, member, members):
        return dest + peer_delta(members.start + member * members.stride)

    return either if binding.options().proxied else array_of


def _make_work(combine_at: Any) -> Any:
    """Make ``work`` (see `_make`) from what combines the members' elements at one place.

    ``combine_at(like, at, step, tiles, apart, whole, dest, source, members)`` combines as many elements as ``like``
    has, ``at`` bytes from the begin, in units that are ``step`` bytes apart.
    """

    @compiled
    def work(sample, tiles, apart, whole, dest, source, nbytes, rank, width, members):
        unit, item, done = bytes_of(nothing(sample, UNIT)), bytes_of(nothing(sample, ELEMENT)), 0
        if unit == item or not (tiles | apart | dest | source) & (unit - 1):
            done = nbytes & -unit
            first, step, end = work_item_share(done // unit, rank, width)
            at, step, end = first * unit, step * unit, end * unit
            while at + (BLOCK - 1) * step < end:
                combine_at(nothing(sample, BLOCK), at, step, tiles, apart, whole, dest, source, members)
                at += BLOCK * step
            while at < end:
                combine_at(nothing(sample, UNIT), at, 0, tiles, apart, whole, dest, source, members)
                at += step
        if done < nbytes:
            first, step, end = work_item_share((nbytes - done) // item, rank, width)
            while first < end:
                combine_at(nothing(sample, ELEMENT), done + first * item, 0, tiles, apart, whole, dest, source, members)
                first += step

    return work


def _make_reduction(operator: Callable[[Any, Any], Any]) -> Any:
    combine = compiled(operator)
    combine_all = elementwise(combine)

    @compiled
    def combine_at(like, at, step, tiles, apart, whole, dest, source, members):
        total = load_units(source_of(tiles, apart, source, 0, members) + at, step, like)
        for member in range(1, members.size):
            there = source_of(tiles, apart, source, member, members) + at
            total = combine_all(total, load_units(there, step, like))
        low, high = (0, members.size) if whole else (members.me, members.me + 1)
        for member in range(low, high):
            store_units(dest_of(tiles, apart, whole, dest, member, members) + at, step, total)

    return _make(_make_work(combine_at), make_reduction(combine))


def _make_scan(inclusive: bool) -> Any:
    add = elementwise(compiled(OPERATORS["sum"]))

    @compiled
    def add_at(like, at, step, tiles, apart, whole, dest, source, members):
        before = like
        for member in range(members.size):
            after = add(before, load_units(source_of(tiles, apart, source, member, members) + at, step, like))
            if whole or member == members.me:
                there = dest_of(tiles, apart, whole, dest, member, members) + at
                store_units(there, step, after if inclusive else before)
            before = after

    return _make(_make_work(add_at))


for _name in REDUCTIONS:
    _operator = _name.split("_")[0]
    _do = _make_reduction(OPERATORS[_operator]) if _name.endswith("_reduce") else _make_scan(_name == "sum_inscan")
    register(_name, reductions, _do, zero_of)
