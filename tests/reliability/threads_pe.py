"""A PE of ``reliability threads``: host calls from 8 threads at once, all of whose results are compared.

    ishmem run -n 2 tests/reliability/threads_pe.py 60 1     (seconds, seed)

Thread t of a PE writes row t of its right neighbour and knows its contents. Threads of the same number run the same
kinds of operations on all PEs, so that they can wait for each other; each thread draws offsets and sizes by itself.
Counters that all threads add to are compared at the end of each round, when the threads have stopped.
"""

from __future__ import annotations

import json
import random
import sys
import threading
import time
import traceback
from collections import Counter
from typing import Any

import numpy as np

import ishmem

THREADS, TURNS = 8, 300
LENGTH = 50_000  # of a row; from 32,768 on a copy lets other Python threads run
COUNTERS = 4
PATIENCE = 60.0
"""Seconds that a wait for another thread may take."""


class Arrays:
    """What all threads of this PE share."""

    def __init__(self) -> None:
        self.me, self.n = ishmem.my_pe(), ishmem.n_pes()
        self.right = (self.me + 1) % self.n
        self.rows = ishmem.zeros((THREADS, LENGTH), dtype="int64")
        self.words = ishmem.zeros(THREADS, dtype="int64")
        self.static = ishmem.static("threads", THREADS, "int64")
        self.signals = ishmem.zeros(THREADS, dtype="uint64")
        self.flags = ishmem.zeros(THREADS, dtype="int64")
        self.counters = ishmem.zeros(COUNTERS, dtype="int64")
        self.tickets = ishmem.zeros(1, dtype="int64")
        self.told = ishmem.zeros((self.n, COUNTERS + 1), dtype="int64")


class Worker:
    """One thread's operations, and the expected contents of what only it writes."""

    def __init__(self, shared: Arrays, number: int, seed: int) -> None:
        self.shared, self.number = shared, number
        self.common, self.own = random.Random(f"{seed} {number}"), np.random.default_rng([seed, number, shared.me])
        self.row, self.word, self.static = np.zeros(LENGTH, "int64"), 0, 0
        self.signal = self.meetings = self.drawn = 0
        self.last = -1
        self.sent = np.zeros((shared.n, COUNTERS), "int64")
        self.done: Counter[str] = Counter()

    def run(self) -> None:
        """Run the operations of a round; a wrong result ends the job."""
        try:
            for _ in range(TURNS):
                operation = self.common.choice(self.OPERATIONS)
                getattr(self, operation)()
                self.done[operation] += 1
            self._compare(slice(None))
        except BaseException:
            traceback.print_exc()
            ishmem.global_exit(1)

    def put(self) -> None:
        """Put a piece, long ones among them."""
        part, values = self._part(self._size())
        (ishmem.put_nbi if self.own.integers(2) else ishmem.put)(self._row()[part], values, self.shared.right)
        ishmem.quiet()

    def get(self) -> None:
        """Get a piece."""
        part, _values = self._part(self._size(), change=False)
        self._compare(part)

    def element(self) -> None:
        """Put one element and get it."""
        index, value = int(self.own.integers(LENGTH)), int(self.own.integers(-(2**62), 2**62))
        ishmem.p(self._row(), value, self.shared.right, index)
        self.row[index] = value
        require(ishmem.g(self._row(), self.shared.right, index), value, "p, g")

    def strided(self) -> None:
        """Put every second or third element of a piece."""
        count, step = int(self.own.integers(1, 500)), int(self.own.integers(1, 4))
        start = int(self.own.integers(LENGTH - count * step))
        values = self.own.integers(0, 2**62, count)
        ishmem.iput(self._row()[start : start + count * step], values, step, 1, count, self.shared.right)
        ishmem.quiet()
        self.row[start : start + count * step : step] = values

    def atomic(self) -> None:
        """Change a word of this thread on the heap by each atomic operation."""
        self.word = self._change(self.shared.words, self.word)

    def atomic_static(self) -> None:
        """Change a word of a static object."""
        self.static = self._change(self.shared.static, self.static)

    def count(self) -> None:
        """Add to counters that all threads of all PEs add to, and draw a ticket."""
        pe, index, more = (int(self.own.integers(most)) for most in (self.shared.n, COUNTERS, 100))
        ishmem.atomic_add(self.shared.counters, more, pe, index)
        self.sent[pe, index] += more
        ticket = ishmem.atomic_fetch_inc(self.shared.tickets, 0)
        self.drawn += 1
        if ticket <= self.last:
            raise SystemExit(f"ticket {ticket} after {self.last}")
        self.last = ticket

    def put_signal(self) -> None:
        """Put a piece with a signal; the thread of the same number on the left does so here: wait for it."""
        part, values = self._part(self._size())
        right, signals = self.shared.right, self.shared.signals
        ishmem.put_signal(self._row()[part], values, signals, 1, ishmem.SIGNAL_ADD, right, index=self.number)
        self.signal += 1
        ishmem.signal_wait_until(signals, ishmem.CMP_GE, self.signal, self.number, timeout=PATIENCE)

    def meet(self) -> None:
        """Signal the right neighbour's thread, and wait for the left one's."""
        self.meetings += 1
        ishmem.p(self.shared.flags, self.meetings, self.shared.right, self.number)
        ishmem.wait_until(self.shared.flags, ishmem.CMP_GE, self.meetings, self.number, timeout=PATIENCE)

    OPERATIONS = ("put", "get", "element", "strided", "atomic", "atomic_static", "count", "put_signal", "meet")

    def _row(self) -> Any:
        return self.shared.rows[self.number]

    def _size(self) -> int:
        return int(self.own.choice([1, 7, 100, 3000, LENGTH], p=[0.3, 0.3, 0.2, 0.17, 0.03]))

    def _part(self, size: int, change: bool = True) -> tuple[slice, np.ndarray]:
        start = int(self.own.integers(LENGTH - size + 1))
        part = slice(start, start + size)
        values = self.own.integers(0, 2**62, size if change else 0)
        if change:
            self.row[part] = values
        return part, values

    def _compare(self, part: slice) -> None:
        back = np.empty_like(self.row[part])
        ishmem.get(back, self._row()[part], self.shared.right)
        require(back, self.row[part], "get")

    def _change(self, array: Any, old: int) -> int:
        value, pe, at = int(self.own.integers(2**31)), self.shared.right, self.number
        kind = self.own.choice(["swap", "add", "and", "or", "xor", "compare_swap", "fetch"])
        if kind == "compare_swap":
            require(ishmem.atomic_compare_swap(array, old + 1, value, pe, at), old, "atomic_compare_swap")
            seen, new = ishmem.atomic_compare_swap(array, old, value, pe, at), value
        elif kind == "fetch":
            seen, new = ishmem.atomic_fetch(array, pe, at), old
        else:
            name = "atomic_swap" if kind == "swap" else f"atomic_fetch_{kind}"
            seen = getattr(ishmem, name)(array, value, pe, at)
            new = {"swap": value, "add": old + value, "and": old & value, "or": old | value, "xor": old ^ value}[kind]
        require(seen, old, f"atomic {kind}")
        return new if abs(new) < 2**62 else self._reset(array, pe, at)

    def _reset(self, array: Any, pe: int, at: int) -> int:
        ishmem.atomic_swap(array, 0, pe, at)
        return 0


