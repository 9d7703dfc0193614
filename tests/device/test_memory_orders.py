"""The memory orders of operations in kernels: those compiled, of ``ishmem.kernels.memory_orders``, and of the docs."""

from __future__ import annotations

import re
from itertools import groupby
from pathlib import Path

import pytest
from common import dpex, dpnp, kapi, one_line
from numba import typeof, types

import ishmem
from ishmem.dpex import spirv
from ishmem.kernels import front_end, memory_orders
from ishmem.kernels.memory_orders import AMO, FENCE, FLAG, FLAG_SEEN, LOCKED, QUIET, SIGNAL, WAIT, Order
from ishmem.testing import Pes

CONSTANT, NULL = 43, 46
# Of each instruction its name, and where among its operands the scope is, and the orders.
ORDERED = {
    225: ("MemoryBarrier", 0, slice(1, 2)),
    228: ("AtomicStore", 1, slice(2, 3)),
    230: ("AtomicCompareExchange", 3, slice(4, 6)),
}
NAMES = {
    227: "Load", 229: "Exchange", 234: "IAdd", 236: "SMin", 237: "UMin", 238: "SMax", 239: "UMax", 240: "And",
    241: "Or", 242: "Xor",
}  # fmt: skip
ORDERED.update({number: (f"Atomic{name}", 3, slice(4, 5)) for number, name in NAMES.items()})
CROSS_DEVICE, CROSS_WORKGROUP = 0, 0x200

Found = list[tuple[str, Order]]


def barrier(order: Order) -> tuple[str, Order]:
    return "MemoryBarrier", order


EMITTED: dict[str, list[tuple[str, Order]]] = {
    "ishmem.p(words, 1, pe)": [],
    "words[1] = ishmem.g(words, pe)": [],
    "ishmem.put(words, words[1:2], pe, 1)": [],
    "ishmem.get(words[1:2], words, pe, 1)": [],
    "words[1] = ishmem.atomic_fetch(words, pe)": [("AtomicLoad", AMO)],
    "ishmem.atomic_set(words, 1, pe)": [("AtomicExchange", AMO)],
    "ishmem.atomic_add(words, 1, pe)": [("AtomicIAdd", AMO)],
    "words[1] = ishmem.atomic_fetch_add(words, 1, pe)": [("AtomicIAdd", AMO)],
    "ishmem.atomic_min(words, 1, pe)": [("AtomicSMin", AMO)],
    "words[1] = ishmem.atomic_compare_swap(words, 0, 1, pe)": [("AtomicCompareExchange", AMO)],
    "ishmem.atomic_add(words, 1, pe, order=ishmem.ORDER_RELEASE)": [barrier(FENCE), ("AtomicIAdd", AMO)],
    "words[1] = ishmem.atomic_fetch(words, pe, order=ishmem.ORDER_ACQUIRE)": [("AtomicLoad", AMO), barrier(WAIT)],
    "words[1] = ishmem.atomic_compare_swap(words, 0, 1, pe, 0, ishmem.ORDER_ACQ_REL)": [
        barrier(FENCE), ("AtomicCompareExchange", AMO), barrier(WAIT),
    ],
    "ishmem.fence()": [barrier(FENCE)],
    "ishmem.quiet()": [barrier(QUIET)],
    "ishmem.put_signal(words, words[1:2], signal, 1, ishmem.SIGNAL_SET, pe, 1)": [
        barrier(SIGNAL), ("AtomicExchange", AMO),
    ],
    "ishmem.signal_add(signal, 1, pe)": [("AtomicIAdd", AMO)],
    "signal[1] = ishmem.signal_fetch(signal)": [("AtomicLoad", AMO), barrier(WAIT)],
    "signal[1] = ishmem.signal_wait_until(signal, ishmem.CMP_EQ, 1)": [("AtomicLoad", AMO), barrier(WAIT)],
    "ishmem.wait_until(words, ishmem.CMP_EQ, 1)": [("AtomicLoad", AMO), barrier(WAIT)],
    "words[1] = ishmem.test(words, ishmem.CMP_EQ, 1)": [("AtomicLoad", AMO), barrier(WAIT)],
    "ishmem.set_lock(words)": [("AtomicIAdd", AMO), ("AtomicLoad", AMO), ("AtomicIAdd", AMO), barrier(LOCKED)],
    "words[1] = ishmem.test_lock(words)": [("AtomicLoad", AMO), ("AtomicCompareExchange", AMO), barrier(LOCKED)],
    "ishmem.clear_lock(words)": [("AtomicLoad", AMO), barrier(QUIET), ("AtomicIAdd", AMO)],
    "ishmem.barrier_all()": [("AtomicStore", FLAG), ("AtomicLoad", AMO), barrier(FLAG_SEEN)],
    "ishmem.sync_all()": [("AtomicStore", FLAG), ("AtomicLoad", AMO), barrier(FLAG_SEEN)],
}
"""Memory instructions of calls of the operations, if all PEs are reachable and ``ISHMEM_CHECK`` is not set."""


def emitted(code: bytes) -> Found:
    """Return the memory barriers and atomics of a module, once where the compiler has repeated them for a loop."""
    constants = {operands[1]: operands[2] for op, operands in spirv.instructions(code) if op == CONSTANT}
    constants.update((operands[1], 0) for op, operands in spirv.instructions(code) if op == NULL)
    found: Found = []
    for op, operands in spirv.instructions(code):
        if op not in ORDERED:
            continue
        name, scope, places = ORDERED[op]
        assert constants[operands[scope]] == CROSS_DEVICE
        (semantics,) = {constants[operand] for operand in operands[places]}
        assert semantics & ~0x1F == CROSS_WORKGROUP
        found.append((name, Order(semantics & 0x1F)))
    return [one for one, _same in groupby(found)]


def compiled(call: str) -> bytes:
    """Return the SPIR-V of a kernel that calls an operation once."""
    kernel = dpex.kernel(one_line(call, "words", "signal", "pe"))
    words, signal = typeof(dpnp.zeros(2, dtype="int64")), typeof(dpnp.zeros(2, dtype="uint64"))
    return front_end.compiled(kernel, (front_end.ItemType(1), words, signal, types.int64))


@dpex.kernel
def nothing(item: kapi.Item, words):  # type: ignore
    words[0] = 0


def find(calls: list[str]) -> dict[str, Found]:
    dpex.call_kernel(nothing, kapi.Range(1), ishmem.zeros(1, dtype="int64"))  # numba-dpex sets itself up
    return {call: emitted(compiled(call)) for call in calls}


@pytest.mark.ishmem(1)
def test_emitted_orders(pes: Pes) -> None:
    (found,) = pes.run(find, list(EMITTED))
    for call, expected in EMITTED.items():
        assert found[call] == expected, call


def test_the_documented_orders() -> None:
    text = (Path(__file__).parents[2] / "docs" / "architecture-order.md").read_text()
    rows = re.findall(r"^\| `([A-Z_]+)` \| (\w+) \|", text, re.MULTILINE)
    assert dict(rows) == {name: value.name for name, value in vars(memory_orders).items() if isinstance(value, Order)}
