"""The ring in which kernels post requests to the proxy: see ``ishmem.runtime.proxy``.

A request takes a ticket, and the ticket says its slot in the ring and its lap. The ring is in host memory, where a
device may have no atomics: only plain loads and stores go there, with fences.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types
from numba_dpex import device_func

from ishmem.common.layout import LINE, RING_SLOTS

from . import binding
from .intrinsics import GLOBAL, I64, atomic_add_word, compiled, device_function, device_intrinsic, fence
from .spec_constants import proxy_address, ticket_counter

SLOT, SLOTS = LINE, RING_SLOTS
TURN, POSTED, WHAT, PE, OFFSET, OPERAND, OTHER = range(0, SLOT - 8, 8)  # of a `Request` in ishmem/core/proxy.cpp


class _VolatileLoad(ir.instructions.LoadInstr):  # type: ignore[misc]
    def descr(self, buf: list[str]) -> None:
        super().descr(buf)
        buf[-1] = buf[-1].replace("load ", "load volatile ", 1)


class _VolatileStore(ir.instructions.StoreInstr):  # type: ignore[misc]
    def descr(self, buf: list[str]) -> None:
        super().descr(buf)
        buf[-1] = buf[-1].replace("store ", "store volatile ", 1)


def _pointer(builder: Any, address: Any) -> Any:
    return builder.inttoptr(address, I64.as_pointer(GLOBAL))


@device_intrinsic
def peek(_context, address):
    """Return the int64 at an address, read at this moment."""

    def code(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        loaded = _VolatileLoad(builder.block, _pointer(builder, arguments[0]))
        loaded.align = 8
        builder._insert(loaded)
        return loaded

    return types.int64(types.int64), code


@device_intrinsic
def poke(_context, address, value):
    """Write an int64 to an address at this moment."""

    def code(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        stored = _VolatileStore(builder.block, arguments[1], _pointer(builder, arguments[0]))
        stored.align = 8
        builder._insert(stored)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), code


@device_func
def completed(ring):
    """Return how many requests the proxy has served."""
    return peek(ring)


@device_func
def slot_of(ring, ticket):
    """Return the address of the slot of a request."""
    return ring + SLOT + SLOT * (ticket % SLOTS)


@device_func
def is_free(slot, ticket):
    """Return whether a request may be written into its slot."""
    return peek(slot + TURN) == ticket // SLOTS


@device_func
def post(slot, ticket, what, pe, offset):
    """Hand a request over, whose operands are written."""
    poke(slot + WHAT, what)
    poke(slot + PE, pe)
    poke(slot + OFFSET, offset)
    fence()
    poke(slot + POSTED, ticket // SLOTS + 1)


@compiled
def ring_address():
    """Return the address of the ring."""
    return peek(proxy_address())


@compiled
def take_ticket():
    """Return the next ticket."""
    return atomic_add_word(ticket_counter(), 1)


@device_function
def claim():
    """Take the next ticket and wait until its slot is free."""

    def impl():
        ticket = take_ticket()
        slot = slot_of(ring_address(), ticket)
        while not is_free(slot, ticket):
            pass
        return ticket, slot

    return impl


@device_function
def await_ticket(ticket):
    """Wait until the proxy has served a request and all before it."""
    if not binding.options().proxied:
        return lambda ticket: None

    def impl(ticket):
        ring = ring_address()
        while completed(ring) <= ticket:
            pass
        fence()

    return impl
