"""All-reduces and experts for inference: kernels on a queue, beside the host's reduction and mpi4py."""

from __future__ import annotations

from typing import Any

import numpy as np

import ishmem
from ishmem.benchmarks.cases import Plan, case
from ishmem.benchmarks.worlds import Ishmem, Mpi, World

SIZES = (8, 4096, 65536)
BY_HOST = "sum_reduce of the host"


@case("all_reduce", "queue", size=SIZES, pes=(2, 4), limit=BY_HOST)
def all_reduce(w: Ishmem, size: int) -> Plan:
    """Return the plan of an ``all_reduce`` of ``size`` bytes of float32 with a wait on the host."""
    source = ishmem.full(size // 4, w.pe + 1, dtype="float32")
    dest, communicator = ishmem.zeros_like(source), ishmem.inference.Communicator(size)
    names = w.names(communicator=communicator, dest=dest, source=source)
    statement, limit = "communicator.all_reduce(source, dest).wait()", "ishmem.sum_reduce(dest, source)"
    return Plan(statement, names, lambda done: w.expect(dest, _wanted(size, w.n_pes)), size, limit=limit)


@all_reduce.peer("mpi4py")
def _(w: Mpi, size: int) -> Plan:
    source = np.full(size // 4, w.pe + 1, "float32")
    names = w.names(dest=np.zeros_like(source), source=source)
    statement = "comm.Allreduce(source, dest, MPI.SUM)"
    return Plan(statement, names, lambda done: w.expect(names["dest"], _wanted(size, w.n_pes)), size)


def _wanted(size: int, n_pes: int) -> np.ndarray[Any, Any]:
    return np.full(size // 4, sum(range(1, n_pes + 1)), "float32")


EXPERTS, CHOICES, HIDDEN = 64, 8, 7168
_TOKEN = 2 * CHOICES * HIDDEN * 2  # bytes of float16 that go to the experts of a token and come back


@case("dispatch_combine", "queue", size=(8 * _TOKEN, 128 * _TOKEN), pes=(2, 4))
def dispatch_combine(w: Ishmem, size: int) -> Plan:
    """Return the plan of sending ``size`` bytes of tokens of 7168 float16 to 8 of 64 experts and back, with a wait."""
    import dpnp

    tokens, chosen = _tokens(w, size)
    buffer = ishmem.moe.Buffer(len(tokens), HIDDEN, _experts(w), CHOICES, dtype="float16")
    x, topk_idx = dpnp.asarray(tokens), dpnp.asarray(chosen)
    weights, out = dpnp.full(chosen.shape, 1 / CHOICES, dtype="float32"), dpnp.zeros_like(x)

    def exchange() -> None:
        received, _counts, handle, _event, _hook = buffer.low_latency_dispatch(x, topk_idx)
        buffer.low_latency_combine(received, topk_idx, weights, handle, out=out)[1].wait()

    return Plan("exchange()", {"exchange": exchange}, lambda done: w.expect(out, tokens.ravel()), size)


@dispatch_combine.peer("mpi4py")
def _(w: Mpi, size: int) -> Plan:
    tokens, chosen = _tokens(w, size)
    out, comm, experts = np.zeros_like(tokens), w.comm, _experts(w)
    local = experts // w.n_pes

    def alltoallv(rows: Any, sent: Any, got: Any) -> Any:
        result = np.empty((int(got.sum()), HIDDEN), rows.dtype)
        comm.Alltoallv(
            (rows.view("uint8"), 2 * HIDDEN * sent, None, w.MPI.BYTE),
            (result.view("uint8"), 2 * HIDDEN * got, None, w.MPI.BYTE),
        )
        return result

    def exchange() -> None:
        order = np.argsort(chosen.ravel(), kind="stable")
        counts = np.bincount(chosen.ravel(), minlength=experts).reshape(w.n_pes, local)
        due = np.empty_like(counts)
        comm.Alltoall(counts, due)
        received = alltoallv(tokens[order // CHOICES], counts.sum(axis=1), due.sum(axis=1))
        by_expert = np.argsort(np.repeat(np.tile(np.arange(local), w.n_pes), due.ravel()), kind="stable")
        outputs = received[by_expert]  # the experts
        back = np.empty_like(outputs)
        back[by_expert] = outputs
        returned = alltoallv(back, due.sum(axis=1), counts.sum(axis=1))
        places = np.empty_like(order)
        places[order] = np.arange(len(order))
        total = np.zeros(tokens.shape, "float32")
        for choice in places.reshape(chosen.shape).T:
            total += returned[choice] * np.float32(1 / CHOICES)
        out[...] = total

    return Plan("exchange()", {"exchange": exchange}, lambda done: w.expect(out, tokens.ravel()), size)


def _experts(w: World) -> int:
    """Return the largest number of experts up to 64 that is a multiple of the number of PEs, or one for each PE."""
    return max(EXPERTS // w.n_pes, 1) * w.n_pes


def _tokens(w: World, size: int) -> tuple[Any, Any]:
    """Return the tokens of this PE, with small integers as values, and the experts chosen for each."""
    rng, count = np.random.default_rng(w.pe), size // _TOKEN
    chosen = np.argsort(rng.random((count, _experts(w))), axis=1)[:, :CHOICES]
    return rng.integers(0, 64, (count, HIDDEN)).astype("float16"), np.ascontiguousarray(chosen)
