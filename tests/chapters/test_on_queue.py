"""The on-queue forms: order with kernels and with each other, real copies, results, errors."""

from __future__ import annotations

import gc
import random
import sys
import threading
import time
import weakref
from typing import Any

import numpy as np
import pytest
from common import SAMPLE, WIDTH, dpctl, dpex, dpnp, kapi, new_queue, pattern, refused, ring, same, symmetric
from subprocesses import program, run_program, succeeded
from test_strided import SHAPED, check_strides, check_views

import ishmem
from ishmem.common.type_tables import RMA_TYPES, SIGNAL_TYPES

LARGE = 40_000
READY = dpctl.SyclEvent()


@dpex.kernel
def fill(item: kapi.Item, out, factor):
    i = item.get_id(0)
    out[i] = i * factor


@dpex.kernel
def add_one(item: kapi.Item, source, out):
    i = item.get_id(0)
    out[i] = source[i] + 1


# ---- copies


@pytest.mark.one_type("int16")
@pytest.mark.ishmem([1, 2, 3, 4])
@pytest.mark.parametrize("dtype", RMA_TYPES)
def test_copies_of_each_type_and_alignment(dtype: str) -> None:
    me, n, right, left = ring()
    span = WIDTH * len(SAMPLE)
    mine, theirs = pattern(dtype, span, me), pattern(dtype, span, left)
    source, dest, back = symmetric(mine), symmetric(pattern(dtype, span, 99)), dpnp.zeros(span, dtype=dtype)
    queues = [None, new_queue(source)]
    expected = pattern(dtype, span, 99)
    for case, (size, start, to) in enumerate(SAMPLE):
        start, to = WIDTH * case + start, WIDTH * case + to
        origin = (source, mine)[case % 2][start : start + size]
        expected[to : to + size] = theirs[start : start + size]
        put = (ishmem.put_on_queue, ishmem.put_nbi_on_queue)[case % 2]
        event = put(dest[to : to + size], origin, right, queues[case % 2])
        assert isinstance(event, dpctl.SyclEvent)
    for queue in queues:
        ishmem.quiet_on_queue(queue).wait()
    ishmem.barrier_all()
    same(dest, expected)
    host = np.zeros(span, dtype)
    ishmem.get_on_queue(back, dest, right).wait()
    ishmem.get_nbi_on_queue(host, source, left, queues[1], nelems=span).wait()
    same(host, theirs)
    now = np.empty_like(expected)
    ishmem.get(now, dest, right)
    same(back, now)
    ishmem.barrier_all()
    ishmem.put_on_queue(dest[3:4], mine[5], right).wait()
    ishmem.barrier_all()
    same(dest[3:4], theirs[5:6])


# ---- strided


@pytest.mark.one_type("int16")
@pytest.mark.ishmem
@pytest.mark.parametrize("dtype", ["bool", "int16", "float32", "uint64", "complex128"])
def test_strided_copies(dtype: str) -> None:
    me, n, right, left = ring()
    mine, theirs = pattern(dtype, 400, me), pattern(dtype, 400, left)
    source = symmetric(mine)
    queue, packed = new_queue(source), np.zeros(60, dtype)
    check_strides(dtype, "_on_queue")
    ishmem.ibget_on_queue(packed, source, 3, 9, 3, 20, left, queue, [READY]).wait()
    same(packed, np.concatenate([theirs[9 * i : 9 * i + 3] for i in range(20)]))
    refused(ValueError, "no gaps", ishmem.iget_on_queue, packed, source, 2, 1, 5, left)
    refused(ValueError, "strides are at least 1", ishmem.iput_on_queue, source, source, 0, 1, 5, left)
    ishmem.barrier_all()
    # Interleaved parts of one array, on this PE itself.
    ishmem.iput_on_queue(source, source[1:], 2, 2, 100, me, queue).wait()
    swapped = mine.copy()
    swapped[0:200:2] = mine[1:200:2]
    same(source, swapped)


