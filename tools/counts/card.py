"""Counts, as a PE on an emulated card, the instructions of operations in kernels, and in kernels without ishmem.

The card appends a line to the file of ``ISHMEM_CARD_COUNT`` for each kernel. The count of an operation is the
difference of two kernels that do it a different number of times, or on more data, divided by the difference in number;
so code that runs once does not count. PE 0 counts. A kernel that waits for other PEs is launched after theirs, until
the least counts have occurred twice: then each poll has succeeded at once, whatever the load of the machine.

It prints the counts of each operation, and writes them to a file as JSON. See `tools.counts`.
"""

# Kernels have the types of numba, not those of mypy.
# mypy: ignore-errors

from __future__ import annotations

import ctypes
import json
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import dpnp
from dpctl.program import create_program_from_spirv

import ishmem
from ishmem import dpex
from ishmem.dpex import kernel_api as kapi
from ishmem.inference import Communicator
from ishmem.moe import Buffer
from ishmem.runtime import kernel_constants
from tools.counts import counted_kernels as kernels, opencl_c

FILE = "ISHMEM_CARD_COUNT"
PEER, FEW, MANY = 1, 16, 48
SUB_GROUP, GROUP, LINE = 16, 256, 8  # work-items, and elements of a cache line
LOOK = "one look of wait_until"
TOKENS, HIDDEN = 48, 256
ALWAYS = 1 << 40  # a flag that no kernel waits for any longer
LATE = 0.05  # seconds by which PE 0 launches a kernel that waits after the others, at first

Counts = Counter
Launch = Callable[[int], Any]


class Case(NamedTuple):
    """An operation.

    Attributes:
        own: Launches the kernel with ishmem for a number of operations, and returns its event.
        bare: Launches the kernel without ishmem in the same way.
        few, many: The numbers of operations of the two kernels whose counts are subtracted.
        each: The number of operations that count as one in the table.
        waits: Whether the kernel with ishmem waits for those of the other PEs.
    """

    own: Launch
    bare: Launch
    few: int = FEW
    many: int = MANY
    each: int = 1
    waits: bool = False


