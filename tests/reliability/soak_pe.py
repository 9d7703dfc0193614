"""A PE of ``reliability soak``, ``kills`` and ``nodes``: runs random operations until its time is over.

Arguments: seconds, a seed and, where PEs are to fail, a folder with a file for each PE, and how SIGUSR1 ends the PE.
All PEs draw the same random numbers, so that they call collective operations together. The result of every operation
is compared with the expected one. A soak reports resources.
"""

from __future__ import annotations

import ctypes
import json
import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any, Callable

import ishmem  # first: it lets the SYCL stack find the GPUs, or simulated ones

# isort: split
import dpnp
import numpy as np

from ishmem import dpex
from ishmem.dpex import kernel_api as kapi
from ishmem.environment.mpi_variables import launched

PE = os.environ.get("ISHMEM_PE") or launched().rank
EVERY = 5.0
"""Seconds between two samples."""

Operation = Callable[[random.Random, int, int], None]


@dpex.kernel
def pass_to(item: kapi.Item, dest, source, counter, pe):
    """Put an array to a PE and count it there."""
    ishmem.put(dest, source, pe)
    ishmem.atomic_add(counter, 1, pe)


@dpex.kernel
def ring(item: kapi.Item, flag, turn):
    """Let the next PE go on, and wait for the one before."""
    ishmem.p(flag, turn, (ishmem.my_pe() + 1) % ishmem.n_pes())
    ishmem.wait_until(flag, ishmem.CMP_GE, turn)


def values(pe: int, size: int, salt: int) -> np.ndarray:
    """Return what a PE holds in this turn."""
    return np.arange(size, dtype="i8") * 7 + pe * 1000003 + salt


def require(seen: Any, wanted: Any, what: str) -> None:
    """End the job when something is wrong."""
    if not np.array_equal(np.asarray(seen), np.asarray(wanted)):
        raise SystemExit(f"soak: {what} on PE {ishmem.my_pe()}: {seen} instead of {wanted}")


def array_of(size: int, salt: int) -> Any:
    """Allocate an array that holds this PE's values; collective."""
    return ishmem.array(values(ishmem.my_pe(), size, salt))


def allocate(draw: random.Random, _me: int, _n: int) -> None:
    """Allocate many arrays and free them in another order."""
    arrays = [array_of(draw.choice([0, 1, 5, 1000, 1 << 17]), salt) for salt in range(draw.randint(1, 12))]
    draw.shuffle(arrays)
    for array in arrays:
        ishmem.free(array)


def move(draw: random.Random, me: int, n: int) -> None:
    """Put to one neighbour and get from the other."""
    size, salt = draw.choice([1, 3, 64, 4097, 1 << 16]), draw.randrange(1 << 20)
    source, dest, back = array_of(size, salt), array_of(size, 0), array_of(size, 0)
    ishmem.barrier_all()
    ishmem.put(dest, source, (me + 1) % n)
    ishmem.get_nbi(back, source, (me + 1) % n)
    ishmem.barrier_all()
    require(dest.asnumpy(), values((me - 1) % n, size, salt), "put")
    require(back.asnumpy(), values((me + 1) % n, size, salt), "get_nbi")
    for array in (source, dest, back):
        ishmem.free(array)


kept: list[Any] = []
"""Private arrays that live longer than a turn."""


def private(draw: random.Random, me: int, n: int) -> None:
    """Put from private arrays and get into them, small ones and those that the driver allocates anew each time."""
    size, salt = draw.choice([1, 512, 1 << 15, 1 << 20, 3 << 18]), draw.randrange(1 << 20)
    dest, own, back = array_of(size, 0), dpnp.asarray(values(me, size, salt)), dpnp.zeros(size, dtype="i8")
    for _ in range(draw.randint(1, 3)):
        ishmem.put(dest, own, (me + 1) % n)
    ishmem.barrier_all()
    require(dest.asnumpy(), values((me - 1) % n, size, salt), "put of a private array")
    for _ in range(draw.randint(1, 3)):
        ishmem.get_nbi(back, dest, (me + 1) % n)
        ishmem.quiet()
    require(back.asnumpy(), values(me, size, salt), "get_nbi into a private array")
    ishmem.barrier_all()
    kept.append(own)
    del kept[: max(len(kept) - 4, 0)]
    ishmem.free(dest)


