"""Operations that kernels pass to the proxy: on peers without a direct path, or without device atomics.

``ishmem.runtime.proxy`` describes the proxy. A job in which every pair of PEs has direct loads, stores and atomics
needs none: ``reachable`` and ``has_atomics`` are then the constant True, and the compiler removes the other branches.
Functions for the proxy have no code where the job has none. ``remote`` is an address on PE ``pe``, given as that on
this PE; ``rmw`` is the number of an atomic operation (`Rmw`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from numba.core import types

from ishmem.common.shared_numbers import FROM_PROGRAM, Request
from ishmem.runtime.kernel_routes import Route

from . import memory_orders
from .atomic_instructions import atomic_load_word, atomic_store_flag, memory_fence
from .intrinsics import compiled, item_bytes, load, load_volatile, opaque, store, store_volatile, zero_of
from .options import CHECK, COPIES_BY_PROXY, LATE, PROXIED, ROUTED, SPANS, STAGED
from .peers import delta_at, peer_delta, place_of, route_at
from .proxy_ring import (
    OPERAND,
    OTHER,
    await_put,
    await_ticket,
    completed,
    host_has_put,
    is_free,
    post,
    release_slot,
    ring_address,
    slot_of,
    submit,
    take_ticket,
)
from .spec_constants import heap_base, near_count, pe_count, this_pe, ticket_counter

PUT, GET, STORE, LOAD = map(int, (Request.PUT, Request.GET, Request.STORE, Request.LOAD))
UPDATE, ATOMIC_RMW, SIGNAL = map(int, (Request.UPDATE, Request.ATOMIC_RMW, Request.SIGNAL))
QUIET, FENCE, COMPLETE, FLUSH = map(int, (Request.QUIET, Request.FENCE, Request.COMPLETE, Request.FLUSH))
STORES_DIRECTLY, MARK_HELD = map(int, (Request.STORES_DIRECTLY, Request.MARK_HELD))

STORES, DIRECT = map(int, (Route.STORES, Route.DIRECT))

stores_in_order, all_in_order = memory_fence(memory_orders.FENCE), memory_fence(memory_orders.QUIET)
before_flush, before_flag = memory_fence(memory_orders.ARRIVED), memory_fence(memory_orders.FLAG)


class Move(NamedTuple):
    """Blocks of the same length to copy, put or get.

    Attributes:
        to, origin: Addresses of the first block; a remote one is the symmetric address on this PE.
        to_step, from_step: Distance from the start of a block to that of the next one.
        length: Length of a block. Steps and length are in bytes, unless a docstring states "in elements".
        count: Number of blocks.
    """

    to: int
    origin: int
    to_step: int
    from_step: int
    length: int
    count: int  # type: ignore[assignment]  # hides a method of tuple


def element(like: Any) -> Any:
    """Return the element type of an array type; a scalar type is returned unchanged."""
    return getattr(like, "dtype", like)


def itemsize(array: Any) -> int:
    """Return the size in bytes of an element of an array type, or of a scalar type."""
    return int(getattr(element(array), "bitwidth", 8)) // 8  # numba's bool has no such attribute


@compiled
def reachable(pe):
    """Return whether kernels of this PE can load from and store to the memory of a PE."""
    if STAGED:
        return place_of(pe) >= 0 and route_at(place_of(pe)) <= STORES
    if SPANS:
        return place_of(pe) >= 0
    return True


@compiled
def delta_if_reachable(pe):
    """Return `peer_delta` of a reachable PE, else 0.

    With ``ISHMEM_CHECK``, it may be called for a number that is no PE. Called before an operation checks its
    arguments, the load leaves a program's loop; after the check it would not.
    """
    if CHECK:
        return peer_delta(pe) if 0 <= pe < pe_count() and reachable(pe) else 0
    return peer_delta(pe) if reachable(pe) else 0


@compiled
def is_mapped(pe):
    """Return whether kernels can access the memory of a PE; if the proxy holds puts, announce direct stores to it."""
    if not LATE:
        return reachable(pe)
    if place_of(pe) < 0 or (delta_at(place_of(pe)) == 0 and pe != this_pe()):
        return False
    submit(STORES_DIRECTLY, 0, 0, 0, 0, None)
    return True


@compiled
def has_atomics(pe):
    """Return whether kernels of this PE can do atomics on the memory of a PE."""
    if ROUTED:
        return place_of(pe) >= 0 and route_at(place_of(pe)) <= DIRECT
    if SPANS:
        return place_of(pe) >= 0
    return True


@compiled
def copy_by_proxy(kind, pe, remote, local, nbytes):
    """Request a put (``PUT``) or get (``GET``) of ``nbytes`` contiguous bytes; return the ticket. Nonblocking.

    ``kind`` may include `HELD` and `NBI`. ``remote`` is a symmetric address, given as that in this PE's heap; ``local``
    is any device address. In a job without proxy it does nothing.
    """
    return submit(kind, pe, remote - heap_base(), local, local, nbytes) if PROXIED else 0


@compiled
def start_by_proxy(is_put, flags, pe, move, workers):
    """Request a put or get of this work-item's share of the blocks of a `Move`. Nonblocking.

    ``flags`` is 0, or `FROM_PROGRAM` for an operation of the program itself.

    Returns:
        The ticket of its last block, or -1 if it has none.
    """
    ticket = -1
    if PROXIED:
        for block in range(workers.rank, move.count, workers.width):
            to, origin = move.to + block * move.to_step, move.origin + block * move.from_step
            if is_put:
                ticket = copy_by_proxy(PUT | flags, pe, to, origin, move.length)
            else:
                ticket = copy_by_proxy(GET | flags, pe, origin, to, move.length)
    return ticket


@compiled
def move_by_proxy(is_put, flags, pe, move, workers):
    """Put or get blocks by the proxy, as `start_by_proxy`, and wait; puts are then locally complete."""
    if PROXIED:
        ticket = start_by_proxy(is_put, flags, pe, move, workers)
        if ticket >= 0 and is_put:
            await_put(ticket)
        elif ticket >= 0:
            await_ticket(ticket)


@compiled
def kind_of(request, like, rmw):
    """Return the kind of a `Request` of the program on an element of dtype ``like``; ``rmw`` is 0 if no atomic."""
    return request | FROM_PROGRAM | item_bytes(like) << 16 | rmw << 8


@compiled
def store_by_proxy(dest, value, pe, remote):
    """Request a store of ``value``, as ``dest``'s dtype, on PE ``pe`` at this PE's address ``remote``; nonblocking."""
    if PROXIED:
        submit(kind_of(STORE, dest, 0), pe, remote - heap_base(), dest, value, None)


@compiled
def load_by_proxy(source, pe, remote):
    """Return the element at ``remote`` on PE ``pe``, in the dtype of ``source``, by a request; blocking."""
    zero = zero_of(source)
    return request_and_wait(kind_of(LOAD, source, 0), source, pe, remote, zero, zero)


@compiled
def update_by_proxy(rmw, dest, pe, remote, value):
    """Request atomic ``rmw`` with ``value``, without result, on an element of ``dest``'s dtype; nonblocking."""
    submit(kind_of(UPDATE, dest, rmw), pe, remote - heap_base(), dest, value, None)