class Bench:
    """Launches kernels on this PE's queue, and reads the card's counts of them."""

    def __init__(self) -> None:
        self.me, self.pes = ishmem.my_pe(), ishmem.n_pes()
        self.queue = dpnp.zeros(1, dtype="i8").sycl_queue
        self._file, self._program = Path(os.environ[FILE]), None
        self.direct = not kernel_constants.options().routed  # the same on all PEs
        self.again, self.waited = ishmem.ones(1, dtype="i8"), ishmem.zeros(1, dtype="i8")

    def program(self) -> Any:
        """Return the compiled program of `bare_kernels.cl`."""
        if self._program is None:
            defined = {"DIRECT": int(self.direct), "MOST": TOKENS}
            head = "".join(f"#define {name} {value}\n" for name, value in defined.items())
            text = Path(__file__).with_name("bare_kernels.cl").read_text()
            self._program = create_program_from_spirv(self.queue, opencl_c.compiled(head + text), "")
        return self._program

    def bare(self, name: str, there: int, here: Any, own: Any, items: int = 1) -> Launch:
        """Return a function of the number of operations that launches ``name`` of `bare_kernels.cl`."""

        def launch(n: int) -> Any:
            numbers = [ctypes.c_ulonglong(each) for each in (there, address(here), address(own))]
            numbers += [ctypes.c_longlong(each) for each in (self.me, self.pes, n)]
            return self.queue.submit(self.program().get_sycl_kernel(name), numbers, [items], [items])

        return launch

    def own(self, kernel: Any, *arguments: Any, items: int = 1) -> Launch:
        """Return a function of the number of operations that launches ``kernel`` with ``items`` work-items."""
        space = kapi.NdRange((items,), (items,))
        return lambda n: dpex.call_kernel_async(kernel, space, (), *arguments, n)[1]

    def count(self, launch: Launch, n: int) -> Counts:
        """Return the counts of the kernels that ``launch(n)`` launches."""
        before = self._file.stat().st_size if self._file.exists() else 0
        launch(n).wait()
        counts = Counts()
        with self._file.open() as file:
            file.seek(before)
            # Another process may be writing the last line.
            whole = [json.loads(line) for line in file if line.endswith("\n")]
        for line in whole:
            if line["pid"] == os.getpid():
                counts.update({"instructions": line["instructions"], **line["messages"]})
        return counts

    def least(self, launch: Launch, n: int) -> Counts:
        """Return, on PE 0, the counts of a kernel that waits for other PEs if no wait polls twice; collective."""
        seen: list[Counts] = []
        while int(self.again[0]):
            ishmem.barrier_all()
            if self.me:
                launch(n).wait()
            else:
                time.sleep(LATE * 1.2 ** len(seen))
                seen.append(self.count(launch, n))
                least = min(seen, key=lambda counts: counts["instructions"])
                for pe in range(self.pes):
                    ishmem.p(self.again, seen.count(least) < 2, pe)
            ishmem.barrier_all()
        self.again[0] = 1
        return least if seen else Counts()

    def per_look(self, launch: Launch) -> dict[str, float]:
        """Return, on PE 0, the counts of one poll: the difference of two waits, divided by that of their polls."""
        if self.me:
            return {}
        sooner = later = Counts()
        while not 1 < sooner["atomic"] < later["atomic"]:  # the first look may have code of its own
            sooner, later = self.waited_for(launch, LATE), self.waited_for(launch, 2 * LATE)
        looks = later["atomic"] - sooner["atomic"]
        return {name: (later[name] - sooner[name]) / looks for name in later if later[name] != sooner[name]}

    def waited_for(self, launch: Launch, seconds: float) -> Counts:
        """Return the counts of the kernel of ``launch``, a wait, which ends after ``seconds``."""
        self.waited[0] = 0
        ended = threading.Timer(seconds, ishmem.p, (self.waited, 1, self.me))
        ended.start()
        counts = self.count(launch, 1)
        ended.join()
        return counts

    def per_operation(self, launch: Launch, case: Case, waits: bool) -> dict[str, float]:
        """Return, on PE 0, the counts of one operation of a case; collective if ``waits``, whether it waits for PEs."""
        if not waits and self.me:
            return {}
        counted = self.least if waits else self.count
        few, many = counted(launch, case.few), counted(launch, case.many)
        each = Fraction(case.each, case.many - case.few)
        return {name: float((many[name] - few[name]) * each) for name in many if many[name] != few[name]}


def address(array: Any) -> int:
    """Return the device address of an array."""
    return int(array.__sycl_usm_array_interface__["data"][0])


def distances(array: Any, pes: int) -> Any:
    """Return the distances in bytes from a symmetric array of this PE to that of each PE, as an array."""
    there = [address(ishmem.ptr(array, pe)) - address(array) for pe in range(pes)]
    return dpnp.asarray(there, dtype="i8")


def of_one_item(bench: Bench) -> Iterator[tuple[str, Case]]:
    """Yield name and case of the operations on single elements."""
    a, b = ishmem.zeros(MANY, dtype="i8"), dpnp.zeros(MANY, dtype="i8")
    there = address(ishmem.ptr(a, PEER))
    for name, private in {"p": b, "g": b, "fence": b, "quiet": distances(a, bench.pes)}.items():
        yield name, Case(bench.own(kernels.loop(name), a, b, PEER), bench.bare(name, there, a, private))
    if bench.direct:  # else the host does it
        own = bench.own(kernels.loop("atomic_fetch_add"), a, b, PEER)
        yield "atomic_fetch_add", Case(own, bench.bare("atomic_fetch_add", there, a, b))


def puts(bench: Bench) -> Iterator[tuple[str, Case]]:
    """Yield name and case of puts of several sizes by a work-item, a sub-group and a work-group."""
    for name, items in (("put", 1), ("put_sub_group", SUB_GROUP), ("put_work_group", GROUP)):
        for elements in (1, 8, 512):
            a, b = ishmem.zeros(elements, dtype="i8"), dpnp.zeros(elements, dtype="i8")
            own = bench.own(kernels.loop(name, elements), a, b, PEER, items=items)
            there = address(ishmem.ptr(a, PEER))
            bare = bench.bare(f"{name}_{8 * elements}", there, a, b, items=items)
            yield f"{name}, {8 * elements} bytes", Case(own, bare)


