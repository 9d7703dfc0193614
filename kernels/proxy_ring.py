"""The ring buffer through which kernels post requests to the proxy (``ishmem.runtime.proxy``).

Each request takes a ticket, a number that determines its slot and its lap around the ring. The ring is in host memory,
where a device may lack atomics, so kernels access it by plain volatile loads and stores with fences. ``ring`` and
``slot`` are addresses.

Models: tests/models/proxy_ring.pml, and host_puts.pml for `host_has_put`.
"""

from __future__ import annotations

from ishmem.common.layout import LINE, PROXY_RING_SLOTS
from ishmem.common.shared_numbers import REQUEST_WORDS, RING_HEADER

from .atomic_instructions import atomic_add_word, memory_fence
from .front_end import device_func
from .intrinsics import compiled, load_volatile, opaque, store, store_volatile
from .long_waits import SPINS, clear_wait_record, record_proxy_wait
from .memory_orders import POST, RING_SEEN
from .options import PROXIED
from .spec_constants import proxy_address, ticket_counter

SLOT, SLOTS = LINE, PROXY_RING_SLOTS
HOST_PUTS = 8 * RING_HEADER.index("host_puts")
TURN, POSTED, WHAT, PE, OFFSET, OPERAND, OTHER, _UNUSED = range(0, 8 * len(REQUEST_WORDS), 8)


before_word, wait_fence = memory_fence(POST), memory_fence(RING_SEEN)


@device_func
def completed(ring):
    """Return the number of requests that the proxy has served."""
    count = load_volatile(ring)
    wait_fence()
    return count


@device_func
def host_has_put(ring):
    """Return whether the host has put to other nodes since the last request to complete its puts."""
    put = load_volatile(ring + HOST_PUTS)
    wait_fence()
    return put != 0


@device_func
def slot_of(ring, ticket):
    """Return the address of the slot of the request with this ticket."""
    return ring + SLOT + SLOT * (ticket % SLOTS)


@device_func
def is_free(slot, ticket):
    """Return whether the slot is free for the request with this ticket."""
    turn = load_volatile(slot + TURN)
    wait_fence()
    return turn == ticket // SLOTS


@device_func
def post(slot, ticket, what, pe, offset):
    """Write the header of a request and publish it to the proxy; the caller has written the operands to the slot.

    ``what`` is the word of its kind and options, ``offset`` that of the memory in the heap of PE ``pe``, in bytes.
    """
    store_volatile(slot + WHAT, what)
    store_volatile(slot + PE, pe)
    store_volatile(slot + OFFSET, offset)
    before_word()
    store_volatile(slot + POSTED, ticket // SLOTS + 1)


@device_func
def release_slot(slot, ticket):
    """Free the slot of the request with this ticket for the next lap; the caller has read the result."""
    before_word()
    store_volatile(slot + TURN, ticket // SLOTS + 1)


@compiled
def ring_address():
    """Return the address of the ring."""
    return load_volatile(proxy_address())


@compiled
def take_ticket():
    """Increment the ticket counter of this PE; return the ticket."""
    return atomic_add_word(ticket_counter(), 1)


@compiled
def submit(what, pe, offset, like, value, other):
    """Wait for a free slot, post a request and return its ticket. The other arguments are those of `post`.

    ``value`` is an operand of the dtype of ``like``, ``other`` an int64 or None.
    """
    ticket, posted, spins, recorded = take_ticket(), 0, 0, False
    slot = slot_of(ring_address(), ticket)
    # Work-items in lockstep leave a loop together. A work-item with a free slot must post inside the loop: the slot for
    # which its neighbour waits may become free only after that.
    while not posted:
        if is_free(slot, ticket):
            store(slot + OPERAND, like, value)
            if other is not None:
                store_volatile(slot + OTHER, other)
            post(slot, ticket, what, pe, offset)
            posted = 1
        spins += 1
        if spins & SPINS == 0:
            recorded = record_proxy_wait(load_volatile(ring_address()), ticket - SLOTS, recorded)
        posted = opaque(posted)
    if recorded:
        clear_wait_record()
    return ticket


@compiled
def await_ticket(ticket):
    """Wait until the proxy has served the request with this ticket and all before; return at once if it is negative."""
    if PROXIED:
        ring = ring_address()
        spins, recorded, served = 0, False, completed(ring)
        while served <= ticket:
            spins += 1
            if spins & SPINS == 0:
                recorded = record_proxy_wait(served, ticket, recorded)
            served = completed(ring)
        if recorded:
            clear_wait_record()


@device_func
def has_sent(ring, ticket):
    """Return whether the proxy has read the source of the put with this ticket, and has freed its slot."""
    turn = load_volatile(slot_of(ring, ticket) + TURN)
    wait_fence()
    return turn > ticket // SLOTS


@compiled
def await_put(ticket):
    """Wait until the source buffer of the put with this ticket may be reused (local completion)."""
    if PROXIED:
        ring = ring_address()
        spins, recorded = 0, False
        while not has_sent(ring, ticket):
            spins += 1
            if spins & SPINS == 0:
                recorded = record_proxy_wait(load_volatile(ring), ticket, recorded)
        if recorded:
            clear_wait_record()