@pytest.mark.ishmem(2)
@pytest.mark.parametrize("count", [0, 5, 13])
def test_copies_of_views(count: int) -> None:
    """Views in up to three dimensions, transposed and backwards, from and to private and host memory."""

    def put(*arguments: Any, nelems: int | None) -> None:
        ishmem.put_on_queue(*arguments, nelems=nelems).wait()

    def get(*arguments: Any, nelems: int | None) -> None:
        ishmem.get_on_queue(*arguments, nelems=nelems).wait()

    check_views("int16", count, put, put, get, get, on_host=False)
    me, n, right, left = ring()
    values = [pattern("int16", 120, pe).reshape(4, 5, 6) for pe in range(n)]
    guard, source = np.zeros((4, 5, 6), "int16"), symmetric(values[me])
    for to, origin in SHAPED:
        packed, nelems = np.zeros(to(guard).shape, "int16"), min(count, to(guard).size) if count else None
        get(packed, origin(source), right, nelems=nelems)
        wanted = np.zeros(packed.size, "int16")
        wanted[:nelems] = origin(values[right]).ravel()[:nelems]
        same(packed, wanted.reshape(packed.shape))
    ishmem.barrier_all()
    swapped = symmetric(values[me][0, :, :5])
    ishmem.put_on_queue(swapped, swapped.T, me).wait()  # arrays that overlap
    same(swapped, np.ascontiguousarray(values[me][0, :, :5].T))
    with pytest.raises(ValueError, match="dest is in host memory, where the blocks must leave no gaps"):
        ishmem.get_on_queue(guard[:, 1], source[:, 1], right)


# ---- order


def check_chain(rounds: int) -> None:
    """Kernel, put with signal, and on the other PE wait, kernel: each ordered by events only."""
    me, n, right, left = ring()
    work, inbox = ishmem.zeros(LARGE, dtype="i4"), ishmem.zeros(LARGE, dtype="i4")
    signal, freed = ishmem.zeros(1, dtype="u8"), ishmem.zeros(1, dtype="u8")
    out, seen = dpnp.zeros(LARGE, dtype="i4"), dpnp.zeros(1, dtype="u8")
    receiving, acknowledging = new_queue(work), new_queue(work)
    ishmem.barrier_all()
    sent = done = READY
    for number in range(1, rounds + 1):
        _, made = dpex.call_kernel_async(fill, kapi.Range(LARGE), (sent,), work, number * (me + 1))
        free = ishmem.signal_wait_until_on_queue(
            freed, ishmem.CMP_GE, number - 1, np.zeros(1, "i8"), acknowledging, [made]
        )
        sent = ishmem.put_signal_on_queue(inbox, work, signal, 1, ishmem.SIGNAL_ADD, right, None, [free])
        come = ishmem.signal_wait_until_on_queue(signal, ishmem.CMP_GE, number, seen, receiving)
        _, done = dpex.call_kernel_async(add_one, kapi.Range(LARGE), (come,), inbox, out)
        done.wait()
        same(out, np.arange(LARGE, dtype="i4") * (number * (left + 1)) + 1)
        assert int(seen[0]) == number
        ishmem.put_signal_nbi_on_queue(
            inbox[:0], inbox[:0], freed, number, ishmem.SIGNAL_SET, left, receiving, [done]
        ).wait()
    ishmem.barrier_all()


@pytest.mark.ishmem
def test_kernels_and_signals_follow_each_other() -> None:
    check_chain(12 if ishmem.n_pes() < 4 else 4)


