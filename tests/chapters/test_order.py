"""fence and quiet: when a flag has arrived, the payload before it has arrived."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from common import CHECKING, both_forms, dpex, dpnp, kapi, one_line, refused, ring, same, symmetric

import ishmem

ROUNDS = 4000
WORDS = 5
"""Elements of a payload: more than a cache line holds at some offsets, and no multiple of 16 bytes."""


def send_from_host(slots: Any, flag: Any, sources: list[Any], pe: int, rounds: int) -> None:
    """Put each payload into a slot of its own, by every kind of operation, then the number of slots."""
    for r in range(rounds):
        slot = slice(r * WORDS, (r + 1) * WORDS)
        if r % 7 == 0:
            for k in range(slot.start, slot.stop):
                ishmem.p(slots, k, pe, k)
        else:
            # An off-heap dpnp array takes the copy engine's route, which is slower by far.
            source = sources[2 if r % 50 == 1 else r % 2]
            (ishmem.put, ishmem.put_nbi)[r // 2 % 2](slots[slot], source[slot], pe)
        (ishmem.fence, ishmem.quiet)[r // 4 % 2]()
        if r % 3:
            ishmem.p(flag, r + 1, pe)
        else:
            ishmem.atomic_add(flag, 1, pe)


def receive_on_host(slots: Any, flag: Any, rounds: int) -> None:
    """Read each payload as soon as the flag says that it is there."""
    me, seen = ishmem.my_pe(), np.empty(WORDS, "int64")
    for r in range(rounds):
        ishmem.wait_until(flag, ishmem.CMP_GT, r, timeout=60)
        ishmem.get(seen, slots[r * WORDS : (r + 1) * WORDS], me)
        same(seen, np.arange(r * WORDS, (r + 1) * WORDS))


@dpex.kernel
def send(item: kapi.Item, slots, flag, source, pe, words, rounds):  # type: ignore
    for r in range(rounds):
        first, last = r * words, (r + 1) * words
        # No chain of comparisons with one number: the OpenCL CPU runtime crashes on a 64-bit switch.
        if r & 1:
            ishmem.put(slots[first:last], source[first:last], pe)
        elif r & 2:
            ishmem.put_nbi(slots[first:], source[first:], pe, nelems=words)
        else:
            for k in range(first, last):
                ishmem.p(slots, source[k], pe, k)
        if r & 4:
            ishmem.fence()
        else:
            ishmem.quiet()
        if r % 5:
            ishmem.p(flag, r + 1, pe)
        else:
            ishmem.atomic_set(flag, r + 1, pe)


@dpex.kernel
def send_by_group(item: kapi.NdItem, slots, flag, source, pe, words, rounds):  # type: ignore
    group, rank = item.get_group(), item.get_local_id(0)
    for r in range(rounds):
        first, last = r * words, (r + 1) * words
        if r % 2:
            ishmem.put_work_group(slots[first:last], source[first:last], pe, group)
        else:
            for k in range(first + rank, last, item.get_local_range(0)):
                ishmem.p(slots, source[k], pe, k)
        if r % 3:
            ishmem.fence_work_group(group)
        else:
            ishmem.quiet_work_group(group)
        if rank == 0:
            ishmem.p(flag, r + 1, pe)


@dpex.kernel
def receive(item: kapi.Item, slots, flag, wrong, words, rounds):  # type: ignore
    for r in range(rounds):
        ishmem.wait_until(flag, ishmem.CMP_GT, r)
        for k in range(r * words, (r + 1) * words):
            if slots[k] != k:
                wrong[0] += 1


def check_order(sender: str, receiver: str, rounds: int) -> None:
    """PE 0 sends to the last PE; the others wait, out of the way."""
    me, last = ishmem.my_pe(), ishmem.n_pes() - 1
    slots = ishmem.full(rounds * WORDS, -1, dtype="int64")
    flag, wrong = ishmem.zeros(1, dtype="int64"), dpnp.zeros(1, dtype="int64")
    source, on_heap = dpnp.arange(rounds * WORDS, dtype="int64"), ishmem.arange(rounds * WORDS, dtype="int64")
    shape = kapi.NdRange((3,), (3,)) if sender == "group" else kapi.Range(1)
    kernel = send_by_group if sender == "group" else send
    if me == 0 and sender != "host":
        dpex.call_kernel(kernel, shape, slots, flag, source, last, WORDS, 0)
    if me == last and receiver == "kernel":
        dpex.call_kernel(receive, kapi.Range(1), slots, flag, wrong, WORDS, 0)
    events = []
    ishmem.barrier_all()
    if me == last and receiver == "kernel":
        events += dpex.call_kernel_async(receive, kapi.Range(1), (), slots, flag, wrong, WORDS, rounds)
    if me == 0 and sender != "host":
        events += dpex.call_kernel_async(kernel, shape, (), slots, flag, source, last, WORDS, rounds)
    if me == 0 and sender == "host":
        send_from_host(slots, flag, [np.arange(rounds * WORDS), on_heap, source], last, rounds)
    if me == last and receiver == "host":
        receive_on_host(slots, flag, rounds)
    for event in events:
        event.wait()
    ishmem.barrier_all()
    same(wrong, np.zeros(1, "int64"))
    same(slots, np.arange(rounds * WORDS) if me == last else np.full(rounds * WORDS, -1))


WAYS = [
    ("host", "host", ROUNDS), ("kernel", "host", ROUNDS), ("host", "kernel", ROUNDS // 4), ("kernel", "kernel", ROUNDS),
    ("group", "kernel", ROUNDS // 2),
]  # fmt: skip


@pytest.mark.slow_cases("the same on 2 PEs", "3pes-group-kernel-2000", "3pes-host-kernel-1000")
@pytest.mark.ishmem([1, 2, 3])
@pytest.mark.parametrize(("sender", "receiver", "rounds"), WAYS)
def test_data_come_before_the_flag(sender: str, receiver: str, rounds: int) -> None:
    by_host = sender == "host" and ishmem.runtime.job.current().heap.host_adds(0)
    if ishmem.n_pes() == 1 and receiver == "kernel" and not by_host:
        pytest.skip("the device may not begin the kernel of the sender beside the one that waits")
    check_order(sender, receiver, rounds)


@pytest.mark.ishmem
def test_quiet_delivers_everything() -> None:
    """After quiet a nonblocking get has its data, by either route, and the source buffer of a put may be reused."""
    me, n = ishmem.my_pe(), ishmem.n_pes()
    right, count = (me + 1) % n, 3001
    slots = ishmem.array(np.arange(count) + me)
    for _ in range(50):
        host, device = np.full(count, -1), dpnp.full(count, -1, dtype="int64")
        ishmem.get_nbi(host, slots, right)
        ishmem.get_nbi(device, slots, right)
        ishmem.quiet()
        same(host, np.arange(count) + right)
        same(device, np.arange(count) + right)
    ishmem.barrier_all()
    source = dpnp.full(count, me, dtype="int64")
    ishmem.put_nbi(slots, source, right)
    ishmem.quiet()
    source[...] = -1
    ishmem.barrier_all()
    same(slots, np.full(count, (me - 1) % n))


@dpex.kernel
def put_and_quiet(item: kapi.Item, dest, source, flag, pe, pes):  # type: ignore
    ishmem.put_nbi(dest, source, pe)
    ishmem.pe_quiet(pe)
    ishmem.pe_quiet((pe, pe))
    ishmem.pe_quiet(pes)
    ishmem.atomic_set(flag, 1, pe)


@pytest.mark.ishmem
@pytest.mark.parametrize("where", ["host", "kernel"])
def test_pe_quiet_delivers_to_the_named_pes(where: str) -> None:
    """What was put on the PE has arrived when a flag that follows has."""
    me, n, right, left = ring()
    dest, flag, source = ishmem.zeros(300), ishmem.zeros(1, dtype="i8"), np.full(300, me + 1.0)
    if where == "kernel":
        pes = dpnp.asarray(np.array([right, me], "i4"))
        dpex.call_kernel(put_and_quiet, kapi.Range(1), dest, dpnp.asarray(source), flag, right, pes)
    else:
        ishmem.put_nbi(dest, source, right)
        for pes in (right, [right], (me, right), np.array([right]), dpnp.asarray([right]), range(n), []):
            ishmem.pe_quiet(pes)
        ishmem.atomic_set(flag, 1, right)
    ishmem.wait_until(flag, ishmem.CMP_EQ, 1)
    same(dest, np.full(300, left + 1.0))


quiet_of = dpex.kernel(one_line("ishmem.pe_quiet(pes)", "a", "pes"))
quiet_of_two = dpex.kernel(one_line("ishmem.pe_quiet((first, second))", "a", "first", "second"))


@pytest.mark.ishmem(2)
def test_pe_quiet_refuses_wrong_pes() -> None:
    for wrong, kind in ((2, IndexError), ([0, -1], IndexError), ("0", TypeError), (1.5, TypeError), ([0.5], TypeError)):
        with pytest.raises(kind):
            ishmem.pe_quiet(wrong)


@CHECKING
@pytest.mark.one_node
def test_kernels_check_the_pes_of_pe_quiet() -> None:
    a = dpnp.zeros(1)
    for kernel, pes in ((quiet_of, (2,)), (quiet_of_two, (0, 2)), (quiet_of, (dpnp.asarray([0, 2]),))):
        dpex.call_kernel(kernel, kapi.Range(1), a, *pes)
        refused(IndexError, r"pe_quiet in a kernel.*pe is 2; PEs are numbered 0 to 1", ishmem.quiet)


def put_and_change(item, dest, source, back, got, pe):  # type: ignore
    group = item.get_group()
    ishmem.put_nbi_work_group(dest, source, pe, group)
    ishmem.get_nbi_work_group(got, back, pe, group)
    ishmem.flush_work_group(group)
    for k in range(item.get_local_id(0), source.size, item.get_local_range(0)):
        source[k] = -1
        got[k] += 1
    ishmem.quiet_work_group(group)


PUT_AND_CHANGE = both_forms(put_and_change)
FLUSHES = [
    ("host", 5, True), ("host", 200_000, False), ("host", 200_000, True), ("kernel", 300, True), ("kernel", 7, False),
    ("group", 300, True), ("group", 7, False), ("context", 200_000, False), ("context", 5, True),
]  # fmt: skip
"""Where it is called, elements, and whether the arrays of this PE are symmetric."""


@pytest.mark.ishmem
@pytest.mark.parametrize(("where", "count", "on_heap"), FLUSHES)
def test_flush_frees_source_buffers(where: str, count: int, on_heap: bool) -> None:
    """Flush: source buffers may be reused and the data of a get are there; those of a put arrive unchanged."""
    me, n, right, left = ring()
    dest, back = ishmem.zeros(count), ishmem.full(count, me + 0.5)
    source, got = np.full(count, me + 1.0), np.zeros(count)
    if on_heap or where != "host":
        source, got = ((symmetric if on_heap else dpnp.asarray)(each) for each in (source, got))
    ishmem.barrier_all()
    size = {"group": 8, "kernel": 1}.get(where, 0)
    if size:
        span = kapi.NdRange((size,), (size,))
        dpex.call_kernel(PUT_AND_CHANGE[where == "kernel"], span, dest, source, back, got, right)
    elif where == "context":
        with ishmem.ctx_create() as ctx:
            ctx.put_nbi(dest, source, right)
            ctx.get_nbi(got, back, right)
            ishmem.ctx_flush(ctx)
            source[:] = -1
    else:
        ishmem.put_nbi(dest, source, right)
        ishmem.get_nbi(got, back, right)
        ishmem.flush()
        source[:] = -1
    same(got, np.full(count, right + (1.5 if size else 0.5)))
    ishmem.barrier_all()
    same(dest, np.full(count, left + 1.0))


@pytest.mark.slow_cases("test_flush_frees_source_buffers", "{'ISHMEM_SIM_PEERS': 'none'}")
@pytest.mark.parametrize("env", [{"ISHMEM_COPY_CUTOVER": "1"}, {"ISHMEM_SIM_PEERS": "none"}], ids=str)
def test_flush_frees_source_buffers_on_other_routes(pool_with, env: dict[str, str]) -> None:
    for case in FLUSHES:
        pool_with(2, env).run(test_flush_frees_source_buffers, *case)
