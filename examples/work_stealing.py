"""Balances uneven work: a PE that has none left steals some of another PE's: ishmem run -n 4 examples/work_stealing.py.

All tasks start on PE 0. Each PE has a half-open range of tasks, `first` to `last`, protected by a lock of its own; it
takes one task at a time from the front of its range, and steals the back half of another PE's range.
"""

from __future__ import annotations

import ishmem

TASKS = 200
FIRST, LAST = 0, 1


def collatz(number: int) -> int:
    """Return the number of steps from ``number`` down to 1: the tasks differ widely in length."""
    steps = 0
    while number != 1:
        number = number // 2 if number % 2 == 0 else 3 * number + 1
        steps += 1
    return steps


def take(tasks, locks, pe: int, share: int) -> range:
    """Take one task from the front of this PE's range, or one part in ``share`` of the back of PE ``pe``'s range."""
    with ishmem.lock(locks, pe):
        first, last = ishmem.g(tasks, pe, FIRST), ishmem.g(tasks, pe, LAST)
        if pe == ishmem.my_pe():
            taken = range(first, min(first + 1, last))
            ishmem.p(tasks, taken.stop, pe, FIRST)
        else:
            taken = range(last - (last - first + share - 1) // share, last)
            ishmem.p(tasks, taken.start, pe, LAST)
    return taken


def steal(tasks, locks) -> bool:
    """Move half of the tasks of the next PE that has any to this PE's range; return False if none has."""
    me, n = ishmem.my_pe(), ishmem.n_pes()
    for distance in range(1, n):
        loot = take(tasks, locks, (me + distance) % n, share=2)
        if loot:
            with ishmem.lock(locks, me):
                ishmem.p(tasks, loot.start, me, FIRST)
                ishmem.p(tasks, loot.stop, me, LAST)
            return True
    return False


def main() -> None:
    """Do all tasks and check on PE 0 that each was done once."""
    with ishmem.init():
        me, n = ishmem.my_pe(), ishmem.n_pes()
        tasks, locks = ishmem.zeros(2, dtype="i8"), ishmem.zeros(n, dtype="i8")
        results, done = ishmem.full(TASKS, -1, dtype="i8"), ishmem.zeros(1 + n, dtype="i8")
        if me == 0:
            ishmem.p(tasks, TASKS, 0, LAST)
        ishmem.barrier_all()
        while ishmem.atomic_fetch(done, 0) < TASKS:
            for task in take(tasks, locks, me, share=1):
                ishmem.p(results, collatz(9**task + 1), 0, task)
                ishmem.quiet()  # the result is stored before it is counted
                ishmem.atomic_inc(done, 0)
                ishmem.atomic_inc(done, 0, 1 + me)
            if ishmem.g(tasks, me, FIRST) == ishmem.g(tasks, me, LAST):
                steal(tasks, locks)
        ishmem.barrier_all()
        if me == 0:
            right = results.asnumpy().tolist() == [collatz(9**task + 1) for task in range(TASKS)]
            total, *shares = done.asnumpy().tolist()
            print(f"{total} tasks, by PE: {shares}; every result is {'right' if right else 'WRONG'}")
        ishmem.free_all()


if __name__ == "__main__":
    main()
