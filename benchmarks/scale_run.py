"""Measures, in a job on several nodes, what the model of ``ishmem bench scale`` predicts and the costs that it needs.

    python tests/nodes.py 2+2 python -m ishmem.benchmarks.scale_run FILE
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any, Callable

import ishmem
from ishmem.benchmarks.scale import BARRIER, ROUTINES
from ishmem.runtime import job

SIZES = (8, 4 << 10, 64 << 10, 1 << 20)
_LARGE, _EAGER = 4 << 20, 8 << 10  # bytes
_BATCHES, _PACKETS = 15, 64


def median_of(call: Callable[[], Any], times: int = 20) -> float:
    """Return the median time of a call of this PE, over batches."""
    call()
    batches = []
    for _ in range(_BATCHES):
        begun = time.perf_counter()
        for _ in range(times):
            call()
        batches.append((time.perf_counter() - begun) / times)
    return statistics.median(batches)


def slowest(seconds: float) -> float:
    """Return the largest of the times of all PEs; collective."""
    own, most = ishmem.full(1, seconds, dtype="f8"), ishmem.zeros(1, dtype="f8")
    ishmem.max_reduce(most, own)
    result = float(most[0])
    ishmem.free(own)
    ishmem.free(most)
    return result


def one_way(pairs: list[tuple[int, int]]) -> float:
    """Return the time until a PE sees a flag that another has stored, while all pairs exchange flags; collective."""
    flag = ishmem.zeros(1, dtype="i8")
    me, turn = ishmem.my_pe(), [0]
    first, second = next(pair for pair in pairs if me in pair)

    def exchange() -> None:
        turn[0] += 1
        if me == first:
            ishmem.p(flag, turn[0], second)
        ishmem.wait_until(flag, ishmem.CMP_GE, turn[0])
        if me == second:
            ishmem.p(flag, turn[0], first)

    seconds = median_of(exchange) / 2
    ishmem.barrier_all()
    ishmem.free(flag)
    return slowest(seconds)


def put_time(peer: int, nbytes: int, count: int) -> float:
    """Return the time of one of ``count`` nonblocking puts from PE 0 to a peer; collective."""
    dest, source = ishmem.zeros(nbytes, dtype="u1"), ishmem.zeros(nbytes, dtype="u1")

    def puts() -> None:
        for _ in range(count):
            ishmem.put_nbi(dest, source, peer)
        ishmem.quiet()

    seconds = median_of(puts, 3) / count if ishmem.my_pe() == 0 else 0.0
    ishmem.barrier_all()
    ishmem.free(dest)
    ishmem.free(source)
    return slowest(seconds)


def costs() -> dict[str, float]:
    """Measure the costs of ``Links`` in a job of 4 PEs, two on each node; collective."""
    near, far = 1, 2
    near_bandwidth = _LARGE / put_time(near, _LARGE, 4)
    far_bandwidth = _LARGE / put_time(far, _LARGE, 4)
    packet = put_time(far, _EAGER, _PACKETS) - _EAGER / far_bandwidth
    message = max(packet / 2, 0.1e-6)
    alone = ishmem.TEAM_WORLD.split_strided(0, 1, 1)
    call = slowest(median_of(alone.sync) if alone else 0.0)
    return {
        "near_bandwidth": near_bandwidth,
        "near_latency": one_way([(0, 1), (2, 3)]),
        "store": put_time(near, 8, 100),
        "far_bandwidth": far_bandwidth,
        "far_latency": max(one_way([(0, 2), (1, 3)]) - 2 * message, 0.1e-6),
        "message": message,
        "call": call,
    }


def measured(routine: str, size: int) -> float:
    """Return the time of a collective call on the world, of the slowest PE; collective."""
    if routine == BARRIER:
        return slowest(median_of(ishmem.barrier_all))
    n, count = ishmem.n_pes(), size // 8
    blocks = {"fcollect": (n, 1), "alltoall": (n, n)}.get(routine, (1, 1))
    dest, source = (ishmem.zeros(count * each, dtype="i8") for each in blocks)
    root = (0,) if routine == "broadcast" else ()
    seconds = slowest(median_of(lambda: getattr(ishmem, routine)(dest, source, *root), 5 if size > 1 << 16 else 20))
    ishmem.free(dest)
    ishmem.free(source)
    return seconds


def main(path: Path) -> None:
    """Measure, and write the results on PE 0."""
    with ishmem.init("256M"):
        this = job.current()
        if this.network is None or this.network.nodes != [0, 0, 1, 1]:
            raise SystemExit("this measures jobs of 4 PEs, PEs 0 and 1 on one node, PEs 2 and 3 on another")
        found = costs()
        rows = [
            {"routine": routine, "size": size, "seconds": measured(routine, size)}
            for routine in ROUTINES
            for size in ((0,) if routine == BARRIER else SIZES)
        ]
        if this.pe == 0:
            path.write_text(json.dumps({"nodes": this.network.nodes, "costs": found, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
