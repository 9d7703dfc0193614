"""Memory order of each operation in kernels: the weakest that OpenSHMEM 1.6 allows.

docs/architecture-order.md has a table with the reasons. The models in tests/models show that weaker orders are
incorrect; tests/device/test_memory_orders.py checks that kernels compile to these. The scope is cross-device.
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