@pytest.mark.ishmem([1, 2, 3])
@pytest.mark.parametrize("dtype", SIGNAL_TYPES)
def test_signals_follow_the_calls_before_them(dtype: str) -> None:
    """Updates of signals follow the calls before them on the queue, and quiet and fence are among these."""
    me, n, right, left = ring()
    flags, box, queue = ishmem.zeros((2, 3), dtype=dtype), ishmem.zeros(LARGE, dtype="i4"), None
    for number in (1, 2):
        ishmem.put_on_queue(box, np.full(LARGE, number, "i4"), right, queue)
        ishmem.fence_on_queue(queue)
        ishmem.signal_add_on_queue(flags, 3, right, queue, index=(1, 2))
    last = ishmem.signal_set_on_queue(flags, 9, right, queue, index=1)
    ishmem.signal_wait_until(flags, ishmem.CMP_EQ, 6, (1, 2))
    same(box, np.full(LARGE, 2, "i4"))
    last.wait()
    ishmem.barrier_all()
    same(flags, np.array([[0, 9, 0], [0, 0, 6]], dtype))
    for wrong, error in (((flags, 2**70, me), ValueError), ((flags, 1, ishmem.n_pes()), IndexError)):
        with pytest.raises(error):
            ishmem.signal_add_on_queue(*wrong, queue)


def check_random(seed: int) -> None:
    """Operations on several queues, ordered only by their dependences, submitted in any order."""
    me, n, right, left = ring()
    generator = random.Random(seed)
    steps = 40
    cells = ishmem.zeros(steps + 1, dtype="i8")
    queues = [new_queue(cells) for _ in range(3)]
    ishmem.p(cells, 7 + me, me, 0)
    ishmem.barrier_all()
    events = [READY]
    for step in range(1, steps + 1):
        # Element step comes from element step - 1, with dependences that are more than it needs.
        extra = generator.sample(events, min(len(events), generator.randrange(3)))
        depends = [*extra, events[-1]]
        generator.shuffle(depends)
        source, dest = cells[step - 1 : step], cells[step : step + 1]
        queue = generator.choice(queues)
        if generator.random() < 0.7:
            events.append(ishmem.put_on_queue(dest, source, me, queue, depends))
        else:
            events.append(ishmem.get_on_queue(dest, source, me, queue, depends))
    events[-1].wait()
    same(cells, np.full(steps + 1, 7 + me))
    # And without dependences, on one queue: the queue's own order.
    ishmem.p(cells, -me, me, 0)
    for step in range(1, steps + 1):
        event = ishmem.put_on_queue(cells[step : step + 1], cells[step - 1 : step], me, queues[0])
    event.wait()
    same(cells, np.full(steps + 1, -me))
    ishmem.barrier_all()


@pytest.mark.ishmem([2, 3])
def test_dependences_in_any_order() -> None:
    for seed in range(3):
        check_random(seed)


@pytest.mark.ishmem([2, 4])
def test_nothing_starts_before_its_dependences() -> None:
    """No operation starts before its dependences, which wait for a flag that is set last."""
    me, n, right, left = ring()
    flag, a = ishmem.zeros(1, dtype="i8"), ishmem.zeros(4, dtype="i8")
    source, queue = dpnp.full(4, 5 + me, dtype="i8"), new_queue(a)
    local = np.zeros(4, "i8")
    wait = ishmem.wait_until_on_queue(flag, ishmem.CMP_EQ, 1, queue)
    put = ishmem.put_on_queue(a, source, right, None, [wait])
    got = ishmem.get_on_queue(local, a, right, queue)
    quiet = ishmem.quiet_on_queue(None)
    time.sleep(0.05)
    ishmem.sync_all()
    now = np.ones(4, "i8")
    ishmem.get(now, a, me)  # a.asnumpy() would wait for the put
    same(now, np.zeros(4, "i8"))
    complete = dpctl.event_status_type.complete
    assert all(event.execution_status != complete for event in (wait, put, got, quiet))
    ishmem.sync_all()
    ishmem.p(flag, 1, me)
    for event in (put, got, quiet):
        event.wait()
    ishmem.barrier_all()
    same(a, np.full(4, 5 + left))


@pytest.mark.ishmem(2)
@pytest.mark.parametrize("events", [1, 16, 17, 40])
def test_a_put_waits_for_many_dependences(events: int) -> None:
    me, n, right, left = ring()
    source, dest = symmetric(pattern("int64", events, me)), ishmem.zeros(events, dtype="int64")
    last, queue = ishmem.zeros(events, dtype="int64"), new_queue(source)
    puts = [ishmem.put_on_queue(dest[i : i + 1], source[i : i + 1], me) for i in range(events)]
    ishmem.put_on_queue(last, dest, right, queue, puts).wait()
    ishmem.barrier_all()
    same(last, pattern("int64", events, left))


