"""Workers of a process that is no PE and has used a device or not, as is asked, are PEs twice; then one is killed."""

import multiprocessing
import os
import signal
import sys

import dpctl

import ishmem


def sum_of_pes(uid, pe, results):
    ishmem.init(uid=uid, rank=pe, nranks=2, heap_size="4M")
    mine, total = ishmem.full(1, pe + 1, dtype="i8"), ishmem.zeros(1, dtype="i8")
    ishmem.sum_reduce(total, mine)
    results.put(ishmem.g(total, pe))


def work(uids, pe, results):
    try:
        sum_of_pes(uids[0], pe, results)
        ishmem.finalize()
        sum_of_pes(uids[1], pe, results)
        ishmem.barrier_all()
        if pe == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        ishmem.wait_until(ishmem.zeros(1, dtype="i8"), ishmem.CMP_EQ, 1)
    except ishmem.IshmemError as error:
        results.put(f"{type(error).__name__}: {error}")
        os._exit(3)


if __name__ == "__main__":
    way, used = sys.argv[1:]
    if used == "used":
        dpctl.SyclQueue("gpu")
    context = multiprocessing.get_context(way)
    results, uids = context.SimpleQueue(), [ishmem.get_uniqueid() for _ in range(2)]
    workers = [context.Process(target=work, args=(uids, pe, results)) for pe in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    while not results.empty():
        print(results.get())
    print(*(worker.exitcode for worker in workers))
