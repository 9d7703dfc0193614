"""Workers of a process that is no PE are PEs, in the way of the first argument, a function of this program."""

import multiprocessing
import os
import signal
import sys

import dpctl

import ishmem


def sum_of_pes(uid, pe, nranks, value, heap_size="4M"):
    """Start a job; return the sum of the values of all PEs."""
    ishmem.init(uid=uid, rank=pe, nranks=nranks, heap_size=heap_size)
    mine, total = ishmem.full(1, value, dtype="i8"), ishmem.zeros(1, dtype="i8")
    for _ in range(20):
        ishmem.sum_reduce(total, mine)
    return ishmem.g(total, pe)


def group_and_all(uids, number, results):
    """Be one of a group of two, then of all four, with another size of the heap."""
    group, rank = divmod(number, 2)
    first = sum_of_pes(uids[group], rank, 2, number + 1)
    ishmem.finalize()
    results.put((number, first, sum_of_pes(uids[2], number, 4, number + 1, "5M")))
    ishmem.finalize()


def twice(uids, pe, results):
    """Be a PE twice; then PE 0 is killed."""
    try:
        results.put(sum_of_pes(uids[0], pe, 2, pe + 1))
        ishmem.finalize()
        results.put(sum_of_pes(uids[1], pe, 2, pe + 1))
        ishmem.barrier_all()
        if pe == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        ishmem.wait_until(ishmem.zeros(1, dtype="i8"), ishmem.CMP_EQ, 1)
    except ishmem.IshmemError as error:
        results.put(f"{type(error).__name__}: {error}")
        os._exit(3)


if __name__ == "__main__":
    work, way, used = sys.argv[1:]
    if used == "used":
        dpctl.SyclQueue("gpu")
    context = multiprocessing.get_context(way)
    results, uids = context.SimpleQueue(), [ishmem.get_uniqueid() for _ in range(3)]
    count = 4 if work == "group_and_all" else 2
    workers = [context.Process(target=globals()[work], args=(uids, number, results)) for number in range(count)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    while not results.empty():
        print(results.get())
    print(*(worker.exitcode for worker in workers))