@pytest.mark.ishmem(1)
def test_other_threads_run_during_a_wait() -> None:
    """Fails only by a time-out: the thread that ends the wait does not run."""
    flag = ishmem.zeros(1, dtype="int64")
    event = ishmem.wait_until_on_queue(flag, ishmem.CMP_EQ, 1)
    thread = threading.Timer(0.05, ishmem.p, (flag, 1, 0))
    thread.start()
    event.wait()
    thread.join()


@pytest.mark.ishmem([1, 2, 3])
def test_operations_of_an_in_order_queue_follow_each_other() -> None:
    """On an in-order queue, kernels and on-queue operations follow each other without any dependences."""
    me, n, right, left = ring()
    inbox, flag = ishmem.zeros(LARGE, dtype="i4"), ishmem.zeros(1, dtype="u8")
    queue = new_queue(inbox, "in_order")
    assert queue.is_in_order
    work, out = dpnp.zeros(LARGE, dtype="i4", sycl_queue=queue), dpnp.zeros(LARGE, dtype="i4", sycl_queue=queue)
    ishmem.barrier_all()
    for number in range(1, 6):
        dpex.call_kernel_async(fill, kapi.Range(LARGE), (READY,), work, number * (me + 1))
        ishmem.put_signal_on_queue(inbox, work, flag, 1, ishmem.SIGNAL_ADD, right, queue)
        ishmem.signal_wait_until_on_queue(flag, ishmem.CMP_GE, number, np.zeros(1, "i8"), queue)
        ishmem.get_on_queue(work, inbox, me, queue)
        _, done = dpex.call_kernel_async(add_one, kapi.Range(LARGE), (READY,), work, out)
        done.wait()
        same(out, np.arange(LARGE, dtype="i4") * (number * (left + 1)) + 1)
        ishmem.barrier_all_on_queue(queue).wait()


# ---- waits


@pytest.mark.one_type("int64")
@pytest.mark.ishmem
@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32", "uint64"])
def test_each_wait_for_a_value(dtype: str) -> None:
    me, n, right, left = ring()
    ivars = ishmem.zeros(6, dtype=dtype)
    values = dpnp.asarray(np.arange(6, dtype=dtype) + 1)
    ret, host = dpnp.full(1, 9, dtype="u8"), np.full(2, 9, "i8")
    indices, queue = np.full(6, -5, "i4"), new_queue(ivars)
    status = np.array([0, 1, 0, 0, 0, 0], "i4")
    ishmem.barrier_all()
    events = [
        ishmem.wait_until_on_queue(ivars, ishmem.CMP_GE, 3, index=2),
        ishmem.wait_until_any_on_queue(ivars, ishmem.CMP_EQ, 3, ret, queue),
    ]
    ishmem.p(ivars, 3, right, 2)
    for event in events:
        event.wait()
    same(ret, np.full(1, 2, "u8"))
    ishmem.wait_until_some_on_queue(ivars, indices, ishmem.CMP_NE, 0, host, queue).wait()
    assert host.tolist() == [1, 9] and indices.tolist() == [2, -5, -5, -5, -5, -5]
    ishmem.barrier_all()
    late = [
        ishmem.wait_until_all_on_queue(ivars, ishmem.CMP_GT, 0, queue, status=status),
        ishmem.wait_until_all_vector_on_queue(ivars, ishmem.CMP_LE, values, queue),
        ishmem.wait_until_any_vector_on_queue(ivars, ishmem.CMP_EQ, values, host, queue, status=np.ones(6, "i4")),
        ishmem.wait_until_some_vector_on_queue(ivars, indices, ishmem.CMP_EQ, values, ret, queue, status=status),
    ]
    for i in (0, 2, 3, 4, 5):
        ishmem.p(ivars, i + 1, right, i)
    for event in late:
        event.wait()
    assert host[0] == -1  # all were ignored
    assert int(ret[0]) == 5 and sorted(indices[:5].tolist()) == [0, 2, 3, 4, 5]
    ishmem.barrier_all()