def count(draw: random.Random, _me: int, n: int) -> None:
    """Add to one counter from all PEs, with and without a lock."""
    counter, lock, home, times = array_of(2, 0), ishmem.zeros(1, dtype="i8"), draw.randrange(n), draw.randint(1, 50)
    first = values(home, 2, 0)
    ishmem.barrier_all()
    for _ in range(times):
        ishmem.atomic_fetch_add(counter, 1, home)
        with ishmem.lock(lock):
            ishmem.p(counter, ishmem.g(counter, home, 1) + 1, home, 1)
    ishmem.barrier_all()
    require([ishmem.g(counter, home, 0), ishmem.g(counter, home, 1)], first + n * times, "atomic_fetch_add, lock")
    ishmem.barrier_all()
    ishmem.free(lock)
    ishmem.free(counter)


def wait(draw: random.Random, me: int, n: int) -> None:
    """Send a signal with data around the ring."""
    size, salt = draw.choice([1, 100, 5000]), draw.randrange(1 << 20)
    source, dest, signal = array_of(size, salt), array_of(size, 0), ishmem.zeros(1, dtype="u8")
    ishmem.put_signal(dest, source, signal, salt + 1, ishmem.SIGNAL_SET, (me + 1) % n)
    ishmem.signal_wait_until(signal, ishmem.CMP_EQ, salt + 1)
    require(dest.asnumpy(), values((me - 1) % n, size, salt), "put_signal")
    ishmem.barrier_all()
    for array in (source, dest, signal):
        ishmem.free(array)


def teams(draw: random.Random, me: int, n: int) -> None:
    """Split the world; synchronise in the team and in a context of it."""
    size = draw.randint(1, n)
    team = ishmem.TEAM_WORLD.split_strided(0, 1, size)
    if team:
        require(team.my_pe(), me, "split_strided")
        team.sync()
        context = team.create_ctx()
        context.quiet()
        context.destroy()
        team.destroy()
    ishmem.barrier_all()


def kernel(draw: random.Random, me: int, n: int) -> None:
    """Put from a kernel."""
    size, salt = draw.choice([1, 33, 1000]), draw.randrange(1 << 20)
    source, dest, counter = array_of(size, salt), array_of(size, 0), ishmem.zeros(1, dtype="i8")
    ishmem.barrier_all()
    dpex.call_kernel(pass_to, kapi.Range(1), dest, source, counter, (me + 1) % n)
    ishmem.barrier_all()
    require(dest.asnumpy(), values((me - 1) % n, size, salt), "put in a kernel")
    require(counter.asnumpy(), [1], "atomic_add in a kernel")
    for array in (source, dest, counter):
        ishmem.free(array)


def on_queue(draw: random.Random, me: int, n: int) -> None:
    """Put on a queue."""
    size, salt = draw.choice([1, 1000]), draw.randrange(1 << 20)
    source, dest = array_of(size, salt), array_of(size, 0)
    ishmem.barrier_all()
    ishmem.put_on_queue(dest, source, (me + 1) % n, source.sycl_queue).wait()
    ishmem.barrier_all()
    require(dest.asnumpy(), values((me - 1) % n, size, salt), "put_on_queue")
    ishmem.free(dest)
    ishmem.free(source)


def refuse(draw: random.Random, _me: int, n: int) -> None:
    """Make calls that raise."""
    array = array_of(draw.randint(1, 9), 0)
    for call in (lambda: ishmem.p(array, 1, n), lambda: ishmem.put(array, dpnp.zeros(99, dtype="i8"), 0)):
        try:
            call()
        except (IndexError, ValueError):
            continue
        raise SystemExit("soak: a bad call was accepted")
    ishmem.free(array)