def require(seen: Any, wanted: Any, what: str) -> None:
    """End the job when something is wrong."""
    if not np.array_equal(seen, wanted):
        raise SystemExit(f"{what} on PE {ishmem.my_pe()}: {seen} instead of {wanted}")


def totals(shared: Arrays, workers: list[Worker]) -> None:
    """Compare this PE's counters and the tickets with what all threads of all PEs have added."""
    sent = sum(worker.sent for worker in workers)
    for pe in range(shared.n):
        ishmem.put(shared.told[shared.me], np.append(sent[pe], sum(worker.drawn for worker in workers)), pe)
    ishmem.barrier_all()
    wanted = shared.told.asnumpy().sum(axis=0)
    require(shared.counters.asnumpy(), wanted[:COUNTERS], "atomic_add")
    require(ishmem.g(shared.tickets, 0), wanted[COUNTERS], "atomic_fetch_inc")
    ishmem.barrier_all()


def main(seconds: float, seed: int) -> None:
    """Do rounds for so many seconds: PE 0 says when it is over, and prints what was done."""
    with ishmem.init(heap_size="32M"):
        shared, over, start = Arrays(), ishmem.zeros(1, dtype="int64"), time.monotonic()
        workers = [Worker(shared, number, seed) for number in range(THREADS)]
        while not ishmem.g(over, shared.me):
            threads = [threading.Thread(target=worker.run) for worker in workers]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            totals(shared, workers)
            passed = time.monotonic() - start
            if shared.me == 0:
                done = sum((worker.done for worker in workers), Counter())
                print(json.dumps({"pe": 0, "seconds": round(passed, 1), "done": done}), flush=True)
                for pe in range(shared.n):
                    ishmem.p(over, passed > seconds, pe)
            ishmem.barrier_all()


if __name__ == "__main__":
    main(float(sys.argv[1]), int(sys.argv[2]))
