"""Four processes: two jobs of two at the same time, then one of all, with another size of the heap."""

import multiprocessing

import ishmem


def total(uid, rank, nranks, value, heap_size):
    ishmem.init(uid=uid, rank=rank, nranks=nranks, heap_size=heap_size)
    mine, sums = ishmem.full(1, value, dtype="i8"), ishmem.zeros(1, dtype="i8")
    for _ in range(20):
        ishmem.sum_reduce(sums, mine)
    result = ishmem.g(sums, rank)
    ishmem.finalize()
    return result


def work(uids, number, results):
    group, rank = divmod(number, 2)
    first = total(uids[group], rank, 2, number + 1, "4M")
    results.put((number, first, total(uids[2], number, 4, number + 1, "5M")))


if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    results, uids = context.SimpleQueue(), [ishmem.get_uniqueid() for _ in range(3)]
    workers = [context.Process(target=work, args=(uids, number, results)) for number in range(4)]
    for worker in workers:
        worker.start()
    print(sorted(results.get() for _ in workers))