def collect(draw: random.Random, me: int, n: int) -> None:
    """Call collectives of the host."""
    size, salt = draw.choice([1, 100, 1 << 15]), draw.randrange(1 << 20)
    source, dest = array_of(size, salt), array_of(size * n, 0)
    ishmem.fcollect(dest, source)
    require(dest.asnumpy()[(n - 1) * size :], values(n - 1, size, salt), "fcollect")
    ishmem.broadcast(source, source, 0)
    require(source.asnumpy(), values(0, size, salt), "broadcast")
    ishmem.free(dest)
    ishmem.free(source)


def wait_in_kernels(draw: random.Random, me: int, n: int) -> None:
    """Run a kernel on each PE that waits for the one of another PE."""
    flag = ishmem.zeros(1, dtype="i8")
    for turn in range(1, draw.randint(2, 5)):
        dpex.call_kernel(ring, kapi.Range(1), flag, turn)
    ishmem.barrier_all()
    ishmem.free(flag)


def idle(draw: random.Random, me: int, n: int) -> None:
    """Let all PEs wait for one that does nothing."""
    late, seconds = draw.randrange(n), draw.random() / 3
    if me == late:
        time.sleep(seconds)
    ishmem.sync_all()


OPERATIONS: list[Operation] = [allocate, move, private, count, wait, teams, kernel, on_queue, refuse]
IF_PES_FAIL = [*OPERATIONS, collect, wait_in_kernels, idle]


def usage(turns: int, start: float) -> str:
    """Return this process's resources as a line of JSON; free memory of malloc is not counted."""
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/status") as file:
        sizes = {line.split(":")[0]: int(line.split()[1]) << 10 for line in file if line.endswith("kB\n")}
    with open("/proc/self/maps") as file:
        maps = len(file.readlines())
    return json.dumps(
        {
            "pe": ishmem.my_pe(),
            "seconds": round(time.monotonic() - start, 1),
            "turns": turns,
            "private": sizes["RssAnon"],
            "shared": sizes["RssShmem"],
            "fds": len(os.listdir("/proc/self/fd")),
            "maps": maps,
            "threads": len(os.listdir("/proc/self/task")),
        }
    )


def tell(folder: Path, **what: object) -> None:
    """Append to this PE's file what happened, with the time of the clock that all processes share."""
    with (folder / f"{PE}.pe").open("a") as file:
        file.write(json.dumps({"at": time.monotonic(), **what}) + "\n")


def work(operations: list[Operation], seconds: float, seed: int) -> None:
    """Do operations for so many seconds: PE 0 says when it is over."""
    me, n = ishmem.my_pe(), ishmem.n_pes()
    over = ishmem.zeros(1, dtype="i8")
    draw, start, turns, told = random.Random(seed), time.monotonic(), 0, 0.0
    while not int(over.asnumpy()[0]):
        draw.choice(operations)(draw, me, n)
        turns += 1
        if not sys.argv[3:] and time.monotonic() > told + EVERY:
            told = time.monotonic()
            print(usage(turns, start), flush=True)
        ishmem.barrier_all()
        if me == 0 and time.monotonic() > start + seconds:
            for pe in range(n):
                ishmem.p(over, 1, pe)
        ishmem.barrier_all()
    if not sys.argv[3:]:
        print(usage(turns, start), flush=True)
    ishmem.free(over)


def fail(seconds: float, seed: int, folder: Path, how: str) -> None:
    """Do operations, of which some PEs do not see the end; tell what happens, and end at SIGUSR1."""

    def end(*_: object) -> None:
        if how == "raise":
            raise RuntimeError("no more")
        sys.exit(7)

    signal.signal(signal.SIGUSR1, end)
    try:
        tell(folder, called=time.monotonic())
        ishmem.init(heap_size="64M")
        tell(folder, ready=True)
        work(IF_PES_FAIL, seconds, seed)
        ishmem.finalize()
    except ishmem.PeerLost as error:
        tell(folder, lost=error.pe, words=str(error))
        raise
    tell(folder, done=True)


if __name__ == "__main__":
    arguments = float(sys.argv[1]), int(sys.argv[2])
    if sys.argv[3:]:
        fail(*arguments, Path(sys.argv[3]), sys.argv[4])
    else:
        with ishmem.init(heap_size="64M"):
            work(OPERATIONS, *arguments)
