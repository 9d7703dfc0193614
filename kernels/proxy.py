"""Requests to the proxy for peers that this PE's kernels cannot reach, or not by atomics (``ishmem.runtime.proxy``).

A job in which every pair of PEs has loads, stores and atomics compiles none of this: ``reachable`` and ``has_atomics``
are the constant true there, and the compiler removes the branches.
"""

from __future__ import annotations

from typing import Any

from ishmem.runtime.routes import Route

from . import binding
from .intrinsics import (
    atomic_load_word,
    atomic_store_flag,
    device_function,
    load,
    memory_fence,
    opaque,
    peer_delta,
    store,
)
from .orders import ARRIVED, FENCE, QUIET
from .proxy_ring import (
    OPERAND,
    OTHER,
    await_ticket,
    completed,
    is_free,
    load_volatile,
    post,
    release_slot,
    ring_address,
    slot_of,
    submit,
    take_ticket,
)
from .spec_constants import heap_base, pe_count, route_table, ticket_counter

PUT, GET, STORE, LOAD, ATOMIC = range(5)  # as in ishmem/core/proxy.cpp

stores_in_order, all_in_order, before_flush = map(memory_fence, (FENCE, QUIET, ARRIVED))


def element(like: Any) -> Any:
    """Return the type of the elements of an array, or of a number itself."""
    return getattr(like, "dtype", like)


def itemsize(array: Any) -> int:
    """Return the bytes of an element of an array's type, or of a number's."""
    return int(getattr(element(array), "bitwidth", 8)) // 8  # numba's bool has no such attribute


def _has_route(pe: Any, worst: Route) -> Any:
    """Make the function that returns whether the route to a PE is at least as good as ``worst``."""
    if not binding.options().proxied:
        return lambda pe: True
    return lambda pe: load_volatile(route_table() + 8 * pe) <= worst


@device_function
def reachable(pe):
    """Return whether kernels of this PE load and store at a PE."""
    return _has_route(pe, Route.STORES)


@device_function
def has_atomics(pe):
    """Return whether kernels of this PE have atomics on the memory of a PE."""
    return _has_route(pe, Route.DIRECT)


@device_function
def copy_by_proxy(kind, pe, remote, local, nbytes):
    """Let the proxy copy to (``PUT``) or from (``GET``) a PE; returns a ticket to `await_ticket`.

    ``remote`` is this PE's own address of the symmetric memory, ``local`` any device address.
    """
    if not binding.options().proxied:
        return lambda kind, pe, remote, local, nbytes: 0

    def impl(kind, pe, remote, local, nbytes):
        return submit(kind, pe, remote - heap_base(), local, local, nbytes)

    return impl


@device_function
def move_by_proxy(put, pe, to, origin, to_step, from_step, nbytes, count, rank, size):
    """Let the proxy put (or get) ``count`` blocks, as work-item ``rank`` of ``size``, and wait; steps are in bytes."""
    if not binding.options().proxied:
        return lambda put, pe, to, origin, to_step, from_step, nbytes, count, rank, size: None

    def impl(put, pe, to, origin, to_step, from_step, nbytes, count, rank, size):
        ticket = -1
        for block in range(rank, count, size):
            end, start = to + block * to_step, origin + block * from_step
            ticket = copy_by_proxy(PUT, pe, end, start, nbytes) if put else copy_by_proxy(GET, pe, start, end, nbytes)
        if ticket >= 0:
            await_ticket(ticket)

    return impl


@device_function
def store_by_proxy(dest, value, pe, remote):
    """Let the proxy store an element of the dtype of ``dest``; does not wait."""
    if not binding.options().proxied:
        return lambda dest, value, pe, remote: None
    what = STORE | itemsize(dest) << 16

    def impl(dest, value, pe, remote):
        submit(what, pe, remote - heap_base(), dest, value, None)

    return impl


@device_function
def load_by_proxy(source, pe, remote):
    """Let the proxy fetch an element of the dtype of ``source``."""
    zero, what = element(source)(0), LOAD | itemsize(source) << 16
    return lambda source, pe, remote: request_and_wait(what, source, pe, remote, zero, zero)