@pytest.mark.ishmem([1, 2])
def test_arguments_are_kept_alive() -> None:
    """An operation keeps its arrays alive after the caller has dropped them."""
    me = ishmem.my_pe()
    signal = ishmem.zeros(1, dtype="u8")
    kept, events = [], []
    # All made before: what would fill one has to wait behind the operations of the same queue.
    results = [make() for make in (lambda: np.zeros(1, "i8"), lambda: dpnp.zeros(1, dtype="i8")) * 20]
    while results:
        ret = results.pop()
        before = sys.getrefcount(ret)
        events.append(ishmem.signal_wait_until_on_queue(signal, ishmem.CMP_EQ, 77, ret))
        assert sys.getrefcount(ret) > before
        if type(ret).__weakrefoffset__:  # dpnp arrays have none since dpnp 0.20
            kept.append(weakref.ref(ret))
        del ret
    gc.collect()
    assert len(kept) >= 20
    assert all(reference() is not None for reference in kept)
    ishmem.signal_set(signal, 77, me)
    for event in events:
        event.wait()
    assert all(int(reference()[0]) == 77 for reference in kept[-1:])
    ishmem.barrier_all()


# ---- collectives


@pytest.mark.ishmem
def test_barriers_deliver_earlier_puts() -> None:
    """After the barrier's event, what every PE had put before is there; on any queue."""
    me, n = ishmem.my_pe(), ishmem.n_pes()
    cells = ishmem.zeros(n, dtype="i8")
    queue = new_queue(cells)
    for number in range(1, 6):
        put = [ishmem.put_on_queue(cells[me : me + 1], np.full(1, number), pe, queue) for pe in range(n)]
        on = queue if number % 2 else None
        ishmem.barrier_all_on_queue(on, put).wait()
        same(cells, np.full(n, number))
        after = ishmem.sync_all_on_queue(queue)
        ishmem.team_sync_on_queue(ishmem.TEAM_WORLD, None, [after]).wait()
    ishmem.barrier_all()


@pytest.mark.ishmem(2)
def test_barrier_calls_do_not_block() -> None:
    """A call returns although the PEs whose barriers the earlier ones wait for have not called yet.

    Fails only by a time-out: a call does not return.
    """
    me, n = ishmem.my_pe(), ishmem.n_pes()
    called = ishmem.zeros(1, dtype="i8")
    ishmem.barrier_all()
    for turn in range(1, 9):
        if me:
            ishmem.wait_until(called, ishmem.CMP_GE, turn)
        for _ in range(20):
            done = ishmem.barrier_all_on_queue()
        for pe in range(1, n) if me == 0 else ():
            ishmem.p(called, turn, pe)
    done.wait()
    ishmem.barrier_all()


# ---- errors


