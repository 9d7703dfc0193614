"""Where peers are: tables of kernels, and addresses as on Intel GPUs, whose highest bits are set.

No process of this machine can have memory at such addresses, so only what computes with them is tested.
"""

from __future__ import annotations

import struct
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from common import dpex, kapi

import ishmem
from ishmem import _core
from ishmem.common.errors import IshmemError
from ishmem.common.layout import Layout
from ishmem.common.violations import NOT_SYMMETRIC, Violation, routine_number
from ishmem.runtime import heap as heaps, job, network, violation_errors
from ishmem.testing import Pes

HIGH = 0xFF00_0000_0100_0000
"""A device address as Level Zero allocates on a Max; it is negative as an int64."""
LOW = 0x0000_7F12_3400_0000
SIZE = 64 << 20


def as_int64(address: int) -> int:
    return address - (1 << 64) if address >> 63 else address


@pytest.mark.parametrize("base", [HIGH, LOW])
def test_distances(base: int) -> None:
    bases = [base, HIGH, HIGH + SIZE, HIGH - SIZE, LOW, 0xFFFF_FFFF_0000_0000]
    table = struct.unpack("<6q", heaps.distances(base, bases))
    assert table[0] == 0
    for distance, other in zip(table, bases):
        assert (base + distance) % (1 << 64) == other
        assert as_int64(base) + distance in (as_int64(other), as_int64(other) + (1 << 64), as_int64(other) - (1 << 64))


def test_places() -> None:
    assert heaps.places([2, 3, 5], 7) == bytes([0, 0, 1, 2, 0, 3, 0])
    assert max(heaps.places(range(255), 1000)) == 255
    with pytest.raises(IshmemError, match=r"256 PEs on one node; .* allows 255"):
        heaps.places(range(256), 1000)


def test_nodes() -> None:
    """Nodes are numbered in the order of their first PEs, from one record of 64 bytes for each PE."""
    records = [network.record(name) for name in ("b", "a", "b", "c", "a")]
    assert {len(each) for each in records} == {network.RECORD} == {64}
    assert network.nodes_of(records) == [0, 1, 0, 2, 1]


def test_far_addresses() -> None:
    """Those of devices are not far."""
    for address in (HIGH, HIGH + SIZE, 0xFFFF_FFFF_FFFF_0000, 0xC000_0000_0000_0000, LOW, 4096):
        assert not _core.is_far(address)
    for pe, place in ((0, 0), (1, 64), (9_999, (1 << 44) - 1)):
        assert _core.is_far(_core.far_address(pe, place))
    assert _core.far_address(3, 0) + 8 == _core.far_address(3, 8)


def test_violation_names_the_array() -> None:
    """A kernel records the address as an int64; the error names the allocation all the same."""
    live = {0: SimpleNamespace(offset=4096, reserved=4096, what="zeros", where="prog.py:1")}
    heap = SimpleNamespace(base=HIGH, pe=0, layout=Layout(2, 2), allocator=SimpleNamespace(live=live))
    found = Violation(1, 1, routine_number("p"), NOT_SYMMETRIC, 1, as_int64(HIGH + 4096), 0, 1, 4)
    words = violation_errors._words(heap, [], found)  # type: ignore[arg-type]
    assert f"{HIGH + 4096:#x} (zeros, from prog.py:1)" in words


def check_kernel() -> None:
    """Kernels compute with addresses in a heap that is high up."""
    from ishmem.kernels.intrinsics import address_of, at_address
    from ishmem.kernels.runtime_checks import own_array_fits
    from ishmem.kernels.spec_constants import heap_base, heap_end, user_start
    from ishmem.runtime import kernel_constants

    @dpex.kernel
    def compute(item: kapi.Item, out, address, distance):
        out[0] = address_of(at_address(out, address + distance))
        out[1] = own_array_fits(0, address, 4, 8, 4)
        out[2] = heap_base()
        out[3] = address - heap_base()
        out[4] = -address & 15  # the head of a copy, up to the next wide unit
        out[5] = heap_end() - user_start()

    facts, process = kernel_constants.bound()
    layout = job.current().heap.layout
    high = kernel_constants.ProcessConstants.of(HIGH, SIZE, ishmem.my_pe(), layout, range(ishmem.n_pes()), 1, 1)
    out = ishmem.zeros(6, dtype="i8")
    offset = layout.size + 4099
    kernel_constants.bind(facts, high)
    try:
        dpex.call_kernel(compute, kapi.Range(1), out, as_int64(HIGH + offset), 2 * SIZE)
    finally:
        kernel_constants.bind(facts, process)
    wanted = [as_int64(HIGH + offset + 2 * SIZE), 1, as_int64(HIGH), offset, -offset & 15, SIZE - layout.size]
    np.testing.assert_array_equal(out.asnumpy(), wanted)


def finder() -> Any:
    """Return a kernel that finds the place of each PE and its distance, compiled with the constants of now."""
    from ishmem.kernels.peers import peer_delta, place_of

    @dpex.kernel
    def find(item: kapi.Item, out, n):
        for pe in range(n):
            out[pe, 0] = place_of(pe)
            if place_of(pe) >= 0:
                out[pe, 1] = peer_delta(pe)

    return find


def rebind(options: Any, process: Any) -> None:
    """Compile kernels from now on as those of another job; a program may not do that."""
    from ishmem.runtime import kernel_constants

    kernel_constants._former = None
    kernel_constants.bind(options, process)


def check_tables() -> None:
    """In a job on several nodes kernels find the places of PEs that are consecutive, and of those that are not."""
    from ishmem.runtime import kernel_constants

    facts, process = kernel_constants.bound()
    heap, count = job.current().heap, 12
    table = ishmem.zeros(64, dtype="u1")
    distances = ishmem.zeros(8, dtype="i8")
    out = ishmem.zeros((count, 2), dtype="i8")
    for near in ((4, 5, 6, 7), (0, 1, 2, 3), (1, 4, 7, 10), (2, 3, 8, 9)):
        table[:count] = np.frombuffer(heaps.places(near, count), "u1")
        distances[:4] = np.frombuffer(heaps.distances(heap.base, [HIGH + place for place in range(4)]), "i8")
        out[...] = 7
        there = kernel_constants.ProcessConstants.of(heap.base, heap.size, near[0], Layout(count, 4), near, 1, 1)
        address = table.__sycl_usm_array_interface__["data"][0]
        constants = there._replace(heap=distances.__sycl_usm_array_interface__["data"][0], places=address)
        rebind(kernel_constants.CompileOptions(facts.check, spans=True), constants)
        try:
            dpex.call_kernel(finder(), kapi.Range(1), out, count)
        finally:
            rebind(facts, process)
        seen = out.asnumpy()
        for pe in range(count):
            place = near.index(pe) if pe in near else -1
            assert seen[pe, 0] == place
            assert seen[pe, 1] == (7 if place < 0 else as_int64(HIGH + place) - heap.base)


def test_kernels() -> None:
    """On a PE of its own: the functions that these kernels call are compiled with constants of another process."""
    with Pes(1) as pool:
        pool.run(check_kernel)
        pool.run(check_tables)
