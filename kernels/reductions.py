"""Reductions and scans inside kernels: the device forms of ``ishmem.reductions``.

One work-item or one work-group of each PE calls, as in ``ishmem.kernels.collectives``. Small arrays are sent to all
members as payload of the rendezvous, and each member combines all of them. In a reduction of a team that spans nodes,
these combine them on the way (``ishmem.kernels.small_reductions``). Of large arrays, each member combines one part and
puts the result to all members, in one of three ways: directly, by tiles, or in two levels
(``ishmem.kernels.two_level_collectives``). Elements are combined in one order, so all PEs get the same bits. Floats of
16 bits are combined in float32 and rounded once: in teams that span nodes all blocks go to the PE that combines them,
as in scans.
"""

from __future__ import annotations

from typing import Any, Callable, NamedTuple

from ishmem import reductions
from ishmem.common.type_tables import REDUCTIONS

from .barrier import await_line, next_number
from .collective_forms import register
from .copy import copy_bytes
from .element_units import BLOCK, ELEMENT, UNIT, bytes_of, elementwise, is_half, load_units, nothing, store_units, zeros
from .intrinsics import compiled, device_function, opaque, rank_in, zero_of
from .long_waits import note_begun
from .nodes import after, spans_nodes
from .options import CHECK, COPIES_BY_PROXY, LEVELS, PROXIED, ROUTED
from .peers import peer_delta
from .proxy import GET, PUT, copy_by_proxy, reachable, store_flag
from .proxy_ring import await_ticket
from .regions import on_peer
from .rendezvous import ALIGN, Call, count_of, end_phase, enter, fetch_from_leader, group_sync, part_of
from .rendezvous_slots import block_step, blocks_at, header_at, max_payload, slots_of, slots_of_number
from .small_reductions import make_small_reduction
from .spec_constants import tile_bytes, tiles
from .teams import is_team, members_of, pe_of
from .two_level_collectives import make_reduction
from .work_division import work_item_share, workers_of

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


class Blocks(NamedTuple):
    """One block of each of some members of a team.

    Attributes:
        at: Address of the block of member 0.
        apart: Bytes between the blocks of consecutive members; 0 for arrays of the members.
        on_peers: 1 for arrays of the members: the block of each is at ``at`` on its PE; 0 if all are on this PE.
        first, end: The members.
    """

    at: int
    apart: int
    on_peers: int
    first: int
    end: int


@compiled
def arrays(address, members):
    """Return the arrays of all members at an address of this PE."""
    return Blocks(address, 0, 1, 0, members.size)


@compiled
def own_array(address, members):
    """Return the array of this PE only."""
    return Blocks(address, 0, 1, members.me, members.me + 1)


@compiled
def tiles_at(address, apart, members):
    """Return the tiles of all members in the memory of this PE."""
    return Blocks(address, apart, 0, 0, members.size)


@compiled
def block_of(blocks, member, members):
    """Return the address of a member's block."""
    if not ROUTED and blocks.on_peers:
        return on_peer(blocks.at, pe_of(members, member))
    return blocks.at + member * blocks.apart


@compiled
def result_of(blocks, member, members):
    """Return the address of a member's result: a block, in an array unless there is a proxy."""
    if PROXIED:
        return block_of(blocks, member, members)
    return on_peer(blocks.at, pe_of(members, member))


# ---- the elements of one place after the other


