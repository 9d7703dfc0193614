"""Memory order of each operation in kernels: the weakest that OpenSHMEM 1.6 allows.

docs/architecture-order.md has a table with the reasons. The models in tests/models show that weaker orders are
incorrect; tests/device/test_memory_orders.py checks that kernels compile to the instructions in `EMITTED`. The scope is
cross-device.
"""

from __future__ import annotations

from enum import IntEnum


class Order(IntEnum):
    """Memory orders, with the values of SPIR-V's memory semantics."""

    RELAXED = 0x0
    ACQUIRE = 0x2
    RELEASE = 0x4
    SEQ_CST = 0x10


AMO = Order.RELAXED
"""``atomic_*``, and updates of signals and locks: atomic but unordered (9.7). `FENCE` and `QUIET` order them."""

FENCE = Order.RELEASE
"""``fence`` orders earlier stores and atomics before later ones (9.11.1); it need not order loads."""

QUIET = Order.SEQ_CST
"""``quiet`` completes stores (9.11.2); later loads must not move before it."""

SIGNAL = Order.RELEASE
"""In ``put_signal``, between the data and the update of the signal (9.8)."""

WAIT = Order.ACQUIRE
"""At the end of ``wait_until*``, ``signal_wait_until``, ``signal_fetch``, and of a ``test*`` that succeeds (9.10)."""

LOCKED = Order.ACQUIRE
"""After a lock has been acquired (9.12.1). ``clear_lock`` begins with `QUIET`."""

FLAG = Order.RELEASE
"""The store of a flag that notifies a peer in a rendezvous or barrier (9.9); it publishes this PE's earlier stores."""

FLAG_SEEN = Order.ACQUIRE
"""After the wait for a member's flag."""

GROUP = Order.RELEASE
"""In each work-item before the group barrier that precedes a notification of other PEs by work-item 0."""

POST = Order.RELEASE
"""Before the store that posts a request to the proxy, and between reading its result and releasing its slot."""

RING_SEEN = Order.ACQUIRE
"""After each load from the ring: without an acquire, a cache may return an old value to these plain loads."""

ARRIVED = Order.SEQ_CST
"""Before and after the load that flushes this PE's stores to a peer that it reaches without atomics."""

RECORD = Order.RELAXED
"""For data shared only between the kernels and the host of one PE: ring tickets, team records, violation records."""


def _barrier(order: Order) -> tuple[str, Order]:
    return "MemoryBarrier", order


EMITTED: dict[str, list[tuple[str, Order]]] = {
    "p": [],
    "g": [],
    "put": [],
    "get": [],
    "atomic_fetch": [("AtomicLoad", AMO)],
    "atomic_set": [("AtomicExchange", AMO)],
    "atomic_add": [("AtomicIAdd", AMO)],
    "atomic_fetch_add": [("AtomicIAdd", AMO)],
    "atomic_min": [("AtomicSMin", AMO)],
    "atomic_compare_swap": [("AtomicCompareExchange", AMO)],
    "atomic_add with release": [_barrier(FENCE), ("AtomicIAdd", AMO)],
    "atomic_fetch with acquire": [("AtomicLoad", AMO), _barrier(WAIT)],
    "atomic_compare_swap with both": [_barrier(FENCE), ("AtomicCompareExchange", AMO), _barrier(WAIT)],
    "fence": [_barrier(FENCE)],
    "quiet": [_barrier(QUIET)],
    "put_signal": [_barrier(SIGNAL), ("AtomicExchange", AMO)],
    "signal_add": [("AtomicIAdd", AMO)],
    "signal_fetch": [("AtomicLoad", AMO), _barrier(WAIT)],
    "signal_wait_until": [("AtomicLoad", AMO), _barrier(WAIT)],
    "wait_until": [("AtomicLoad", AMO), _barrier(WAIT)],
    "test": [("AtomicLoad", AMO), _barrier(WAIT)],
    "set_lock": [("AtomicIAdd", AMO), ("AtomicLoad", AMO), ("AtomicIAdd", AMO), _barrier(LOCKED)],
    "test_lock": [("AtomicLoad", AMO), ("AtomicCompareExchange", AMO), _barrier(LOCKED)],
    "clear_lock": [("AtomicLoad", AMO), _barrier(QUIET), ("AtomicIAdd", AMO)],
    "barrier_all": [("AtomicStore", FLAG), ("AtomicLoad", AMO), _barrier(FLAG_SEEN)],
    "sync_all": [("AtomicStore", FLAG), ("AtomicLoad", AMO), _barrier(FLAG_SEEN)],
}
"""Memory instructions of one call of each operation, if all PEs are reachable and ``ISHMEM_CHECK`` is not set."""
