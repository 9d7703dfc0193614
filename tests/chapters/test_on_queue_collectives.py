"""The on-queue forms of collectives, reductions and scans: results, order, teams, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from common import dpctl, dpex, dpnp, kapi, new_queue, pattern, refused, same, symmetric

import ishmem
from ishmem.common.type_tables import REDUCTIONS

READY = dpctl.SyclEvent()


def calls(n: int, size: int, me: int) -> dict[str, tuple[Any, ...]]:
    """Return, for each routine, its arguments between ``source`` and the queue; blocks have ``n`` elements."""
    last, counts = size - 1, [n + k for k in range(size)]
    sent, come = [n + me + k for k in range(size)], [n + k + me for k in range(size)]
    return {
        "broadcast": (last,), "fcollect": (), "collect": (), "alltoall": (), "alltoalls": (3, 2, n),
        "alltoallv": (come, sent), "gather": (last,), "scatter": (last,), "gatherv": (counts, last),
        "scatterv": (counts, last), **dict.fromkeys(REDUCTIONS, ()),
    }  # fmt: skip


COUNTED = ("alltoalls", "alltoallv", "gatherv", "scatterv")


def check_results(sizes: tuple[int, ...]) -> None:
    """Each gives what the host's form gives, on teams and queues of all kinds."""
    size = ishmem.n_pes()
    for n in sizes:
        arrays = [ishmem.zeros(3 * size * (n + 2 * size) + 1, dtype="int32") for _ in range(3)]
        for shape in [(0, 1, size), (size - 1, -1, size), (0, 2, (size + 1) // 2)]:
            with ishmem.TEAM_WORLD.split_strided(*shape) as team:
                if team:
                    check_as_host(team, n, *arrays)
                ishmem.sync_all()


def check_as_host(team: ishmem.Team, n: int, *arrays: Any) -> None:
    me, members = team.my_pe(), team.n_pes()
    room = 3 * members * (n + 2 * members) + 1
    source, wanted, seen = (array[:room] for array in arrays)
    source[:] = dpnp.asarray(pattern("int32", room, n, me))
    for number, (name, between) in enumerate(calls(n, members, me).items()):
        options: dict[str, Any] = {"team": team}
        if name not in COUNTED:
            options["nelems"] = n + me if name == "collect" else n
        wanted[:] = seen[:] = number
        getattr(ishmem, name)(wanted, source, *between, **options)
        options |= {"sycl_queue": (None, new_queue(seen))[number % 2], "depends": [READY]}
        event = getattr(ishmem, f"{name}_on_queue")(seen, source, *between, **options)
        assert isinstance(event, dpctl.SyclEvent)
        event.wait()
        same(seen, wanted.asnumpy(), f"{name} {team} {n}")


@pytest.mark.ishmem
def test_results_of_each_routine() -> None:
    check_results((0, 1, 3, 1000))


@dpex.kernel
def add_one(item: kapi.Item, source, out):
    i = item.get_id(0)
    out[i] = source[i] + 1


@pytest.mark.ishmem([1, 2, 3])
def test_kernels_before_and_after() -> None:
    """A kernel makes the data, a reduction follows by its event, and a kernel that uses the result by the next."""
    rounds = 6
    me, n, size = ishmem.my_pe(), ishmem.n_pes(), 5000
    work, total = ishmem.zeros(size, dtype="i8"), ishmem.zeros(size, dtype="i8")
    value, queues = me, [None, new_queue(work)]
    work[:] = me
    sums = []
    ishmem.barrier_all()
    done = READY
    for number in range(rounds):
        _, made = dpex.call_kernel_async(add_one, kapi.Range(size), (done,), work, work)
        reduced = ishmem.sum_reduce_on_queue(total, work, sycl_queue=queues[number % 2], depends=[made])
        out = dpnp.zeros(size, dtype="i8", sycl_queue=work.sycl_queue)
        _, done = dpex.call_kernel_async(add_one, kapi.Range(size), (reduced,), total, out)
        sums.append(out)
        done.wait()
    for number, out in enumerate(sums):
        same(out, np.full(size, sum(range(n)) + n * (number + 1) + 1))
    assert value == me
    ishmem.barrier_all()


@pytest.mark.ishmem
def test_calls_follow_the_order_of_the_queue() -> None:
    """Calls on three queues and by the host on the same team at once: no call is matched with a wrong one."""
    rounds = 12
    me, n = ishmem.my_pe(), ishmem.n_pes()
    sources = [symmetric(np.full(9, 10 * me + k)) for k in range(rounds)]
    dests = [ishmem.zeros(9 * n, dtype="i8") for _ in range(rounds)]
    mine, all_ = ishmem.full(3, me, dtype="i8"), ishmem.zeros(3 * n, dtype="i8")
    queues = [new_queue(mine) for _ in range(3)]
    events = []
    for k in range(rounds):
        # The PEs use their queues in different orders: what counts is the order of the calls.
        queue = queues[(k * (me + 1)) % 3]
        events.append(ishmem.fcollect_on_queue(dests[k], sources[k], sycl_queue=queue))
        if k % 3 == me % 3:
            ishmem.quiet_on_queue(queue)
    for k in range(rounds):
        mine[:] = me + k
        ishmem.fcollect(all_, mine)
        same(all_, np.repeat(np.arange(n) + k, 3))
    for k, event in enumerate(events):
        event.wait()
        same(dests[k], np.repeat(10 * np.arange(n) + k, 9))
    ishmem.barrier_all_on_queue(queues[0]).wait()


@pytest.mark.ishmem([1, 2])
def test_what_the_pes_disagree_in_is_raised_by_the_next_call() -> None:
    n = ishmem.n_pes()
    a, b = ishmem.zeros(4 * n, dtype="i4"), ishmem.zeros(4, dtype="i4")
    refused(ValueError, "TEAM_INVALID", ishmem.fcollect_on_queue, a, b, ishmem.TEAM_INVALID)
    queue = new_queue(a)
    if n > 1:
        ishmem.sum_reduce_on_queue(b, b, nelems=1 + ishmem.my_pe(), sycl_queue=queue).wait()
        refused(ishmem.SymmetryError, "disagree", ishmem.quiet_on_queue, queue)
    ishmem.fcollect_on_queue(a, b, sycl_queue=queue).wait()
    ishmem.barrier_all()


def check_refusal(refusing: int) -> None:
    """One PE refuses its own arguments: no PE waits for it, and the others raise the reason."""
    me, n = ishmem.my_pe(), ishmem.n_pes()
    a, b, local = ishmem.zeros(4 * n, dtype="i4"), ishmem.full(4, me, dtype="i4"), dpnp.zeros(4, dtype="i4")
    queue, world = new_queue(a), ishmem.TEAM_WORLD
    for error, words, call, good, bad in (
        (ishmem.SymmetryError, "not on the symmetric heap", ishmem.fcollect_on_queue, (a, b), (a, local)),
        (IndexError, f"root is {n}", ishmem.broadcast_on_queue, (a[:4], b, 0), (a[:4], b, n)),
        (ValueError, "elements", ishmem.alltoalls_on_queue, (a, a[:n], 1, 1, 0), (a, b, 9, 9, 99)),
        (ValueError, "counts has 1", ishmem.gatherv_on_queue, (a, b, [4] * n, 0), (a, b, [1] if n > 1 else [], 0)),
        (TypeError, "dtype float32", ishmem.and_reduce_on_queue, (a[:4], b), (b.astype("f4"), b.astype("f4"))),
        (TypeError, "SyclQueue, got str", ishmem.sum_reduce_on_queue, (a[:4], b), (a[:4], b, world, None, "gpu")),
        (TypeError, "SyclEvent, got int", ishmem.sum_inscan_on_queue, (a[:4], b), (a[:4], b, world, None, None, [3])),
    ):
        if call is ishmem.gatherv_on_queue and n == 1:
            continue
        if me == refusing:
            refused(error, words, call, *bad)
            event = ishmem.fcollect_on_queue(a, b, sycl_queue=queue)
        else:
            call(*good, sycl_queue=queue).wait()
            with pytest.raises(ishmem.SymmetryError, match=rf"PE {refusing}: .* refused: {error.__name__}: .*{words}"):
                ishmem.fcollect_on_queue(a, b, sycl_queue=queue)
            event = ishmem.quiet_on_queue(queue)
        event.wait()
        same(a, np.repeat(np.arange(n), 4).astype("i4"))
        ishmem.barrier_all()
    check_barrier_of_errors(me == refusing, a, b, queue)


def check_barrier_of_errors(refuses: bool, a: Any, b: Any, queue: dpctl.SyclQueue) -> None:
    """A PE that raises an error in an on-queue barrier takes part in it."""
    if refuses:
        refused(ValueError, "nelems is 99", ishmem.fcollect_on_queue, a, b, nelems=99)
        ishmem.barrier_all_on_queue(queue).wait()
        refused(TypeError, "SyclQueue, got str", ishmem.barrier_all_on_queue, "gpu")
    else:
        ishmem.fcollect_on_queue(a, b, sycl_queue=queue).wait()
        refused(ishmem.SymmetryError, "nelems is 99", ishmem.barrier_all_on_queue, queue)
        ishmem.barrier_all_on_queue(queue).wait()
    ishmem.barrier_all()


@pytest.mark.ishmem([1, 2, 3])
def test_a_refusal_on_one_pe_raises_on_all() -> None:
    for refusing in range(min(ishmem.n_pes(), 2)):
        check_refusal(refusing)