def _make_reduce_blocks(combine_at: Any) -> Any:
    """Make the function that combines blocks, from the one that combines the elements at one place of them.

    ``combine_at(like, at, step, sources, dests, members)`` combines as many elements as ``like`` has, ``at`` bytes from
    the begin of each block, in units that are ``step`` bytes apart.
    """

    @compiled
    def reduce_blocks(sample, sources, dests, nbytes, workers, members):
        """Combine ``nbytes`` bytes of ``sources`` into ``dests``: the share of one of the workers."""
        unit, item, done = bytes_of(nothing(sample, UNIT)), bytes_of(nothing(sample, ELEMENT)), 0
        if unit == item or not (sources.at | sources.apart | dests.at | dests.apart) & (unit - 1):
            done = nbytes & -unit
            first, step, end = work_item_share(done // unit, workers.rank, workers.width)
            at, step, end = first * unit, step * unit, end * unit
            while at + (BLOCK - 1) * step < end:
                combine_at(nothing(sample, BLOCK), at, step, sources, dests, members)
                at += BLOCK * step
            while at < end:
                combine_at(nothing(sample, UNIT), at, 0, sources, dests, members)
                at += step
        if done < nbytes:
            first, step, end = work_item_share((nbytes - done) // item, workers.rank, workers.width)
            while first < end:
                combine_at(nothing(sample, ELEMENT), done + first * item, 0, sources, dests, members)
                first += step

    return reduce_blocks


def _make_reduction_at(combine: Any) -> Any:
    combine_all = elementwise(combine)

    @compiled
    def reduce_at(like, at, step, sources, dests, members):
        total = load_units(block_of(sources, 0, members) + at, step, like)
        for member in range(1, sources.end):
            total = combine_all(total, load_units(block_of(sources, member, members) + at, step, like))
        for member in range(dests.first, dests.end):
            store_units(result_of(dests, member, members) + at, step, like, total)

    return reduce_at


def _make_scan_at(inclusive: bool) -> Any:
    add = elementwise(compiled(OPERATORS["sum"]))

    @compiled
    def scan_at(like, at, step, sources, dests, members):
        before = zeros(like)
        for member in range(sources.end):
            after = add(before, load_units(block_of(sources, member, members) + at, step, like))
            if dests.first <= member and member < dests.end:
                store_units(result_of(dests, member, members) + at, step, like, after if inclusive else before)
            before = after

    return scan_at


# ---- where the members' elements are combined


@compiled
def tiles_of(team, size):
    """Return the address of the first of ``size`` tiles of a team, the bytes between their starts, and their capacity.

    They are those of ``ishmem.common.layout``, or the data of the rendezvous slots, unused in this call, if these are
    larger.
    """
    apart = tile_bytes() // size // ALIGN * ALIGN
    if apart > max_payload():
        return tiles() + tile_bytes() * team, apart, apart
    return blocks_at(team, slots_of(team, 1)), block_step(max_payload()), max_payload()


@compiled
def move_tiles(kind, members, tiles, address, nbytes, workers):
    """Get (``GET``) a tile of each member's array, or put (``PUT``) the tiles to the members.

    The members are divided among the workers; each returns when its tiles have arrived or may be overwritten.
    """
    ticket = -1
    for member in range(workers.rank, members.size, workers.width):
        pe, here = pe_of(members, member), tiles.at + member * tiles.apart
        if not reachable(pe):
            ticket = copy_by_proxy(kind, pe, address, here, nbytes)
        elif kind == GET:
            copy_bytes(here, on_peer(address, pe), nbytes, 0, 1)
        else:
            copy_bytes(on_peer(address, pe), here, nbytes, 0, 1)
    if ticket >= 0:
        await_ticket(ticket)


def _make_large(reduce_blocks: Any, by_nodes: Any) -> Any:
    """Make the combination of large arrays; ``by_nodes`` is that of teams that span nodes, or None."""

    @compiled
    def direct(sample, call, nbytes, members, group):
        """Combine this PE's part of large arrays by direct loads and stores."""
        first, end = part_of(nbytes, members.size, members.me)
        sources, dests = arrays(call.source + first, members), arrays(call.dest + first, members)
        reduce_blocks(sample, sources, dests, end - first, workers_of(group), members)

    @compiled
    def by_tiles(sample, call, nbytes, members, group):
        """Combine this PE's part of large arrays in tiles, which the proxy moves where needed."""
        first, end = part_of(nbytes, members.size, members.me)
        at, apart, room = tiles_of(call.team, members.size)
        tiles, workers = tiles_at(at, apart, members), workers_of(group)
        for low in range(first, end, room):
            n = min(room, end - low)
            move_tiles(GET, members, tiles, call.source + low, n, workers)
            group_sync(group)
            reduce_blocks(sample, tiles, tiles, n, workers, members)
            group_sync(group)
            move_tiles(PUT, members, tiles, call.dest + low, n, workers)

    between_nodes = by_nodes or by_tiles

    @compiled
    def large(sample, call, nbytes, members, group):
        """Combine this PE's part of large arrays, and put the results to all members."""
        if LEVELS and spans_nodes(call.team):
            between_nodes(sample, call, nbytes, members, group)
        elif PROXIED and not LEVELS:
            by_tiles(sample, call, nbytes, members, group)
        else:
            direct(sample, call, nbytes, members, group)

    return large


def _make_small(reduce_blocks: Any) -> Any:
    """Make the reduction of small arrays of a team that spans nodes."""

    @compiled
    def combine_two(sample, to, first, second, nbytes, members, group):
        """Combine two blocks on this PE."""
        both, one = Blocks(first, second - first, 0, 0, 2), Blocks(to, 0, 0, 0, 1)
        reduce_blocks(sample, both, one, nbytes, workers_of(group), members)

    return make_small_reduction(combine_two)


def _make_single(combine: Any) -> Any:
    """Make the reduction of one element for PEs that reach each other.

    It writes the slots of the rendezvous as larger reductions do, without their loops over elements and alignments.
    """
    combine_all = elementwise(combine)

    @compiled
    def single(sample, call, members, site):
        """Reduce one element of each member, by one work-item."""
        start, stride, size, me = members
        number = next_number(call.team)
        slots = slots_of_number(call.team, number)
        header, blocks, apart = header_at(slots, me), blocks_at(call.team, slots), block_step(call.itemsize)
        like = nothing(sample, ELEMENT)
        mine = load_units(call.source, 0, like)
        for step in range(1, size):
            pe = start + after(me, step, size) * stride
            store_units(blocks + me * apart + peer_delta(pe), 0, like, mine)
            store_flag(pe, header, number)
        total = mine
        for member in range(size):
            theirs = mine
            if member != me:
                await_line(header_at(slots, member), number, start + member * stride, site)
                theirs = load_units(blocks + member * apart, 0, like)
            total = combine_all(total, theirs) if member else theirs
        store_units(call.dest, 0, like, total)

    return single


@compiled
def of_size(call, count):
    """Return a call with another number of elements."""
    return Call(
        call.routine, call.dtype, call.dest, call.dest_size, call.source, call.source_size, call.itemsize, count,
        call.root, call.dst, call.sst, call.team,
    )  # fmt: skip


def _make(combine_at: Any, single: Any = None, by_nodes: Any = None) -> Any:
    """Make a scan from what combines the elements at one place; a reduction, if it also has a ``single`` form."""
    reduce_blocks = _make_reduce_blocks(combine_at)
    small, large = _make_small(reduce_blocks) if by_nodes else None, _make_large(reduce_blocks, by_nodes)

    @compiled
    def reduce(sample, call, flow, group, site):
        """Run the reduction or scan; return 0, or -1 when this PE is not in the team."""
        if single is not None and not CHECK and not COPIES_BY_PROXY and is_team(call.team):
            members = members_of(call.team)
            count = count_of(call, flow, members.size)
            if count == 1:
                group_sync(group)
                if rank_in(group) == 0:
                    single(sample, call, members, site)
                group_sync(group)
                return 0
            call = of_size(call, opaque(count))
        note_begun(site)
        if LEVELS and small is not None and is_team(call.team) and spans_nodes(call.team):
            count = count_of(call, flow, members_of(call.team).size)
            if count * call.itemsize <= max_payload():
                return small(sample, call, count, flow, group)
        status, count = enter(call, flow, group)
        if status > 0:
            members, nbytes = members_of(call.team), count * call.itemsize
            if nbytes <= max_payload():
                slots = slots_of(call.team, 1)
                needed = (members.me + 1 if single is None else members.size) * nbytes
                fetch_from_leader(call.team, blocks_at(call.team, slots), needed, group)
                sources = tiles_at(blocks_at(call.team, slots), block_step(nbytes), members)
                reduce_blocks(sample, sources, own_array(call.dest, members), nbytes, workers_of(group), members)
                group_sync(group)
            else:
                large(sample, call, nbytes, members, group)
                end_phase(group, call.team)
        return min(status, 0)

    return reduce


def _make_reduction(operator: Callable[[Any, Any], Any]) -> Any:
    combine = compiled(operator)
    combine_at = _make_reduction_at(combine)
    single = _make_single(combine)
    by_nodes, flat = _make(combine_at, single, make_reduction(combine)), _make(combine_at, single)

    @device_function
    def reduce(sample, call, flow, group, site):
        """Run the reduction; return 0, or -1 when this PE is not in the team."""
        run = flat if is_half(sample) else by_nodes
        return lambda sample, call, flow, group, site: run(sample, call, flow, group, site)

    return reduce


def _make_scan(inclusive: bool) -> Any:
    return _make(_make_scan_at(inclusive))


for _name in REDUCTIONS:
    _operator = _name.split("_")[0]
    _do = _make_reduction(OPERATORS[_operator]) if _name.endswith("_reduce") else _make_scan(_name == "sum_inscan")
    register(_name, reductions, _do, zero_of)