@device_function
def load_at(pe, address, like):
    """Return the element at a PE, of the dtype of ``like``; ``address`` is this PE's own of the symmetric memory."""
    if not binding.options().proxied:
        return lambda pe, address, like: load(address + peer_delta(pe), like)
    return lambda pe, address, like: (
        load(address + peer_delta(pe), like) if reachable(pe) else load_by_proxy(like, pe, address)
    )


@device_function
def store_at(pe, address, like, value):
    """Store an element of the dtype of ``like`` at a PE, which `complete` completes; ``address`` as in `load_at`."""
    if not binding.options().proxied:
        return lambda pe, address, like, value: store(address + peer_delta(pe), like, value)

    def impl(pe, address, like, value):
        if reachable(pe):
            store(address + peer_delta(pe), like, value)
        else:
            store_by_proxy(like, value, pe, address)

    return impl


@device_function
def atomic_by_proxy(rmw, dest, pe, remote, value, cond):
    """Let the proxy do an atomic operation on an element of the dtype of ``dest``; returns the old value."""
    what = ATOMIC | itemsize(dest) << 16

    def impl(rmw, dest, pe, remote, value, cond):
        if reachable(pe):
            flush(pe)  # what was stored before must be there before
        return request_and_wait(what | rmw << 8, dest, pe, remote, value, cond)

    return impl


@device_function
def request_and_wait(what, like, pe, remote, value, cond):
    """Post a request that has a result, an element of the dtype of ``like``, and wait for that.

    Model: tests/models/proxy_ring.pml.
    """
    zero = element(like)(0)
    if not binding.options().proxied:
        return lambda what, like, pe, remote, value, cond: zero

    def impl(what, like, pe, remote, value, cond):
        ticket, ring = take_ticket(), ring_address()
        slot = slot_of(ring, ticket)
        posted, done, result = 0, 0, zero
        # In one loop: a work-item that waits for its slot must not hold up one beside it that has to give it up.
        while not done:
            if not posted:
                if is_free(slot, ticket):
                    store(slot + OPERAND, like, value)
                    store(slot + OTHER, like, cond)
                    post(slot, ticket, what, pe, remote - heap_base())
                    posted = 1
            elif completed(ring) > ticket:
                result = load(slot + OPERAND, like)
                release_slot(slot, ticket)
                done = 1
            posted, done = opaque(posted), opaque(done)
        return result

    return impl


@device_function
def flush(pe):
    """Wait until this PE's stores have arrived at a PE that it reaches: a load does not overtake them."""

    def impl(pe):
        before_flush()
        load_volatile(heap_base() + peer_delta(pe))
        before_flush()  # and before what comes next

    return impl


@device_function
def order_stores():
    """Order this PE's stores and atomics before against those after."""
    if not binding.options().proxied:
        return lambda: stores_in_order()
    return lambda: complete()


@device_function
def complete():
    """Complete all operations of this PE's kernels.

    Model: tests/models/proxy_ring.pml.
    """
    if not binding.options().proxied:
        return lambda: all_in_order()

    def impl():
        for pe in range(pe_count()):
            if reachable(pe) and not has_atomics(pe):
                flush(pe)
        ring, wanted = ring_address(), atomic_load_word(ticket_counter())
        while completed(ring) < wanted:
            pass
        all_in_order()

    return impl


@device_function
def complete_before_flag():
    """Complete what the next `store_flag` must not overtake: nothing, where all stores go straight to their PE."""
    if not binding.options().proxied:
        return lambda: None
    return lambda: complete()


@device_function
def store_flag(pe, address, value):
    """Store an int64 at a PE that kernels there wait for; what is complete comes before it."""
    if not binding.options().proxied:
        return lambda pe, address, value: atomic_store_flag(address + peer_delta(pe), value)
    what = STORE | 8 << 16

    def impl(pe, address, value):
        if has_atomics(pe):
            atomic_store_flag(address + peer_delta(pe), value)
            return
        submit(what, pe, address - heap_base(), value, value, None)

    return impl