@compiled
def mark_held():
    """Return the mark for `signal_by_proxy`: how many operations the proxy has held so far; 0 if it never does."""
    zero = types.int64(0)
    return request_and_wait(MARK_HELD, zero, 0, heap_base(), zero, zero) if LATE else zero


@compiled
def signal_by_proxy(rmw, sig_addr, pe, remote, value, since):
    """Request ``rmw`` by ``value`` on a signal after this PE's puts to PE ``pe`` since mark ``since``; nonblocking."""
    submit(kind_of(SIGNAL, sig_addr, rmw), pe, remote - heap_base(), sig_addr, value, since)


@compiled
def load_at(pe, address, like):
    """Return the element on PE ``pe`` at ``address``, the symmetric address on this PE, in the dtype of ``like``."""
    if PROXIED and not reachable(pe):
        return load_by_proxy(like, pe, address)
    return load(address + peer_delta(pe), like)


@compiled
def store_at(pe, address, like, value):
    """Store ``value``, as the dtype of ``like``, on PE ``pe``, nonblocking; ``address`` as for `load_at`."""
    if PROXIED and not reachable(pe):
        submit(STORE | item_bytes(like) << 16, pe, address - heap_base(), like, value, None)
    else:
        store(address + peer_delta(pe), like, value)


@compiled
def atomic_by_proxy(rmw, dest, pe, remote, value, cond):
    """Request atomic ``rmw`` on the element of ``dest``'s dtype at ``remote``, and wait; return the old value.

    ``cond`` is the value with which a compare-and-swap compares.
    """
    if reachable(pe):
        flush(peer_delta(pe))  # this work-item's earlier stores must arrive before the proxy's atomic
    return request_and_wait(kind_of(ATOMIC_RMW, dest, rmw), dest, pe, remote, value, cond)


