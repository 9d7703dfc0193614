"""What the host does while a kernel of its PE waits for it, on devices with one compute engine.

There the driver writes the commands of all queues into one stream, and the host's atomics on device memory are not
atomic for kernels: a command that stalls until earlier kernels have ended would wait for ever.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, Callable

import numpy as np
import pytest
from common import dpctl, dpex, dpnp, kapi, tensor

import ishmem
from ishmem.testing import Pes

ROUNDS, COUNT = 3, 1 << 14
ONE_ENGINE = {"ISHMEM_SIM_HOST_ATOMICS": "0", "ISHMEM_SIM_ENGINES": "1", "ISHMEM_TIMEOUT": "60"}


@pytest.fixture(scope="module", params=["atomics", "access"])
def one_engine(request: pytest.FixtureRequest) -> Iterator[Pes]:
    """PEs whose kernels do atomics on their peers, and PEs whose atomics all go through the hosts."""
    pool = Pes(2, {**ONE_ENGINE, "ISHMEM_SIM_PEERS": request.param})
    yield pool
    pool.stop()


@dpex.kernel
def answer(item: kapi.Item, token, echo, first, last):
    for turn in range(first, last + 1):
        ishmem.wait_until(token, ishmem.CMP_GE, turn)
        ishmem.p(echo, turn, ishmem.my_pe())


class Calls:
    """Each call makes the right neighbour's token ``turn``."""

    def __init__(self) -> None:
        self.token, self.echo = ishmem.zeros(1, dtype="int64"), ishmem.zeros(1, dtype="int64")
        self.box, self.source = ishmem.zeros(COUNT, dtype="int64"), ishmem.zeros(COUNT, dtype="int64")
        self.to = (ishmem.my_pe() + 1) % ishmem.n_pes()
        context, device = self.token.sycl_queue.sycl_context, self.token.sycl_device
        kinds = {"": (), "in_order": ("in_order",)}
        self.queues = {kind: dpctl.SyclQueue(context, device, property=given) for kind, given in kinds.items()}

    def follow(self, turn: int, *events: Any) -> None:
        """Wait for events, and store the token."""
        for event in events:
            event.wait()
        ishmem.p(self.token, turn, self.to)

    def put_signal_on_queue(self, signal: int, operation: int, kind: str) -> None:
        arrays = self.box, self.source, self.token
        ishmem.put_signal_on_queue(*arrays, signal, operation, self.to, self.queues[kind]).wait()

    def fetch_add(self, turn: int) -> None:
        assert ishmem.atomic_fetch_add(self.token, 1, self.to) == turn - 1

    def swap(self, turn: int) -> None:
        assert ishmem.atomic_compare_swap(self.token, turn - 1, turn, self.to) == turn - 1

    def wait_until_on_queue(self, turn: int) -> None:
        event = ishmem.wait_until_on_queue(self.echo, ishmem.CMP_GE, turn, self.queues[""])
        self.follow(turn)
        event.wait()

    def host_memory_on_queue(self, turn: int) -> None:
        """Copies from and to ordinary host memory return, though they follow a wait."""
        queue, got = self.queues[""], np.empty(COUNT, "int64")
        ishmem.wait_until_on_queue(self.echo, ishmem.CMP_GE, turn, queue)
        ishmem.put_on_queue(self.box, np.full(COUNT, turn), self.to, queue)
        event = ishmem.get_on_queue(got, self.box, self.to, queue)
        self.follow(turn)
        event.wait()
        assert (got == turn).all()


ADD, SET = ishmem.SIGNAL_ADD, ishmem.SIGNAL_SET
CALLS: dict[str, Callable[[Calls, int], Any]] = {
    "atomic_set": lambda c, turn: ishmem.atomic_set(c.token, turn, c.to),
    "atomic_inc": lambda c, turn: ishmem.atomic_inc(c.token, c.to),
    "atomic_fetch_add": Calls.fetch_add,
    "atomic_compare_swap": Calls.swap,
    "signal_add": lambda c, turn: ishmem.signal_add(c.token, 1, c.to),
    "put_signal": lambda c, turn: ishmem.put_signal(c.box, np.full(COUNT, turn), c.token, 1, ADD, c.to),
    "put_nbi": lambda c, turn: (ishmem.put_nbi(c.box, np.full(COUNT, turn), c.to), ishmem.quiet(), c.follow(turn)),
    "get": lambda c, turn: (ishmem.get(c.source, c.box, c.to), c.follow(turn)),
    "barrier_all": lambda c, turn: (ishmem.barrier_all(), c.follow(turn)),
    "put_on_queue": lambda c, turn: c.follow(turn, ishmem.put_on_queue(c.box, c.source, c.to, c.queues[""])),
    "put_signal_on_queue": lambda c, turn: c.put_signal_on_queue(1, ADD, ""),
    "put_signal_on_queue_in_order": lambda c, turn: c.put_signal_on_queue(1, ADD, "in_order"),
    "put_signal_on_queue_set": lambda c, turn: c.put_signal_on_queue(turn, SET, ""),
    "signal_add_on_queue": lambda c, turn: ishmem.signal_add_on_queue(c.token, 1, c.to, c.queues[""]).wait(),
    "signal_add_on_queue_in_order": lambda c, turn: ishmem.signal_add_on_queue(
        c.token, 1, c.to, c.queues["in_order"]
    ).wait(),
    "wait_until_on_queue": Calls.wait_until_on_queue,
    "host_memory_on_queue": Calls.host_memory_on_queue,
}


