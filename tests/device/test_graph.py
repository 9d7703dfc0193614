"""Recorded queues: kernels and calls, replayed with new data, and what cannot be recorded."""

from __future__ import annotations

import collective_calls as calls
import dpctl
import halves
import numpy as np
import pytest
from common import dpex, dpnp, kapi

import ishmem
from ishmem.common.collective_table import COLLECTIVES
from ishmem.common.type_tables import WAIT_TYPES
from ishmem.graph import Graph
from ishmem.inference import Communicator
from ishmem.moe import Buffer
from ishmem.runtime import graph_recording, job
from ishmem.testing import Pes

pytestmark = pytest.mark.skipif(not graph_recording.HAS_GRAPHS, reason="this SYCL has no graphs")
REPLAYS = 1000
ADAPTERS = ("0", "1")  # SYCL's two adapters for Level Zero


@dpex.kernel
def count(item: kapi.Item, x):
    x[item.get_id(0)] += 1


@dpex.kernel
def next_message(item: kapi.Item, x, round, me):
    i = item.get_id(0)
    x[i] = 3 * round[i] + me + i
    round[i] += 1


def replay_a_kernel() -> list[int]:
    """Replay two launches of a kernel, without a wait between the replays."""
    x, graph = dpnp.zeros(8, dtype="int32"), Graph()
    with graph.record(x.sycl_queue):
        dpex.call_kernel(count, kapi.Range(8), x)
        dpex.call_kernel_async(count, kapi.Range(8), (), x)
    before = x.tolist()
    for _ in range(REPLAYS):
        event = graph.replay()
    event.wait()
    return [*before, *x.tolist()]


@pytest.mark.slow_cases("the other adapter", "1")
@pytest.mark.parametrize("adapter", ADAPTERS)
def test_replays_of_a_kernel(adapter: str) -> None:
    with Pes(1, {"SYCL_UR_USE_LEVEL_ZERO_V2": adapter}) as pool:
        assert pool.run(replay_a_kernel) == [[0] * 8 + [2 * REPLAYS] * 8]


