"""The slots that members of a team write to each other in a rendezvous: see ``RendezvousSlot`` of ``common.layout``.

A slot has a header and a *block*: data of the member. In a job on several nodes the headers of all members come first,
then their blocks without gaps, so that those of consecutive members cross the network with nothing between.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types

from ishmem.common.layout import FEW_MEMBERS, LINE, RENDEZVOUS_SLOT, RendezvousSlot

from .barrier import SEQUENCE
from .intrinsics import compiled, device_intrinsic, load_word
from .options import SPANS, WIDE
from .spec_constants import pe_count, rendezvous_bytes, rendezvous_slots, team_records

NUMBER, CALL, COUNT, SHARE, PAYLOAD = (RendezvousSlot.at(field) for field in RendezvousSlot._fields)


NARROW = LINE * FEW_MEMBERS


@compiled
def slots_of(team, begun):
    """Return the address of this PE's slots for the current rendezvous (``begun`` 1) or for the next one (0)."""
    return slots_of_number(team, load_word(team_records() + SEQUENCE + LINE * team) + 1 - begun)


@compiled
def slots_of_number(team, number):
    """Return the address of this PE's slots for the rendezvous of a number."""
    odd = number & 1
    if WIDE and team >= WIDE:
        return rendezvous_slots() + rendezvous_bytes() * WIDE + NARROW * (2 * (team - WIDE) + odd)
    return rendezvous_slots() + rendezvous_bytes() * team + odd * (rendezvous_bytes() // 2)


def _slot_bytes() -> int:
    return LINE if WIDE else RENDEZVOUS_SLOT


def _header_bytes() -> int:
    return PAYLOAD if SPANS else _slot_bytes()


@device_intrinsic
def header_at(_context, slots, member):
    """Return the address of a member's header."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        index = context.cast(builder, arguments[1], signature.args[1], types.int64)
        return builder.add(arguments[0], builder.mul(index, ir.IntType(64)(_header_bytes())))

    return types.int64(types.int64, member), code


@compiled
def blocks_at(team, slots):
    """Return the address of the block of member 0 in slots of a team.

    It does not depend on the size of the team, since numbers in headers must not be overwritten by blocks: a later team
    may have this handle.
    """
    if not SPANS:
        return slots + PAYLOAD
    if WIDE and team >= WIDE:
        return slots + PAYLOAD * FEW_MEMBERS
    return slots + PAYLOAD * pe_count()


@compiled
def block_step(nbytes):
    """Return the bytes between the starts of consecutive blocks of ``nbytes`` bytes."""
    return nbytes if SPANS else PAYLOAD + max_payload()


@device_intrinsic
def max_payload(_context):
    """Return the size in bytes of the largest block that is sent with the rendezvous, in its slot."""
    return types.int64(), lambda _context, _builder, _signature, _arguments: ir.IntType(64)(_slot_bytes() - PAYLOAD)