def look(bench: Bench) -> Iterator[tuple[str, Case]]:
    """Yield name and case of one poll of a wait."""
    flag = bench.waited
    yield LOOK, Case(bench.own(kernels.wait_until, flag, flag, PEER), bench.bare("wait_until", 0, flag, flag))


def collectives(bench: Bench) -> Iterator[tuple[str, Case]]:
    """Yield name and case of collectives by one work-item."""
    lines, own = ishmem.full(LINE * 64, ALWAYS, dtype="i8"), dpnp.zeros(3, dtype="i8")
    there = distances(lines, bench.pes)
    a, b = ishmem.zeros(1, dtype="i8"), ishmem.ones(1, dtype="i8")
    for name, pes in (("barrier_all", (2, 4)), ("sum_reduce", (2,))):
        if bench.pes in pes:
            bare = bench.bare(name, address(there), lines, own)
            yield f"{name}, {bench.pes} PEs", Case(bench.own(kernels.loop(name), a, b, PEER), bare, 0, 1, 1, True)


def words(bench: Bench) -> Iterator[tuple[str, Case]]:
    """Yield name and case of the one-shot all-reduce, by a work-group with a word for each work-item."""
    few, many = GROUP, 3 * GROUP
    communicator = Communicator(4 * many)
    slots, message = ishmem.full(2 * many, 1 << 32, dtype="i8"), dpnp.zeros(2 * many, dtype="f4")
    dest, source, there = dpnp.zeros(many, dtype="f4"), dpnp.zeros(many, dtype="f4"), distances(slots, bench.pes)

    def own(n: int) -> Any:
        return bench.own(kernels.all_reduce, dest[:n], source[:n], communicator.workspace, items=GROUP)(n)

    bare = bench.bare("all_reduce", address(there), slots, message, items=GROUP)
    yield f"all_reduce, {GROUP} words", Case(own, bare, few, many, GROUP, True)


def tokens(bench: Bench) -> Iterator[tuple[str, Case]]:
    """Yield name and case of a token of a dispatch, sent to the peer and received from it."""
    buffer = Buffer(TOKENS, HIDDEN, bench.pes, 1)
    x, choices = dpnp.zeros((TOKENS, HIDDEN), dtype="f4"), dpnp.full((TOKENS, 1), 1 - bench.me)

    def own(n: int) -> Any:
        sent, receive = buffer.low_latency_dispatch(x[:n], choices[:n], return_recv_hook=True)[3:]
        sent.wait()  # else the PE would receive its own data before it has sent them
        return receive()

    each = TOKENS * (HIDDEN // 2 + 1)
    rows, private = ishmem.zeros(each, dtype="i8"), dpnp.zeros(3 * each, dtype="i8")
    bare = bench.bare("dispatch", address(ishmem.ptr(rows, PEER)), rows, private, items=GROUP)
    yield "a token of dispatch, 1 KiB", Case(own, bare, FEW, MANY, 1, True)


def measured(bench: Bench, name: str, case: Case) -> dict[str, Any]:
    """Return the counts of a case, with ishmem and without it; empty on PEs other than 0. Collective."""
    if name == LOOK:
        return {"own": bench.per_look(case.own), "bare": bench.per_look(case.bare)}
    return {"own": bench.per_operation(case.own, case, case.waits), "bare": bench.per_operation(case.bare, case, False)}


def main() -> None:
    """Count all operations; print the counts and write them to the file on PE 0."""
    bench, found = Bench(), {}
    parts = (of_one_item, puts, look, collectives, words, tokens) if bench.pes == 2 else (collectives,)
    for name, case in (each for part in parts for each in part(bench)):
        found[name] = measured(bench, name, case)
        if bench.me == 0:
            print(name, found[name], flush=True)
        ishmem.barrier_all()
    if bench.me == 0:
        Path(sys.argv[1]).write_text(json.dumps(found))


if __name__ == "__main__":
    with ishmem.init():
        main()
