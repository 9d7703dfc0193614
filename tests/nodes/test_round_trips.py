"""Acknowledgements that operations on PEs of other nodes ask for, and how often a PE waits for some, by counters."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest
from common import same

import ishmem
from ishmem import _core
from ishmem.common.layout import LINE, PROXY_RING_SLOTS
from ishmem.common.type_tables import Rmw
from ishmem.runtime import job
from ishmem.testing import Pes

PUT, STORE, UPDATE = 0, 2, 4  # as in ishmem/core/proxy.cpp


class Traffic(NamedTuple):
    """What the engine of this PE has sent, as in ishmem/core/network_engine.hpp."""

    requests: int
    asking: int
    answers: int
    round_trips: int
    rounds: int

    def since(self, before: Traffic) -> Traffic:
        return Traffic(*(now - then for now, then in zip(self, before)))


def traffic() -> Traffic:
    return Traffic(*_core.engine_traffic())


@pytest.fixture(scope="module")
def apart(pool_with: Callable[..., Pes]) -> Pes:
    """PEs on four nodes."""
    return pool_with(4, nodes=[1, 1, 1, 1])


def others() -> range:
    return range(1, ishmem.n_pes())


def check_host_quiet(count: int) -> None:
    """A quiet of the host asks all PEs at once.

    PEs that are already in the next barrier acknowledge the put with its packets: if they all do, quiet asks none.
    """
    box = ishmem.zeros(count, dtype="i8")
    ishmem.barrier_all()
    before = traffic()
    for pe in others() if ishmem.my_pe() == 0 else ():
        ishmem.put(box, np.full(count, pe), pe)
    ishmem.quiet()
    sent = traffic().since(before)
    ishmem.barrier_all()
    if ishmem.my_pe() == 0:
        assert sent.asking <= len(others()), sent
        assert sent.round_trips == (sent.asking > 0), sent
    same(box, np.full(count, ishmem.my_pe()))


@pytest.mark.slow_cases("the other one", "1")
@pytest.mark.parametrize("count", [1, 1000])
def test_host_quiet(apart: Pes, count: int) -> None:
    apart.run(check_host_quiet, count)


def check_put_signal_on_queue(count: int) -> None:
    """The event of a put_signal_on_queue waits for one acknowledgement, which is that of the signal."""
    box, flag, last = ishmem.zeros(count, dtype="f8"), ishmem.zeros(1, dtype="u8"), ishmem.n_pes() - 1
    ishmem.barrier_all()
    if ishmem.my_pe() == 0:
        before = traffic()
        ishmem.put_signal_on_queue(box, np.arange(float(count)), flag, 3, ishmem.SIGNAL_ADD, last).wait()
        sent = traffic().since(before)
        assert (sent.asking, sent.round_trips) == (1, 1), sent
    if ishmem.my_pe() == last:
        ishmem.signal_wait_until(flag, ishmem.CMP_EQ, 3)
        same(box, np.arange(float(count)))


@pytest.mark.parametrize("count", [0, 1, 1000])
def test_put_signal_on_queue(apart: Pes, count: int) -> None:
    apart.run(check_put_signal_on_queue, count)


def check_strided_put_signal() -> None:
    """The same for arrays that are not contiguous, which the host puts block by block."""
    box, flag, last = ishmem.zeros((4, 5), dtype="i4"), ishmem.zeros(1, dtype="u8"), ishmem.n_pes() - 1
    ishmem.barrier_all()
    if ishmem.my_pe() == 0:
        before = traffic()
        ishmem.put_signal(box[:, :3], np.arange(12, dtype="i4").reshape(4, 3), flag, 1, ishmem.SIGNAL_SET, last)
        assert traffic().since(before).asking == 0
        ishmem.quiet()
        assert traffic().since(before).asking == 1
    if ishmem.my_pe() == last:
        ishmem.signal_wait_until(flag, ishmem.CMP_EQ, 1)
        wanted = np.zeros((4, 5), "i4")
        wanted[:, :3] = np.arange(12).reshape(4, 3)
        same(box, wanted)


def test_strided_put_signal(apart: Pes) -> None:
    apart.run(check_strided_put_signal)


def word(address: int) -> Any:
    return ctypes.c_int64.from_address(address)


def offset_of(array: Any) -> int:
    return _core.offset_of(array.__sycl_usm_array_interface__["data"][0], array.nbytes)


def serve(requests: Sequence[tuple[int, int, int, int, int]]) -> Traffic:
    """Post requests as kernels do, in a way that the proxy finds all of them at once; return what has been sent.

    A request is its word `what`, the PE, the offset and two operands.
    """
    layout, me = job.current().heap.layout, ishmem.my_pe()
    ring, first = (struct.unpack("<q", _core.read(me, at, 8))[0] for at in (layout.proxy, layout.tickets))
    _core.write(me, layout.tickets, struct.pack("<q", first + len(requests)))
    before = traffic()
    for ticket, request in reversed(list(enumerate(requests, first))):
        slot = ring + LINE * (1 + ticket % PROXY_RING_SLOTS)
        for place, value in enumerate(request, 2):
            word(slot + 8 * place).value = value
        word(slot + 8).value = ticket // PROXY_RING_SLOTS + 1
    while word(ring).value < first + len(requests):
        _core.drive_engine()
    return traffic().since(before)


TRIES = 5


def least(requests: Sequence[tuple[int, int, int, int, int]]) -> Traffic:
    """Serve requests several times, and return the traffic of the time with the fewest packets.

    The engine's thread may send a put before the proxy has asked for its acknowledgement, which is then another packet.
    """
    return min(serve(requests) for _ in range(TRIES))


def check_kernel_quiet() -> None:
    """Puts of kernels to several PEs are acknowledged in one round trip, as are those to one PE with their signal."""
    box, flag = ishmem.zeros(1, dtype="i8"), ishmem.zeros(1, dtype="u8")
    at, signal = offset_of(box), offset_of(flag)
    ishmem.barrier_all()
    if ishmem.my_pe() == 0:
        sent = least([(STORE | 8 << 16, pe, at, 10 + pe, 0) for pe in others()])
        assert (sent.requests, sent.asking, sent.round_trips) == (len(others()), len(others()), 1), sent
        source = box.__sycl_usm_array_interface__["data"][0]
        sent = least([(PUT, 1, at, source, 8), (UPDATE | int(Rmw.ADD) << 8 | 8 << 16, 1, signal, 7, 0)])
        assert (sent.requests, sent.asking, sent.round_trips) == (1, 1, 1), sent
    ishmem.barrier_all()
    same(box, np.array([0 if ishmem.my_pe() < 2 else 10 + ishmem.my_pe()]))
    same(flag, np.array([7 * TRIES if ishmem.my_pe() == 1 else 0], "u8"))


def test_kernel_quiet(apart: Pes) -> None:
    apart.run(check_kernel_quiet)
