"""Measures, in a job on several nodes, the times that ``tools.scale`` predicts and the costs that its model needs.

    python -m ishmem.testing.nodes 2+2 python -m tools.scale.run FILE
"""

from __future__ import annotations

import functools
import json
import statistics
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any, Callable

import ishmem
from ishmem.common import algorithms
from ishmem.runtime import job
from tools.scale.model import BARRIER, ROUTINES

SIZES = (8, 4 << 10, 64 << 10, 1 << 20)
_LARGE, _EAGER = 4 << 20, 8 << 10  # bytes
_BATCHES, _PACKETS = 9, 64
_SECONDS, _MOST = 4.0, 20  # of the measurement of a call, about; calls of a batch


def median_of(call: Callable[[], Any], times: int = 20) -> float:
    """Return the median over batches of ``times`` calls of the time of a call on this PE, in seconds."""
    batches = []
    for _ in range(_BATCHES):
        begun = time.perf_counter()
        for _ in range(times):
            call()
        batches.append((time.perf_counter() - begun) / times)
    return statistics.median(batches)


def seconds_of(call: Callable[[], Any]) -> float:
    """Return the median time of a collective call on the slowest PE, in seconds; collective."""
    call()
    begun = time.perf_counter()
    call()
    once = slowest(time.perf_counter() - begun)
    return slowest(median_of(call, max(1, min(_MOST, int(_SECONDS / _BATCHES / once)))))


def slowest(seconds: float) -> float:
    """Return the largest ``seconds`` that a PE has passed; collective."""
    own, most = ishmem.full(1, seconds, dtype="f8"), ishmem.zeros(1, dtype="f8")
    ishmem.max_reduce(most, own)
    result = float(most[0])
    ishmem.free(own)
    ishmem.free(most)
    return result


def one_way(pairs: list[tuple[int, int]]) -> float:
    """Return the seconds until a PE's flag is visible to the other PE, while all pairs exchange flags; collective."""
    flag = ishmem.zeros(1, dtype="i8")
    me, turn, seconds = ishmem.my_pe(), [0], 0.0

    def exchange(first: int, second: int) -> None:
        turn[0] += 1
        if me == first:
            ishmem.p(flag, turn[0], second)
        ishmem.wait_until(flag, ishmem.CMP_GE, turn[0])
        if me == second:
            ishmem.p(flag, turn[0], first)

    for pair in pairs:
        if me in pair:
            seconds = median_of(functools.partial(exchange, *pair)) / 2
    ishmem.barrier_all()
    ishmem.free(flag)
    return slowest(seconds)


def put_time(pair: tuple[int, int], nbytes: int, count: int) -> float:
    """Return the seconds of one of ``count`` nonblocking puts from the first PE of a pair to the other; collective."""
    dest, source = ishmem.zeros(nbytes, dtype="u1"), ishmem.zeros(nbytes, dtype="u1")

    def puts() -> None:
        for _ in range(count):
            ishmem.put_nbi(dest, source, pair[1])
        ishmem.quiet()

    seconds = median_of(puts, 3) / count if ishmem.my_pe() == pair[0] else 0.0
    ishmem.barrier_all()
    ishmem.free(dest)
    ishmem.free(source)
    return slowest(seconds)


def pairs_of(nodes: list[int]) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Return disjoint pairs of PEs on one node, and disjoint pairs of PEs on two nodes."""
    groups: dict[int, list[int]] = defaultdict(list)
    for pe, node in enumerate(nodes):
        groups[node].append(pe)
    near = [pair for group in groups.values() for pair in zip(group[::2], group[1::2])]
    found = list(groups.values())
    far = [pair for first, second in zip(found[::2], found[1::2]) for pair in zip(first, second)]
    return near, far


def costs(nodes: list[int]) -> dict[str, float]:
    """Return measured costs of ``Links``, those within a node only if a node has several PEs; collective."""
    near, far = pairs_of(nodes)
    far_bandwidth = _LARGE / put_time(far[0], _LARGE, 4)
    packet = put_time(far[0], _EAGER, _PACKETS) - _EAGER / far_bandwidth
    message = max(packet / 2, 0.1e-6)
    alone = ishmem.TEAM_WORLD.split_strided(0, 1, 1)
    found = {
        "far_bandwidth": far_bandwidth,
        "far_latency": max(one_way(far) - 2 * message, 0.1e-6),
        "message": message,
        "call": slowest(median_of(alone.sync) if alone else 0.0),
    }
    if near:
        found["near_bandwidth"] = _LARGE / put_time(near[0], _LARGE, 4)
        found["near_latency"] = one_way(near)
        found["store"] = put_time(near[0], 8, 100)
    return found


def measured(routine: str, size: int) -> float:
    """Return the seconds of a call of a routine with blocks of ``size`` bytes, on the slowest PE; collective."""
    if routine == BARRIER:
        return seconds_of(ishmem.barrier_all)
    n, count = ishmem.n_pes(), size // 8
    blocks = {"fcollect": (n, 1), "alltoall": (n, n)}.get(routine, (1, 1))
    dest, source = (ishmem.zeros(count * each, dtype="i8") for each in blocks)
    root = (0,) if routine == "broadcast" else ()
    seconds = seconds_of(lambda: getattr(ishmem, routine)(dest, source, *root))
    ishmem.free(dest)
    ishmem.free(source)
    return seconds


def main(path: Path) -> None:
    """Measure all costs and calls, and write the results to a file on PE 0."""
    with ishmem.init("256M"):
        this = job.current()
        if this.network is None:
            raise SystemExit("this measures jobs on several nodes, and all PEs of this one are on one node")
        algorithms.install(algorithms.defaults(2**63))  # those of the model
        found = costs(this.network.nodes)
        rows = [
            {"routine": routine, "size": size, "seconds": measured(routine, size)}
            for routine in ROUTINES
            for size in ((0,) if routine == BARRIER else SIZES)
        ]
        if this.pe == 0:
            path.write_text(json.dumps({"nodes": this.network.nodes, "costs": found, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
