"""Times the host's point-to-point calls, beside mpi4py's where it is there.

    ishmrun -n 2 benchmarks/point_to_point.py
    mpiexec -n 2 python benchmarks/point_to_point.py        with mpi4py (pip install mpi4py mpich) in the same run

PE 0 calls, PE 1 is the target. Each figure is the median of several repetitions, in nanoseconds a call.
"""

from __future__ import annotations

import statistics
import timeit
from typing import Any, Callable

import numpy as np

import ishmem

try:
    from mpi4py import MPI

    COMM = MPI.COMM_WORLD if MPI.COMM_WORLD.Get_size() > 1 else None
except ImportError:
    COMM = None

TARGET = 1
REPETITIONS = 9
LARGE = 1 << 24

Calls = dict[str, Callable[[], Any]]


def ishmem_calls() -> Calls:
    """Return the calls to time; collective, since it allocates."""
    one, word, counter = (ishmem.zeros(1, dtype="i8") for _ in range(3))
    dest, source = (ishmem.zeros(LARGE // 8, dtype="i8") for _ in range(2))
    return {
        "put 8 B": lambda: ishmem.put(one, word, TARGET),
        "get 8 B": lambda: ishmem.get(one, word, TARGET),
        "p": lambda: ishmem.p(one, 7, TARGET),
        "g": lambda: ishmem.g(one, TARGET),
        "fetch_add": lambda: ishmem.atomic_fetch_add(counter, 1, TARGET),
        "compare_swap": lambda: ishmem.atomic_compare_swap(counter, 0, 0, TARGET),
        "put 16 MiB": lambda: ishmem.put(dest, source, TARGET),
        "get 16 MiB": lambda: ishmem.get(dest, source, TARGET),
    }


def mpi_calls(comm: Any) -> tuple[Calls, Any]:
    """Return what an mpi4py user writes for the same, each with the flush that completes it."""
    window = MPI.Win.Allocate(LARGE + 64, comm=comm)
    window.Lock_all()
    word, zero, old = (np.zeros(1, "i8") for _ in range(3))
    large = np.ones(LARGE // 8, "i8")

    def flushed(call: Callable[..., None], *arguments: Any) -> Callable[[], None]:
        def run() -> None:
            call(*arguments)
            window.Flush(TARGET)

        return run

    calls = {
        "put 8 B": flushed(window.Put, word, TARGET),
        "get 8 B": flushed(window.Get, word, TARGET),
        "p": flushed(window.Put, word, TARGET),
        "g": flushed(window.Get, word, TARGET),
        "fetch_add": flushed(window.Fetch_and_op, word, old, TARGET, 0, MPI.SUM),
        "compare_swap": flushed(window.Compare_and_swap, word, zero, old, TARGET, 0),
        "put 16 MiB": flushed(window.Put, large, TARGET),
        "get 16 MiB": flushed(window.Get, large, TARGET),
    }
    return calls, window


def nanoseconds(call: Callable[[], Any], large: bool) -> float:
    """Return the median time of a call."""
    number = 4 if large else 5000
    return statistics.median(timeit.repeat(call, number=number, repeat=REPETITIONS)) / number * 1e9


def main() -> None:
    """Time every call on PE 0 and print the table."""
    with ishmem.init(comm=COMM):
        if ishmem.n_pes() < 2:
            raise SystemExit("point_to_point.py needs 2 PEs: ishmrun -n 2 benchmarks/point_to_point.py")
        calls = ishmem_calls()
        peers, window = mpi_calls(COMM) if COMM else ({}, None)
        if ishmem.my_pe() == 0:
            print(f"{'':14}{'ishmem':>12}{'mpi4py':>12}{'ratio':>8}   ns, median of {REPETITIONS}")
            for name, call in calls.items():
                ours = nanoseconds(call, "MiB" in name)
                theirs = nanoseconds(peers[name], "MiB" in name) if name in peers else None
                print(f"{name:14}{ours:12.0f}" + (f"{theirs:12.0f}{ours / theirs:8.2f}" if theirs else ""))
        ishmem.barrier_all()
        if window is not None:
            window.Unlock_all()
            window.Free()
        ishmem.free_all()


if __name__ == "__main__":
    main()