@pytest.mark.ishmem([1, 2])
def test_wrong_arguments_are_refused() -> None:
    me, n, right, left = ring()
    a, signal, reals = ishmem.zeros(4, dtype="i4"), ishmem.zeros(1, dtype="u8"), ishmem.zeros(1)
    other, eight = dpnp.zeros(4, dtype="i4"), np.zeros(8, "i4")
    ret, real = np.zeros(1, "i8"), ishmem.zeros(4, dtype="f4")
    cases: list[tuple[type[Exception], str, Any, tuple[Any, ...]]] = [
        (IndexError, f"pe is {n}", ishmem.put_on_queue, (a, other, n)),
        (ishmem.SymmetryError, "not on the symmetric heap", ishmem.put_on_queue, (other, a, right)),
        (ishmem.SymmetryError, "not on the symmetric heap", ishmem.get_on_queue, (a, other, right)),
        (ishmem.SymmetryError, "not on the symmetric heap", ishmem.iput_on_queue, (other, a, 1, 1, 2, right)),
        (TypeError, "must be equal", ishmem.put_on_queue, (a, np.zeros(4, "i8"), right)),
        (ValueError, "4 elements", ishmem.put_nbi_on_queue, (a, eight, right)),
        (TypeError, "dpctl.SyclQueue, got str", ishmem.put_on_queue, (a, other, right, "gpu")),
        (TypeError, "dpctl.SyclEvent, got int", ishmem.put_on_queue, (a, other, right, None, [3])),
        (TypeError, "dpctl.SyclEvent, got int", ishmem.quiet_on_queue, (None, 3)),
        (ValueError, "cmp is 9", ishmem.wait_until_on_queue, (a, 9, 1)),
        (TypeError, "ivar has dtype float32", ishmem.wait_until_on_queue, (real, ishmem.CMP_EQ, 1)),
        (TypeError, "sig_addr has dtype float64", ishmem.signal_wait_until_on_queue, (reals, ishmem.CMP_EQ, 1, ret)),
        (TypeError, "ret has dtype int32", ishmem.signal_wait_until_on_queue, (signal, ishmem.CMP_EQ, 1, eight)),
        (ValueError, "ret is empty", ishmem.wait_until_any_on_queue, (a, ishmem.CMP_EQ, 1, ret[:0])),
        (ValueError, "indices has 3", ishmem.wait_until_some_on_queue, (a, eight[:3], ishmem.CMP_EQ, 1, ret)),
        (ValueError, "sig_op is 5", ishmem.put_signal_on_queue, (a, other, signal, 1, 5, right)),
        (TypeError, "sig_addr has dtype float64", ishmem.put_signal_on_queue, (a, other, reals, 1, 0, right)),
    ]
    for error, words, call, arguments in cases:
        refused(error, words, call, *arguments)
    ishmem.quiet_on_queue().wait()
    same(a, np.zeros(4, "i4"))
    ishmem.barrier_all()


@pytest.mark.ishmem(2, init=False, env={"ISHMEM_LEAKS": "ignore"})
def test_finalize_completes_what_is_outstanding() -> None:
    """Operations on queues, which wait for each other."""
    ishmem.init()
    me, n, right, left = ring()
    out, flag, host = ishmem.zeros(1 << 20, dtype="i4"), ishmem.zeros(1, dtype="i8"), np.zeros(1 << 20, "i4")
    ishmem.barrier_all()
    wait = ishmem.wait_until_on_queue(flag, ishmem.CMP_EQ, 1, new_queue(out))
    ishmem.put_on_queue(out, np.full(1 << 20, me + 1, "i4"), right, None, [wait])
    ishmem.get_on_queue(host, out, me, None)
    ishmem.put_on_queue(flag, np.ones(1, "i8"), right, new_queue(out))
    ishmem.finalize()
    assert host.min() in (0, left + 1) and host[0] in (0, left + 1)


@pytest.mark.parametrize("how", ["exit", "raise"])
def test_a_pe_leaves_operations_outstanding(how: str) -> None:
    """The PE that waits for it raises PeerLost, if `ishmem run` does not end it before; neither crashes."""
    done = run_program(program("pe_leaves_operations_on_queues"), 2, how)
    statuses = (1,) if how == "exit" else (1, 5)  # of whichever PE is first
    assert done.returncode in statuses and "SIGSEGV" not in done.stderr, done.stderr
    assert ("told 1" in done.stdout) if how == "exit" else ("SystemError: on purpose" in done.stderr), done


def test_a_program_that_imports_no_kernels() -> None:
    done = succeeded(run_program(program("barrier_on_a_queue"), 2))
    assert done.stdout.count("through") == 2


def test_finalize_waits_until_arguments_are_released() -> None:
    """SYCL releases them under the interpreter's lock, which aborts the process when the interpreter has ended."""
    succeeded(run_program(program("arguments_kept_by_a_queue"), 1))
