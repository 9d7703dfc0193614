"""Symmetric memory outside the heap: what the program has registered (``ishmem.runtime.registered``).

The address of the table of regions is a constant of kernels, and 0 until the first ``ishmem.register``, after which
kernels are built anew. So the device's compiler removes what is here in a job that registers nothing.
"""

from __future__ import annotations

from ishmem.common.layout import LINE, TWIN, Regions, TeamRecord

from .intrinsics import compiled, load_word
from .options import SPANS
from .peers import peer_delta, place_of
from .spec_constants import heap_base, heap_end, near_count, pe_count, region_table, team_records, user_start

ENTRY, FIRST, SHIFTS, PES = Regions.ENTRY, Regions.FIRST, Regions.SHIFTS, TeamRecord.at("pes")


@compiled
def is_symmetric(address, nbytes):
    """Return whether a range of this PE's memory lies in the symmetric heap or in registered memory."""
    if user_start() <= address and address + nbytes <= heap_end():
        return True
    return region_table() != 0 and _slot_of(address, nbytes) >= 0


@compiled
def on_peer(address, pe):
    """Return the address on a reachable peer of symmetric memory, which is at ``address`` on this PE."""
    return address + peer_delta(pe) + shift_of(address, pe)


@compiled
def shift_of(address, pe):
    """Return what to add to `peer_delta` at an address of this PE: 0 in the heap."""
    if region_table() != 0 and not (heap_base() <= address and address < heap_end()):
        return _shift_outside(address, pe)
    return 0


@compiled
def base_of(address):
    """Return where the heap of this PE, or the registered memory that contains an address, begins."""
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
    """Return the place on this node of a PE, whose number may be one of `Layout.alias`; -1 if there is none."""
    if SPANS:
        return place_of(number) if 0 <= number < pe_count() else -1
    team = number // pe_count() - 1
    if team < 0 or team >= TWIN:
        return number
    listed = load_word(team_records() + LINE * team + PES)
    return -1 if listed == 0 else load_word(listed + 8 * (number % pe_count()))
