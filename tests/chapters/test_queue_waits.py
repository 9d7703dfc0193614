"""What waits for a queue waits for its on-queue operations: ``wait``, barriers, and the synchronisation of dpnp."""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Iterator
from typing import Any, Callable

import numpy as np
import pytest
from common import dpctl, dpex, dpnp, kapi, pattern, same
from subprocesses import program, run_program

import ishmem
from ishmem.common.collective_table import COLLECTIVES
from ishmem.common.routines import QUEUE, ROUTINES

COMPLETE = dpctl.event_status_type.complete
LATER = 0.02  # seconds after which a wait for a queue can end
N = 4
OF_BLOCKS = ("broadcast", "fcollect", "collect", "alltoall", "gather", "scatter")


def queue_of(kind: str) -> dpctl.SyclQueue:
    like = dpnp.empty(1).sycl_queue
    return dpctl.SyclQueue(like.sycl_context, like.sycl_device, property="in_order" if kind == "in_order" else ())


def by_barrier(queue: dpctl.SyclQueue) -> None:
    queue.submit_barrier().wait()


def by_dpnp(queue: dpctl.SyclQueue) -> None:
    if hasattr(dpnp, "synchronize_array_data"):  # dpnp of numba-dpex's stack waits for each operation
        dpnp.synchronize_array_data(dpnp.empty(1, sycl_queue=queue))
    else:
        queue.wait()


WAITS: dict[str, Callable[[dpctl.SyclQueue], None]] = {
    "wait": lambda queue: queue.wait(), "submit_barrier": by_barrier, "synchronize_array_data": by_dpnp,
}  # fmt: skip


def arguments(dest: Any, source: Any, flags: Any, ret: Any) -> dict[str, tuple[Any, ...]]:
    """Return, for each routine, its arguments before the queue; the flags are 1."""
    me, size = ishmem.my_pe(), ishmem.n_pes()
    right, equal, ones = (me + 1) % size, (ishmem.CMP_EQ, 1), (ishmem.CMP_EQ, np.ones(N, "i8"))
    counts = [N] * size
    some, copy, signal = np.zeros(N, "i8"), (dest[:N], source[:N], right), (dest, 1, right)
    put_signal = (dest[:N], source[:N], dest[N:], 1, ishmem.SIGNAL_SET, right)
    strided, blocks = (dest, source, 1, 2, N, right), (dest, source, 2, 3, 2, 2, right)
    return {
        **dict.fromkeys(["put", "get", "put_nbi", "get_nbi"], copy),
        "iput": strided, "iget": strided, "ibput": blocks, "ibget": blocks,
        "put_signal": put_signal, "put_signal_nbi": put_signal, "signal_add": signal, "signal_set": signal,
        "signal_wait_until": (flags, *equal, ret), "wait_until": (flags, *equal),
        "wait_until_all": (flags, *equal), "wait_until_any": (flags, *equal, ret),
        "wait_until_some": (flags, some, *equal, ret),
        "wait_until_all_vector": (flags, *ones), "wait_until_any_vector": (flags, *ones, ret),
        "wait_until_some_vector": (flags, some, *ones, ret),
        "fence": (), "quiet": (), "barrier_all": (), "sync_all": (), "team_sync": (ishmem.TEAM_WORLD,),
        **dict.fromkeys(COLLECTIVES, (dest, source)),
        **dict.fromkeys(["broadcast", "gather", "scatter"], (dest, source, 0)),
        "alltoalls": (dest, source, 1, 1, N), "alltoallv": (dest, source, counts, counts),
        "gatherv": (dest, source[:N], counts, 0), "scatterv": (dest[:N], source, counts, 0),
    }  # fmt: skip


@contextlib.contextmanager
def gate(flag: Any, queue: dpctl.SyclQueue) -> Iterator[dpctl.SyclEvent]:
    """Give an event that completes a while after the body has begun; the queue is not that of the body."""
    flag[0] = 0
    opened = ishmem.wait_until_on_queue(flag, ishmem.CMP_EQ, 1, queue)
    timer = threading.Timer(LATER, lambda: ishmem.p(flag, 1, ishmem.my_pe()))
    timer.start()
    yield opened
    timer.join()


@pytest.mark.ishmem([1, 2])
@pytest.mark.parametrize("wait", WAITS)
@pytest.mark.parametrize("kind", ["in_order", "out_of_order"])
def test_a_wait_for_the_queue_completes_each_routine(kind: str, wait: str) -> None:
    queue, room = queue_of(kind), 2 * N * ishmem.n_pes()
    dest, source, flags = ishmem.zeros(room, dtype="i8"), ishmem.ones(room, dtype="i8"), ishmem.ones(N, dtype="i8")
    ret, gated = dpnp.zeros(1, dtype="i8"), (ishmem.zeros(1, dtype="i8"), queue_of("out_of_order"))
    table = arguments(dest, source, flags, ret)
    assert set(table) == {row.name for row in ROUTINES.values() if QUEUE in row.forms}
    for name, given in table.items():
        options = {"nelems": N} if name in OF_BLOCKS else {}
        with gate(*gated) as opened:
            event = getattr(ishmem, f"{name}_on_queue")(*given, **options, sycl_queue=queue, depends=[opened])
            WAITS[wait](queue)
            assert event.execution_status == COMPLETE, name