# Model: tests/models/proxy_ring.pml.
@compiled
def request_and_wait(what, like, pe, remote, value, cond):
    """Post a request and wait for its result, an element of the dtype of ``like``; 0 in a job without proxy.

    ``what`` is the word of its kind and options; ``value`` and ``cond`` are operands.
    """
    result = zero_of(like)
    if PROXIED:
        ticket, ring = take_ticket(), ring_address()
        slot = slot_of(ring, ticket)
        posted, done = 0, 0
        # One loop posts and waits. With two loops, work-items in lockstep could deadlock: one waits for a slot that its
        # neighbour releases only in the second loop.
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


@compiled
def flush(delta):
    """Wait for remote completion of this PE's stores to the PE ``distance`` bytes away: a load cannot overtake them."""
    before_flush()
    load_volatile(heap_base() + delta)
    before_flush()  # the load completes before later operations


@compiled
def flush_all():
    """Wait for remote completion of the stores to the PEs of this node, if the proxy does atomics on some of them."""
    if not ROUTED:
        all_in_order()
        return
    before_flush()
    for place in range(near_count()):
        if place != place_of(this_pe()):
            load_volatile(heap_base() + delta_at(place))  # the distance to an unreachable PE is 0: this PE
    before_flush()


@compiled
def order_stores():
    """Order this PE's earlier stores and atomics before its later ones."""
    if not COPIES_BY_PROXY:
        stores_in_order()  # the proxy's atomics have completed, and `flush` is before them
        return
    await_requests()
    if LATE:
        submit(FENCE, 0, 0, 0, 0, None)


@compiled
def complete():
    """Wait for remote completion of all operations of this PE's kernels, and of the puts of its host to other nodes.

    On one node the stores of a put by the host are complete when it returns.
    """
    complete_held()
    complete_host_puts()
    await_requests()


@compiled
def complete_held():
    """Request that the proxy complete what ``ISHMEM_SIM_ORDER`` delays; nonblocking: `await_requests` waits."""
    if LATE:
        submit(COMPLETE, 0, 0, 0, 0, None)


@compiled
def complete_locally():
    """Wait for local completion of the operations that the proxy holds; all others are locally complete."""
    if LATE:
        await_ticket(submit(FLUSH, 0, 0, 0, 0, None))


# Model: tests/models/host_puts.pml.
@compiled
def complete_host_puts():
    """Request completion of the puts of this PE's host to other nodes; nonblocking: `await_requests` waits."""
    if SPANS and host_has_put(ring_address()):
        submit(QUIET, 0, 0, 0, 0, None)


# Model: tests/models/proxy_ring.pml.
@compiled
def await_requests():
    """Wait for remote completion of all operations of this PE's kernels, those posted to the proxy included.

    Without puts by proxy, each work-item waits for the requests that it posts.
    """
    flush_all()
    if COPIES_BY_PROXY:
        ring, wanted = ring_address(), atomic_load_word(ticket_counter())
        while completed(ring) < wanted:
            pass
        all_in_order()


@compiled
def complete_before_flag():
    """Complete stores of kernels remotely before the next `store_flag`; a no-op in a job without proxies."""
    if PROXIED:
        await_requests()


@compiled
def order_before_flag():
    """Order stores by proxy to a PE before the next `store_flag` there, which itself orders direct stores."""
    if COPIES_BY_PROXY:
        await_requests()


@compiled
def store_flag(pe, address, value):
    """Store the int64 ``value`` on PE ``pe`` after this PE's direct stores there; ``address`` is that on this PE."""
    if PROXIED and not reachable(pe):
        submit(STORE | 8 << 16, pe, address - heap_base(), value, value, None)
    else:
        store_flag_near(address + peer_delta(pe), value)


@compiled
def store_flag_near(address, value):
    """Store ``value``, an int64 flag, at an address after all earlier stores; plain where there are no atomics.

    A flag has one writer, and a link does not split a store of 8 bytes.
    """
    if ROUTED:
        before_flag()
        store_volatile(address, value)
    else:
        atomic_store_flag(address, value)