def check_call(name: str) -> None:
    calls = Calls()
    dpex.call_kernel(answer, kapi.Range(1), calls.token, calls.echo, 1, 0)  # compiled before another kernel waits
    ishmem.barrier_all()
    events = dpex.call_kernel_async(answer, kapi.Range(1), (), calls.token, calls.echo, 1, ROUNDS)
    for turn in range(1, ROUNDS + 1):
        CALLS[name](calls, turn)
        ishmem.wait_until(calls.echo, ishmem.CMP_GE, turn)
    for event in events:
        event.wait()
    ishmem.barrier_all()


@pytest.mark.parametrize("name", CALLS)
def test_call(one_engine: Pes, name: str) -> None:
    one_engine.run(check_call, name)


def check_signals_beside_waits() -> None:
    """Two queues of each PE wait, a kernel follows a wait, and the signal follows a kernel on a third queue."""
    flags, box, source = (ishmem.zeros(1, dtype=dtype) for dtype in ("uint64", "int64", "int64"))
    context, device = flags.sycl_queue.sycl_context, flags.sycl_device
    queues = [dpctl.SyclQueue(context, device, property=kind) for kind in ((), ("in_order",), ())]
    own = [[tensor.asarray(each).to_device(queue) for each in (box, source)] for queue in queues[1:]]
    dpex.call_kernel(answer, kapi.Range(1), *own[0], 1, 0)  # compiled before a queue waits
    ishmem.barrier_all()
    for turn in range(1, ROUNDS + 1):
        events = [ishmem.wait_until_on_queue(flags, ishmem.CMP_GE, turn, queue) for queue in queues[:2]]
        events.append(dpex.call_kernel_async(answer, kapi.Range(1), (), *own[0], 1, 0)[1])
        before = dpex.call_kernel_async(answer, kapi.Range(1), (), *own[1], 1, 0)[1]
        to, given = (ishmem.my_pe() + 1) % ishmem.n_pes(), (turn, ishmem.SIGNAL_SET)
        events.append(ishmem.put_signal_on_queue(box, source, flags, *given, to, queues[2], [before]))
        for event in events:
            event.wait()
        ishmem.barrier_all()


def test_signals_beside_waits(one_engine: Pes) -> None:
    one_engine.run(check_signals_beside_waits)


def check_outstanding_wait() -> None:
    """Nothing waits for an on-queue wait but what follows it."""
    me, right = ishmem.my_pe(), (ishmem.my_pe() + 1) % ishmem.n_pes()
    flag, counter, squares, spread = (ishmem.zeros(count, dtype="int64") for count in (1, 1, 10, 10))
    ishmem.barrier_all()
    wait = ishmem.wait_until_on_queue(flag, ishmem.CMP_EQ, 1)
    put = ishmem.iput_on_queue(spread, np.arange(5), 2, 1, 5, right, depends=[wait])
    events = dpex.call_kernel_async(answer, kapi.Range(1), (put,), flag, counter, 1, 1)
    squares += dpnp.arange(10, dtype="int64") ** 2  # with a copy of ordinary host memory
    assert ishmem.atomic_fetch_add(counter, 5, me) == 0 and ishmem.atomic_fetch(counter, me) == 5
    got = np.empty(10, "int64")
    ishmem.get(got, squares, me)
    assert (got == np.arange(10) ** 2).all() and put.execution_status != dpctl.event_status_type.complete
    ishmem.p(flag, 1, me)
    events[-1].wait()
    ishmem.barrier_all()
    ishmem.get(got, spread, me)
    assert got.tolist() == [0, 0, 1, 0, 2, 0, 3, 0, 4, 0] and ishmem.g(counter, me) == 1


@pytest.mark.slow_cases("the other one", "1")
@pytest.mark.parametrize("adapter", ["0", "1"])
def test_outstanding_wait(adapter: str) -> None:
    """With either of SYCL's adapters for Level Zero. Without host tasks, the first operation of dpnp never ends."""
    with Pes(2, {**ONE_ENGINE, "SYCL_UR_USE_LEVEL_ZERO_V2": adapter}) as pool:
        pool.run(check_outstanding_wait)


def check_refused() -> Any:
    """A kernel that follows a kernel that waits is before the kernel of the atomic in the engine's stream."""
    token, echo = ishmem.zeros(1, dtype="int64"), ishmem.zeros(1, dtype="int64")
    ishmem.atomic_inc(echo, 0)  # compiles the kernel
    waits = dpex.call_kernel_async(answer, kapi.Range(1), (), token, echo, 1, 1)
    follows = dpex.call_kernel_async(answer, kapi.Range(1), (waits[-1],), token, echo, 1, 0)
    try:
        ishmem.atomic_inc(echo, 0)
    except ishmem.IshmemError as error:
        return str(error)
    finally:
        ishmem.p(token, 1, 0)
        follows[-1].wait()
    return ""


@pytest.mark.skipif(os.environ.get("ISHMEM_DEVICE") == "gpu", reason="for the simulator only")
def test_refused() -> None:
    """Where no way is left, an error says so, and what else would do."""
    with Pes(1, {**ONE_ENGINE, "ISHMEM_WAIT_NOTICE": "1"}) as pool:
        (said,) = pool.run(check_refused)
    assert "wait_until" in said and "atomic_set" in said
