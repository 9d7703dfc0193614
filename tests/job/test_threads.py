"""Threads: levels, host calls of many threads at once, and global_exit from any PE and thread; other launchers."""

from __future__ import annotations

import json
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Callable

import numpy as np
import pytest
from common import dpnp, same
from subprocesses import program, run_at_once, run_command, run_program

import ishmem

THREADS = 8


def in_threads(work: Callable[[int], None]) -> None:
    """Run ``work(0)`` to ``work(7)`` at once; raise the first error."""
    start = threading.Barrier(THREADS)

    def run(number: int) -> None:
        start.wait()
        work(number)

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(run, range(THREADS)))


@pytest.mark.ishmem([1, 2])
def test_levels() -> None:
    assert ishmem.query_thread() is ishmem.THREAD_MULTIPLE
    assert [int(level) for level in (
        ishmem.THREAD_SINGLE, ishmem.THREAD_FUNNELED, ishmem.THREAD_SERIALIZED, ishmem.THREAD_MULTIPLE
    )] == [0, 1, 2, 3]  # fmt: skip
    assert ishmem.init_thread(ishmem.THREAD_SINGLE) is ishmem.THREAD_MULTIPLE  # a further call of init
    ishmem.finalize()
    assert ishmem.is_initialized()


@pytest.mark.parametrize("host_atomics", ["0", "1"])
def test_first_calls(host_atomics: str) -> None:
    """`init` runs what must not run in two threads at once: constructors that wait while others wait for them."""
    done = run_program(program("first_calls_in_threads"), 2, env={"ISHMEM_SIM_HOST_ATOMICS": host_atomics})
    assert done.returncode == 0 and done.stdout.count("all threads have ended") == 2, done.stderr


@pytest.mark.ishmem
@pytest.mark.parametrize("route", ["heap", "static"])
def test_many_threads_on_shared_elements(route: str) -> None:
    """All threads of all PEs update the same elements; the totals are exact."""
    me, n = ishmem.my_pe(), ishmem.n_pes()
    rounds = 300
    a = ishmem.zeros(4, dtype="i8") if route == "heap" else ishmem.static("threads", 4, "i8")
    signal = ishmem.zeros(1, dtype="u8")
    a[...] = 0
    ishmem.barrier_all()
    tickets: list[list[int]] = [[] for _ in range(THREADS)]

    def work(number: int) -> None:
        for _ in range(rounds):
            ishmem.atomic_add(a, number + 1, (me + 1) % n, 0)
            tickets[number].append(ishmem.atomic_fetch_inc(a, 0, 1))
            old = ishmem.atomic_fetch(a, 0, 2)
            while (seen := ishmem.atomic_compare_swap(a, old, old + 1, 0, 2)) != old:
                old = seen
            ishmem.put_signal(a[:0], a[:0], signal, 1, ishmem.SIGNAL_ADD, (me + 1) % n)

    in_threads(work)
    ishmem.barrier_all()
    assert ishmem.g(a, me, 0) == rounds * sum(range(1, THREADS + 1))
    assert ishmem.g(a, 0, 1) == ishmem.g(a, 0, 2) == rounds * THREADS * n
    assert ishmem.signal_fetch(signal) == rounds * THREADS
    mine = [ticket for drawn in tickets for ticket in drawn]
    assert len(set(mine)) == len(mine) and all(drawn == sorted(drawn) for drawn in tickets)
    ishmem.barrier_all()


@pytest.mark.ishmem([1, 2])
def test_threads_beside_allocation() -> None:
    """One thread allocates and frees, which changes the tables, while the others copy, compare and wait."""
    me, n = ishmem.my_pe(), ishmem.n_pes()
    a, flag = ishmem.zeros((THREADS, 30_000), dtype="i4"), ishmem.zeros(1, dtype="i8")

    def work(number: int) -> None:
        if number == 0:
            for size in range(1, 8):
                kept = ishmem.zeros(size, dtype="i4")
                ishmem.free(ishmem.empty(3 * size, dtype="f4"))
                ishmem.free(kept)
            ishmem.p(flag, 1, me)
        elif number == 1:
            ishmem.wait_until(flag, ishmem.CMP_EQ, 1, timeout=120)
        else:
            values = np.arange(30_000, dtype="i4") * number + me
            back = np.empty_like(values)
            while not ishmem.test(flag, ishmem.CMP_EQ, 1):
                ishmem.put(a[number], values, (me + 1) % n)
                ishmem.get(back, a[number], (me + 1) % n)
                same(back, values)

    in_threads(work)
    ishmem.barrier_all()


