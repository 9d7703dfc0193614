"""The memory order of every operation inside kernels: as weak as OpenSHMEM 1.5 allows, and no weaker.

The table with the reasons is in docs/architecture.md. The models in tests/models prove that weaker orders are not
enough; tests/test_orders.py tests that kernels are compiled to `EMITTED`. The scope is always cross-device.
"""

from __future__ import annotations

from enum import IntEnum


class Order(IntEnum):
    """Memory orders, as in the memory semantics of SPIR-V."""

    RELAXED = 0x0
    ACQUIRE = 0x2
    RELEASE = 0x4
    SEQ_CST = 0x10


AMO = Order.RELAXED
"""``atomic_*``, and updates of signals and locks: atomicity alone (9.7). `FENCE` and `QUIET` order them."""

FENCE = Order.RELEASE
"""``fence`` orders stores and atomics before it against those after it (9.11.1); loads need no order."""

QUIET = Order.SEQ_CST
"""``quiet`` completes stores (9.11.2); later loads must not be older."""

SIGNAL = Order.RELEASE
"""In ``put_signal``, between the data and the update of the signal (9.8)."""

WAIT = Order.ACQUIRE
"""At the end of ``wait_until*``, ``signal_wait_until``, ``signal_fetch``, and of a ``test*`` that succeeds (9.10)."""

LOCKED = Order.ACQUIRE
"""Once a lock has been taken (9.12.1). ``clear_lock`` begins with `QUIET`."""

FLAG = Order.RELEASE
"""The store of a flag that notifies a member of a rendezvous or barrier (9.9), after this PE's earlier stores."""

FLAG_SEEN = Order.ACQUIRE
"""After the wait for a member's flag."""

GROUP = Order.RELEASE
"""In each work-item before the group barrier after which the first work-item notifies other PEs."""

POST = Order.RELEASE
"""Between a request to the proxy and the word that posts it, and between reading a result and releasing its slot."""

RING_SEEN = Order.ACQUIRE
"""After each load of a word of the ring: a cache may serve this plain load until an acquire."""

ARRIVED = Order.SEQ_CST
"""Around the load that flushes this PE's stores to a PE that it reaches without atomics."""

RECORD = Order.RELAXED
"""For data that only this PE's kernels and host share: tickets of the ring, records of teams and violations."""



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
    "atomic_compare_swap": [("AtomicCompareExchange", AMO)],
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
"""The instructions of a call of each operation, where kernels reach all PEs and ``ISHMEM_CHECK`` is not set."""