@pytest.mark.ishmem([1, 2])
@pytest.mark.parametrize("wait", WAITS)
def test_a_wait_for_the_queue_completes_large_copies(wait: str) -> None:
    """Copies that wait for nothing, on the heap's queue."""
    me, size, count = ishmem.my_pe(), ishmem.n_pes(), 1 << 20
    source, dest = ishmem.full(count, me, dtype="i8"), ishmem.zeros(count, dtype="i8")
    ishmem.barrier_all()
    for _ in range(3):
        events = [ishmem.get_on_queue(dest, source, pe) for pe in range(size)]
        WAITS[wait](dest.sycl_queue)
        assert all(event.execution_status == COMPLETE for event in events)
    same(dest, np.full(count, size - 1))


@pytest.mark.ishmem([1, 2])
def test_a_barrier_of_the_queue_separates_operations() -> None:
    """What follows a barrier of the queue may be what an operation before it does not need, but needs the barrier."""
    me, size = ishmem.my_pe(), ishmem.n_pes()
    source, dest, after = (ishmem.full(N, value, dtype="i8") for value in (me, -1, -1))
    queue = dest.sycl_queue
    ishmem.barrier_all()
    flag = ishmem.zeros(1, dtype="i8")
    opened = ishmem.wait_until_on_queue(flag, ishmem.CMP_EQ, 1, queue_of("out_of_order"))
    ishmem.put_on_queue(dest, source, (me + 1) % size, depends=[opened])
    barrier = queue.submit_barrier()
    last = ishmem.put_on_queue(after, source, (me + 1) % size, depends=[barrier])
    assert last.execution_status != COMPLETE
    timer = threading.Timer(LATER, ishmem.p, (flag, 1, me))
    timer.start()
    queue.wait()
    assert barrier.execution_status == last.execution_status == COMPLETE
    timer.join()
    ishmem.barrier_all()
    for array in (dest, after):
        same(array, np.full(N, (me - 1) % size))


@dpex.kernel
def store(item: kapi.Item, out, value):
    out[item.get_id(0)] = value


@pytest.mark.ishmem([1, 2])
def test_waits_on_many_queues() -> None:
    """Waits that are outstanding on some queues do not hold back others, nor kernels and dpnp on their own."""
    me, size = ishmem.my_pe(), ishmem.n_pes()
    flag, a, b = (ishmem.zeros(count, dtype="i8") for count in (1, N, N))
    queues = [queue_of("out_of_order") for _ in range(12)]
    ishmem.barrier_all()
    waits = [ishmem.wait_until_on_queue(flag, ishmem.CMP_EQ, 1, queue) for queue in queues]
    ishmem.put_on_queue(a, np.full(N, me, "i8"), (me + 1) % size)
    a.sycl_queue.wait()
    dpex.call_kernel(store, kapi.Range(N), b.to_device(queues[0]), 7)
    assert int(dpnp.sum(dpnp.arange(10))) == 45 and ishmem.g(flag, me) == 0
    same(b, np.full(N, 7))
    ishmem.barrier_all()
    same(a, np.full(N, (me - 1) % size))
    ishmem.p(flag, 1, me)
    for queue, wait in zip(queues, waits):
        queue.wait()
        assert wait.execution_status == COMPLETE


@pytest.mark.ishmem([1, 2])
def test_submissions_during_a_wait() -> None:
    """A thread that waits for an out-of-order queue does not keep others from submitting, as SYCL does if in-order."""
    me, queue = ishmem.my_pe(), queue_of("out_of_order")
    flag, box, source = ishmem.zeros(1, dtype="i8"), ishmem.zeros(200, dtype="i8"), pattern("int64", 200, me)
    ishmem.barrier_all()
    ishmem.wait_until_on_queue(flag, ishmem.CMP_EQ, 1, queue)
    waiter = threading.Thread(target=queue.wait)
    waiter.start()
    events = [ishmem.put_on_queue(box[i : i + 1], source[i : i + 1], me, queue) for i in range(200)]
    ishmem.p(flag, 1, me)
    waiter.join()
    queue.wait()
    assert all(event.execution_status == COMPLETE for event in events)
    same(box, source)


def test_waits_after_the_job() -> None:
    """A wait for the queue does not wait for operations that an error has left undone."""
    done = run_program(program("queue_after_an_error"), 1)
    assert "[0 1 2]" in done.stdout, done.stderr


def test_a_wait_on_a_queue_that_never_ends_is_told_and_named() -> None:
    done = run_program(program("hang_on_a_queue"), 2, env={"ISHMEM_TIMEOUT": "2"}, timeout=60)
    assert done.returncode != 0 and "WaitTimeout" in done.stderr
    assert re.search(r"PE 0: wait_until_on_queue, element 0 is 0, wanted == 1", done.stderr), done.stderr