@pytest.mark.ishmem
def test_many_threads_on_a_queue() -> None:
    """On-queue operations of one queue from all threads."""
    me, n = ishmem.my_pe(), ishmem.n_pes()
    a, counts = ishmem.zeros((THREADS, 500), dtype="i4"), ishmem.zeros(1, dtype="u8")
    source = dpnp.full(500, me + 1, dtype="i4")
    ishmem.barrier_all()

    def work(number: int) -> None:
        for calls in (1, 9, 10):  # some threads wait for their events while others submit
            for _ in range(calls):
                event = ishmem.put_signal_on_queue(a[number], source, counts, 1, ishmem.SIGNAL_ADD, (me + 1) % n)
            event.wait()

    in_threads(work)
    ishmem.signal_wait_until(counts, ishmem.CMP_EQ, 20 * THREADS, timeout=120)
    same(a, np.full((THREADS, 500), (me - 1) % n + 1, "i4"))
    ishmem.barrier_all()


@pytest.mark.parametrize("n", [1, 2])
def test_random_calls_of_many_threads(n: int) -> None:
    path = Path(__file__).parents[1] / "reliability" / "threads_pe.py"
    done = run_program(path, n, "0.5", "11", options=["--no-prefix"])
    assert done.returncode == 0, done.stdout + done.stderr
    assert all(count > 100 for count in json.loads(done.stdout.splitlines()[-1])["done"].values())


@pytest.mark.parametrize(
    ("n", "who", "status", "where"),
    [(1, 0, 3, "wait"), (2, 0, 0, "wait"), (3, 1, 7, "wait"), (3, 2, 0, "barrier"), (2, 1, 255, "thread"),
     (3, 2, 0, "kernel"), (2, 0, 9, "kernel"), (2, 0, 0, "event"), (2, 1, 0, "sleep")],
)  # fmt: skip
def test_global_exit(n: int, who: int, status: int, where: str) -> None:
    done = run_program(program("faults"), n, "", "global_exit", str(who), str(status), where)
    assert done.returncode == status, done.stderr
    assert "not reached" not in done.stdout
    if where != "kernel":
        assert done.stdout.count("flushed") == n
    assert "Traceback" not in done.stderr


@pytest.mark.ishmem(1)
def test_global_exit_errors() -> None:
    for error, status in ((ValueError, -1), (ValueError, 256), (TypeError, "0"), (TypeError, 1.5)):
        with pytest.raises(error, match="status is"):
            ishmem.global_exit(status)


# ---- processes that no ishmem run has started


@pytest.mark.slow_cases("the same on 1 PE, and by a communicator", "uid-3-None")
@pytest.mark.slow_cases("the same with status 0", "uid-3-4")
@pytest.mark.parametrize(
    ("by", "n", "status"),
    [("uid", 1, None), ("uid", 3, None), ("uid", 3, 0), ("uid", 3, 4), ("folder", 1, None), ("folder", 3, None)],
)
def test_without_launcher(by: str, n: int, status: int | None, tmp_path: Path) -> None:
    """PEs meet by a unique id, or by a communicator over files; with a status, one calls global_exit."""
    meeting = str(tmp_path) if by == "folder" else ishmem.get_uniqueid()
    ours = ("ISHMEM_PE", "ISHMEM_NPES", "ISHMEM_JOB")
    environment = {key: value for key, value in os.environ.items() if key not in ours}
    environment.setdefault("ISHMEM_SIM_DEVICES", str(n))
    last = [] if status is None else [str(status)]
    commands = [[sys.executable, str(program("join")), meeting, str(rank), str(n), *last] for rank in range(n)]
    for done in run_at_once([(command, environment) for command in commands], timeout=60):
        assert (done.returncode, done.stdout) == ((0, "good\n") if status is None else (status, "")), done
    assert len({ishmem.get_uniqueid() for _ in range(3)}) == 3


@pytest.mark.parametrize("n", [1, 2])
def test_mpi_communicator(n: int) -> None:
    mpiexec = Path(sys.executable).with_name("mpiexec")
    if not mpiexec.exists():
        pytest.skip("mpi4py and mpich are not installed")
    done = run_command([str(mpiexec), "-n", str(n), sys.executable, str(program("mpi_of_the_program")), "all"])
    # mpiexec interleaves the lines of PEs arbitrarily.
    assert done.returncode == 0 and done.stdout.count("right") == n, done.stderr
