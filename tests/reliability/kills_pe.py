"""A PE of ``reliability kills`` and ``nodes``: runs operations until its time is over, and tells how it ended.

Arguments: seconds, a seed, a folder with a file for each PE, and how SIGUSR1 ends the PE.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

import ishmem  # first: it lets the SYCL stack find the GPUs, or simulated ones

# isort: split
import soak_pe

from ishmem import dpex
from ishmem.dpex import kernel_api as kapi
from ishmem.environment.mpi_variables import launched

SECONDS, SEED, FOLDER, ENDS = float(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]), sys.argv[4]
PE = os.environ.get("ISHMEM_PE") or launched().rank


@dpex.kernel
def ring(item: kapi.Item, flag, turn):
    """Let the next PE go on, and wait for the one before."""
    ishmem.p(flag, turn, (ishmem.my_pe() + 1) % ishmem.n_pes())
    ishmem.wait_until(flag, ishmem.CMP_GE, turn)


def collect(draw: random.Random, me: int, n: int) -> None:
    """Call collectives of the host."""
    size, salt = draw.choice([1, 100, 1 << 15]), draw.randrange(1 << 20)
    source, dest = soak_pe.array_of(size, salt), soak_pe.array_of(size * n, 0)
    ishmem.fcollect(dest, source)
    soak_pe.require(dest.asnumpy()[(n - 1) * size :], soak_pe.values(n - 1, size, salt), "fcollect")
    ishmem.broadcast(source, source, 0)
    soak_pe.require(source.asnumpy(), soak_pe.values(0, size, salt), "broadcast")
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


def tell(**what: object) -> None:
    """Append to this PE's file what happened, with the time of the clock that all processes share."""
    with (FOLDER / f"{PE}.pe").open("a") as file:
        file.write(json.dumps({"at": time.monotonic(), **what}) + "\n")


def end(*_: object) -> None:
    """End in the way that the test asks for, wherever the program is."""
    if ENDS == "raise":
        raise RuntimeError("no more")
    sys.exit(7)


def work() -> None:
    """Run random operations, the same on all PEs, until the time is over."""
    tell(called=time.monotonic())
    ishmem.init(heap_size="64M")
    tell(ready=True)
    me, n, draw = ishmem.my_pe(), ishmem.n_pes(), random.Random(SEED)
    over, more = time.monotonic() + SECONDS, ishmem.array([1])
    while int(more.asnumpy()[0]):
        draw.choice([*soak_pe.OPERATIONS, collect, wait_in_kernels, idle])(draw, me, n)
        ishmem.barrier_all()
        if me == 0 and time.monotonic() > over:
            for pe in range(n):
                ishmem.p(more, 0, pe)
        ishmem.barrier_all()
    ishmem.free(more)
    ishmem.finalize()


if __name__ == "__main__":
    signal.signal(signal.SIGUSR1, end)
    try:
        work()
    except ishmem.PeerLost as error:
        tell(lost=error.pe, words=str(error))
        raise
    tell(done=True)