def replay_all_reduces() -> bool:
    """Replay a step of a kernel and an all-reduce, with new data each time; direct calls come in between."""
    me, n = ishmem.my_pe(), ishmem.n_pes()
    x, out, round = (dpnp.zeros(700, dtype="float32") for _ in range(3))
    other = dpnp.full(10, 1, dtype="float32")
    with Communicator(1 << 14) as group:
        graph = Graph()
        with graph.record(x.sycl_queue):
            dpex.call_kernel(next_message, kapi.Range(700), x, round, me)
            group.all_reduce(x, out)
        right, places = True, n * np.arange(700) + n * (n - 1) // 2
        for i in range(REPLAYS):
            graph.replay()
            if i % 100 == 0:
                group.all_reduce(other)
            if i % 10 == 0:
                right &= bool((dpnp.asnumpy(out) == 3 * n * i + places).all())
        return right and float(other[0]) == float(n ** (REPLAYS // 100)) and float(round[0]) == REPLAYS


@pytest.mark.slow_cases("each number of PEs, and each adapter", "3-0", "2-1", "3-1")
@pytest.mark.parametrize("adapter", ADAPTERS)
@pytest.mark.parametrize("n", [2, 3])
def test_replays_of_an_all_reduce(n: int, adapter: str) -> None:
    with Pes(n, {"SYCL_UR_USE_LEVEL_ZERO_V2": adapter}) as pool:
        assert pool.run(replay_all_reduces) == [True] * n


@pytest.mark.ishmem([2])
def test_replays_of_other_calls_of_a_communicator() -> None:
    me, n = ishmem.my_pe(), ishmem.n_pes()
    x, gathered, part = (dpnp.ones(size, dtype="float32") for size in (4 * n, 4 * n * n, 4))
    residual, weight, normed = (dpnp.zeros(shape, dtype="float32") for shape in ((n, 4), 4, (n, 4)))
    weight += 1
    with Communicator(1 << 10) as group:
        graph = Graph()
        with graph.record(x.sycl_queue):
            group.all_gather(x, gathered)
            group.reduce_scatter(x, part)
            group.all_reduce_add_rms_norm(x.reshape(n, 4), residual, weight, 0.0, normed)
        for value in (2, 5, 1):
            x[...] = value + me
            graph.replay()
            parts = [value + pe for pe in range(n)]
            assert gathered.reshape(n, -1)[:, 0].tolist() == parts and part.tolist() == [sum(parts)] * 4
            assert np.allclose(normed.asnumpy(), 1)
        assert residual[0, 0] == sum(value + pe for value in (2, 5, 1) for pe in range(n))


@pytest.mark.ishmem([2, 3])
def test_replays_of_experts() -> None:
    me, n = ishmem.my_pe(), ishmem.n_pes()
    x, idx = dpnp.zeros((2, 8), dtype="float32"), dpnp.zeros((2, 1), dtype="int64")
    weights, out, graph = dpnp.full((2, 1), 0.5, dtype="float32"), dpnp.zeros((2, 8), dtype="float32"), Graph()
    with Buffer(max_tokens=2, hidden=8, num_experts=n, topk=1) as experts:
        with graph.record(x.sycl_queue):
            received, _, handle, _, _ = experts.low_latency_dispatch(x, idx)
            dpex.call_kernel(count, kapi.Range(received.size), received.reshape(-1))
            experts.low_latency_combine(received, idx, weights, handle, out)
        for i in range(50):
            x[...], idx[0], idx[1] = i + me, (me + i) % n, (me + 1) % n
            graph.replay()
            assert (dpnp.asnumpy(out) == (i + me + 1) / 2).all()
            if i % 10 == 0:
                experts.low_latency_dispatch(x, idx)
        with Graph().record(x.sycl_queue), pytest.raises(ishmem.IshmemError, match="dispatch needs the host"):
            experts.dispatch(x, idx, weights)


@pytest.mark.ishmem([2, 3])
def test_replays_of_on_queue_forms() -> None:
    """A ring of a node: each PE puts to the next one and signals, and waits for the signal of the one before."""
    me, near = ishmem.my_pe(), job.current().heap.near
    right, left = (near[(near.index(me) + step) % len(near)] for step in (1, -1))
    source, inbox, got = (ishmem.zeros(5, dtype="int64") for _ in range(3))
    flags, graph, queue = ishmem.zeros(2, dtype="uint64"), Graph(), source.sycl_queue
    with graph.record(queue):
        ishmem.put_signal_on_queue(inbox, source, flags, 1, ishmem.SIGNAL_ADD, right, queue)
        ishmem.wait_until_on_queue(flags, ishmem.CMP_EQ, 1, queue)
        ishmem.get_on_queue(got, inbox, me, queue)
        ishmem.signal_set_on_queue(flags, 0, me, queue)
        ishmem.quiet_on_queue(queue)
        ishmem.barrier_all_on_queue(queue)
    for i in range(20):
        source[...] = 10 * i + me
        graph.replay(queue)
        assert got.tolist() == [10 * i + left] * 5
    ishmem.barrier_all()
    with Graph().record(queue), pytest.raises(ishmem.IshmemError, match="this on-queue operation needs the host"):
        ishmem.iput_on_queue(inbox, source, 2, 1, 2, me, queue)
    for far in set(range(ishmem.n_pes())) - set(near):
        with Graph().record(queue), pytest.raises(ishmem.IshmemError, match="needs the host"):
            ishmem.put_signal_on_queue(inbox, source, flags, 1, ishmem.SIGNAL_ADD, far, queue)
    for each in (source, inbox, flags, got):
        ishmem.free(each)


@dpex.kernel
def begin_round(item: kapi.Item, round, x, me):
    i = item.get_id(0)
    x[i] = 3 * round[0] + me + i


@dpex.kernel
def judge_round(item: kapi.Item, round, total, scanned, cast, met, found, wrong, me, n):
    """Compare an element of each result with the right one; every element is ``3 * round + pe + i`` on each PE."""
    i, size = item.get_id(0), cast.shape[0]
    own, pe = 3 * round[0] + i, i // (size // n)
    total_of = n * own + n * (n - 1) // 2
    scan_of = (me + 1) * own + me * (me + 1) // 2
    met_of = 3 * round[0] + pe + me * (size // n) + i % (size // n)
    right = total[i] == total_of and scanned[i] == scan_of and cast[i] == own + n - 1 and met[i] == met_of
    wrong[i] += not (right and found[0] == 1)


def replay_collectives(replays: int) -> list[int]:
    """Replay a step of collectives and a wait for a signal; the device judges each result. Return what was wrong."""
    me, n = ishmem.my_pe(), ishmem.n_pes()
    x, total, scanned, cast, met = (ishmem.zeros(12, dtype="int64") for _ in range(5))
    flags, graph, queue = ishmem.zeros(2, dtype="uint64"), Graph(), x.sycl_queue
    round, found, wrong = (dpnp.zeros(size, dtype="int64") for size in (1, 1, 12))
    with graph.record(queue):
        dpex.call_kernel(begin_round, kapi.Range(12), round, x, me)
        ishmem.sum_reduce_on_queue(total, x)
        ishmem.sum_inscan_on_queue(scanned, x)
        ishmem.broadcast_on_queue(cast, x, n - 1)
        ishmem.alltoall_on_queue(met, x)
        ishmem.signal_set_on_queue(flags, 1, (me + 1) % n, index=1)
        ishmem.wait_until_any_on_queue(flags, ishmem.CMP_NE, 0, found)
        ishmem.signal_set_on_queue(flags, 0, me, index=1)
        dpex.call_kernel(judge_round, kapi.Range(12), round, total, scanned, cast, met, found, wrong, me, n)
        dpex.call_kernel(count, kapi.Range(1), round)
    for _ in range(replays):
        event = graph.replay()
    event.wait()
    ishmem.sum_reduce_on_queue(total, x).wait()  # a direct call follows the replays
    assert total.tolist() == [n * (3 * replays - 3 + i) + n * (n - 1) // 2 for i in range(12)]
    return [int(round[0]), *wrong.tolist()]


@pytest.mark.slow_cases("3 PEs", "2-env0-1000")
@pytest.mark.slow_cases("each number of PEs, and each order", "2-env1-100", "3-env0-1000")
@pytest.mark.parametrize(("env", "replays"), [({}, REPLAYS), ({"ISHMEM_SIM_ORDER": "late"}, 100)])
@pytest.mark.parametrize("n", [2, 3])
def test_replays_of_collectives(n: int, env: dict[str, str], replays: int) -> None:
    with Pes(n, env) as pool:
        assert pool.run(replay_collectives, replays) == [[replays, *[0] * 12]] * n


def check_recorded(routine: str, dtype: str) -> None:
    """Record a collective routine and compare its replays with the model."""
    n, size = ishmem.n_pes(), 40
    dest, source = calls.arrays(routine, dtype, n, size)
    graph = Graph()
    with graph.record():
        calls.call(routine, dest, source, ishmem.TEAM_WORLD, size, n - 1, "_on_queue")
    given = routine, dest, source, ishmem.TEAM_WORLD, size, n - 1
    close = "complex" in dtype  # numpy rounds their products otherwise
    for seed in range(2):
        calls.compare(*given, seed, close, run=lambda *_: graph.replay().wait())
    ishmem.barrier_all()


def check_recorded_wait(form: str, dtype: str) -> None:
    """Record a form of a wait; the host of the PE before sets the variable after the replay has begun."""
    me, n, cmp = ishmem.my_pe(), ishmem.n_pes(), ishmem.CMP_EQ
    ivars, values, graph = ishmem.zeros(3, dtype=dtype), dpnp.arange(3, dtype=dtype), Graph()
    ret, indices, status = dpnp.zeros(1, dtype="uint64"), dpnp.zeros(3, dtype="int64"), dpnp.array([1, 0, 0])
    where = (indices,) if "some" in form else ()
    result = (ret,) if "all" not in form else ()
    with graph.record():
        getattr(ishmem, f"{form}_on_queue")(
            ivars, *where, cmp, values if "vector" in form else 2, *result, status=status
        )
    for _ in range(2):
        ivars[...] = 0
        ishmem.barrier_all()
        event = graph.replay()
        ishmem.put(ivars, np.array([0, 1 if "vector" in form else 2, 2], dtype), (me + 1) % n)
        event.wait()
        if result:
            assert int(ret[0]) in (1, 2), form
        ishmem.barrier_all()
    ishmem.free(ivars)


WAIT_SETS = [f"wait_until_{each}{vector}" for each in ("all", "any", "some") for vector in ("", "_vector")]


def of_kernels(routine: str) -> list[str]:
    """Return the dtypes of a routine but those whose elements the model has no numbers for."""
    return [each for each in COLLECTIVES[routine].types if each != "bfloat16"]


@pytest.mark.slow_cases("other forms", "2pes-1", "2pes-3")
@pytest.mark.ishmem(2)
@pytest.mark.parametrize("part", range(5))
def test_recorded_forms(part: int) -> None:
    """Each form once, and each dtype; in parts, since each form is a kernel to compile."""
    for k, routine in list(enumerate(COLLECTIVES))[part::5]:
        types = of_kernels(routine)
        check_recorded(routine, types[k % len(types)])
    for k, form in list(enumerate(WAIT_SETS))[part::5]:
        check_recorded_wait(form, WAIT_TYPES[k % len(WAIT_TYPES)])


@pytest.mark.slow("test_recorded_forms")
@pytest.mark.ishmem(2)
@pytest.mark.parametrize("name", [*COLLECTIVES, *WAIT_SETS])
def test_recorded_types(name: str) -> None:
    is_wait = name in WAIT_SETS
    for dtype in WAIT_TYPES if is_wait else of_kernels(name):
        (check_recorded_wait if is_wait else check_recorded)(name, dtype)


@pytest.mark.slow_cases("sum_reduce", *(f"2pes-{each}" for each in halves.ROUTINES if each != "sum_reduce"))
@pytest.mark.ishmem(2)
@pytest.mark.parametrize("routine", halves.ROUTINES)
def test_recorded_bfloat16(routine: str) -> None:
    """16-bit integers whose bits are of a bfloat16, with new numbers for each replay."""
    me, n = ishmem.my_pe(), ishmem.n_pes()
    dest, source, graph = (*(ishmem.zeros(40, dtype="int16") for _ in range(2)), Graph())
    with graph.record():
        getattr(ishmem, f"{routine}_on_queue")(dest, source, dtype="bfloat16")
    for seed in range(3):
        given = [halves.values("bfloat16", 40, seed, pe) for pe in range(n)]
        ishmem.put(source, given[me], me)
        graph.replay().wait()
        halves.same(dest, halves.combined(routine, given, me, "bfloat16"), "bfloat16", f"{routine} {seed}")
        ishmem.barrier_all()


@pytest.mark.ishmem([1])
def test_what_cannot_be_recorded_raises() -> None:
    x, graph = dpnp.ones(4, dtype="int64"), Graph()
    outside = dpex.call_kernel_async(count, kapi.Range(4), (), x)[1]
    symmetric = ishmem.zeros(4, dtype="int64")
    with graph.record(x.sycl_queue):
        _, event = dpex.call_kernel_async(count, kapi.Range(4), (), x)
        for wait in (event.wait, lambda: dpctl.SyclEvent.wait_for([event])):
            with pytest.raises(ishmem.IshmemError, match="wait for the event of the replay"):
                wait()
        with pytest.raises(ishmem.IshmemError, match="wait needs the host"):
            x.sycl_queue.wait()
        with pytest.raises(ValueError, match="one recording at a time"), Graph().record(x.sycl_queue):
            pass
        with pytest.raises(ishmem.IshmemError, match="array in host memory needs the host"):
            ishmem.wait_until_all_vector_on_queue(symmetric, ishmem.CMP_EQ, np.ones(4, "int64"))
        with pytest.raises(ValueError, match="nelems is 9"):
            ishmem.sum_reduce_on_queue(symmetric, symmetric, nelems=9, sycl_queue=x.sycl_queue)
        with pytest.raises(TypeError, match="got int"), Graph().record(3):
            pass
    graph.replay(depends=[outside]).wait()
    assert x.tolist() == [3] * 4
    with pytest.raises(ishmem.StateError, match="was recorded before"), graph.record():
        pass
    other = Graph()
    with pytest.raises(ZeroDivisionError), other.record():
        1 / 0  # noqa: B018
    with pytest.raises(ishmem.StateError, match="has no recording"):
        other.replay()
    ishmem.free(symmetric)
