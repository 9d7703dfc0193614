"""The address of a peer's memory: the distance to its heap, and to memory that the program has registered.

In a job on one node the places of PEs on the node are the PE numbers. In a job on several nodes the PEs of a node
usually have consecutive numbers, so a comparison with two constants finds the PEs among them, without a load. If the
launcher has assigned other numbers, a table with a byte per PE contains the places of the rest.

The address of the table of regions, of registered memory (``ishmem.runtime.registered``), is a constant of kernels, and
0 until the first ``ishmem.register``, after which kernels are built anew. So the device's compiler removes the
code for regions in a job that registers nothing.
"""

from __future__ import annotations

from typing import Any

from numba.core import types

from ishmem.common.layout import LINE, TWIN, Regions, TeamRecord

from . import spec_constants
from .intrinsics import GLOBAL, I8, I64, compiled, device_intrinsic, load_word
from .options import SPANS
from .spec_constants import heap_base, heap_end, near_count, pe_count, region_table, team_records, user_start


def _unchanging(builder: Any, address: Any, kind: Any) -> Any:
    """Emit a load that the compiler may hoist out of loops: these tables do not change while kernels run."""
    loaded = builder.load(builder.inttoptr(address, kind.as_pointer(GLOBAL)))
    loaded.set_metadata("invariant.load", builder.module.add_metadata([]))
    return loaded


def _place(builder: Any, pe: Any) -> Any:
    """Emit the place of a PE on this node, or -1 for a PE of another node."""
    if not SPANS:
        return pe
    guess = builder.sub(pe, spec_constants.emit(builder, "first_near"))
    consecutive = builder.icmp_unsigned("<", guess, spec_constants.emit(builder, "run"))
    before = builder.block
    with builder.if_then(builder.not_(consecutive)):
        byte = _unchanging(builder, builder.add(spec_constants.emit(builder, "places"), pe), I8)
        found, looked_up = builder.sub(builder.zext(byte, I64), I64(1)), builder.block
    place = builder.phi(I64)
    place.add_incoming(guess, before)
    place.add_incoming(found, looked_up)
    return place


def _distance(builder: Any, place: Any) -> Any:
    """Emit the load of entry ``place`` of the table of distances to peers' heaps, at the start of this PE's heap."""
    entry = builder.add(spec_constants.emit(builder, "heap"), builder.shl(place, I64(3)))
    return _unchanging(builder, entry, I64)


def _route(builder: Any, place: Any) -> Any:
    return _unchanging(builder, builder.add(spec_constants.emit(builder, "routes"), builder.shl(place, I64(3))), I64)


def _of_number(emit: Any) -> Any:
    """Make the intrinsic that emits ``emit(builder, number)`` for an integer; it returns an int64."""

    def typing(number: Any) -> Any:
        return types.int64(number), lambda code, value: emit(code.builder, code.cast(value, 0, types.int64))

    return device_intrinsic(typing)


place_of = _of_number(_place)
"""Return the place of a PE on this node, counted from 0, or -1 for a PE of another node."""

delta_at = _of_number(_distance)
"""Return the distance in bytes from this PE's heap to that of the PE at a place of this node."""

route_at = _of_number(_route)
"""Return the `ishmem.runtime.kernel_routes.Route` to the PE at a place of this node."""

peer_delta = _of_number(lambda builder, pe: _distance(builder, _place(builder, pe)))
"""Return the distance in bytes from this PE's heap to that of a reachable peer (``kernels.proxy``)."""


@compiled
def keep_load_here(delta):
    """Return True: heaps begin at pages, so no distance is odd.

    The compiler cannot infer that. It loads the distance where this function is called, and can move the load out of a
    program's loop. Without the call, it would load the distance in the branch that uses it, inside the loop.
    """
    return delta & 1 == 0


# ---- registered memory


ENTRY, FIRST, SHIFTS, PES = Regions.ENTRY, Regions.FIRST, Regions.SHIFTS, TeamRecord.at("pes")


@compiled
def is_symmetric(address, nbytes):
    """Return whether ``nbytes`` bytes at ``address`` of this PE are in the symmetric heap or in registered memory."""
    if user_start() <= address and address + nbytes <= heap_end():
        return True
    return region_table() != 0 and _slot_of(address, nbytes) >= 0


@compiled
def on_peer(address, pe):
    """Return the address by which this PE reaches PE ``pe``'s symmetric memory that is at ``address`` on this PE."""
    return address + peer_delta(pe) + shift_of(address, pe)


@compiled
def shift_of(address, pe):
    """Return the bytes to add to ``peer_delta(pe)`` for this PE's symmetric memory at ``address``: 0 in the heap."""
    if region_table() != 0 and not (heap_base() <= address and address < heap_end()):
        return _shift_outside(address, pe)
    return 0


@compiled
def base_of(address):
    """Return the base address of the registered memory that contains an address, or else of this PE's heap."""
    if region_table() != 0 and not (heap_base() <= address and address < heap_end()):
        slot = _slot_of(address, 1)
        if slot >= 0:
            return load_word(region_table() + FIRST + slot * ENTRY)
    return heap_base()


@compiled
def _shift_outside(address, pe):
    slot, place = _slot_of(address, 1), _place_of(pe)
    if slot < 0 or place < 0 or place >= near_count():
        return 0
    return load_word(region_table() + SHIFTS + 8 * (slot * near_count() + place))


@compiled
def _slot_of(address, nbytes):
    """Return the slot of the region that contains a range; -1 if there is none."""
    at = region_table() + FIRST
    for slot in range(load_word(region_table())):
        if load_word(at) <= address and address + nbytes <= load_word(at + 8):
            return slot
        at += ENTRY
    return -1


@compiled
def _place_of(number):
    """Return the place on this node of PE ``number``, which may be one of `Layout.alias`; -1 if there is none."""
    if SPANS:
        return place_of(number) if 0 <= number < pe_count() else -1
    team = number // pe_count() - 1
    if team < 0 or team >= TWIN:
        return number
    listed = load_word(team_records() + LINE * team + PES)
    return -1 if listed == 0 else load_word(listed + 8 * (number % pe_count()))
