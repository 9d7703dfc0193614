"""Counts the instructions of host calls, to a PE of the same node and to one of another.

    ishmrun --hosts a:2,b -m ishmem.benchmarks.host_instructions

PE 0 executes each call once under single steps (stepping.py), after calls that warm it up. Counted is what its thread
executes in user mode, less a call of an empty Python function: not the engine's thread, nor the target. Needs Linux on
x86-64 and the right to trace a process.
"""

from __future__ import annotations

import collections
import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Callable

from rich.console import Console
from rich.table import Table

import ishmem

PARTS = {
    "ishmem": ("_core.",),
    "Python": ("python", "libpython", "_ctypes", "libffi"),
    "C library": ("libc.", "[vdso]"),
}
"""Beginnings of the names of libraries; all others are MPI and what it uses."""
OTHERS = "MPI and below"
QUIET = "quiet"
WARM_UP = 3
ARRIVAL = 0.05  # seconds after which what was sent has arrived and is acknowledged
ALLOW_ANY = 0x59616D61, -1  # PR_SET_PTRACER, PR_SET_PTRACER_ANY


class Stepper:
    """Another process that steps through this thread."""

    def __init__(self) -> None:
        libc = ctypes.CDLL(None)
        self._first, self._last = getattr(libc, "raise"), libc.abs
        libc.prctl(ALLOW_ANY[0], ctypes.c_long(ALLOW_ANY[1]), 0, 0, 0)
        last = str(ctypes.cast(self._last, ctypes.c_void_p).value)
        command = [sys.executable, str(Path(__file__).with_name("stepping.py")), str(os.getpid()), last]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self._process.stdout
        self._lines = self._process.stdout
        if self._lines.readline() != "ready\n":
            assert self._process.stderr
            raise SystemExit(f"cannot count instructions: {self._process.stderr.read().splitlines()[-1]}")

    def count(self, call: Callable[[], Any]) -> dict[str, int]:
        """Return the instructions of a call, by part."""
        first, last = self._first, self._last
        first(signal.SIGTRAP)
        call()
        last(1)
        found: collections.Counter[str] = collections.Counter()
        for library, count in json.loads(self._lines.readline()).items():
            found[part_of(library)] += count
        return found


def part_of(library: str) -> str:
    """Return the row of `PARTS` that a library belongs to."""
    return next((part for part, names in PARTS.items() if library.startswith(names)), OTHERS)


def counts(stepper: Stepper, dest: Any, source: Any, pe: int) -> dict[str, dict[str, int]]:
    """Return the instructions of calls with 8 bytes of symmetric memory to a PE, by part."""
    calls: dict[str, Callable[[], Any]] = {
        "put": lambda: ishmem.put(dest, source, pe),
        "put_nbi": lambda: ishmem.put_nbi(dest, source, pe),
        "p": lambda: ishmem.p(dest, 1, pe),
        "atomic_add": lambda: ishmem.atomic_add(dest, 1, pe),
        QUIET: ishmem.quiet,
    }
    empty, found = stepper.count(lambda: None), {}
    for name, call in calls.items():
        for _ in range(WARM_UP):
            call()
            ishmem.quiet()
        if name == QUIET:
            ishmem.put(dest, source, pe)
        time.sleep(ARRIVAL)  # what a quiet waits for is not counted
        each = stepper.count(call)
        found[name] = {part: each.get(part, 0) - empty.get(part, 0) for part in (*PARTS, OTHERS)}
    return found


def main() -> None:
    """Print the table; collective."""
    dest, source = ishmem.zeros(1, dtype="i8"), ishmem.zeros(1, dtype="i8")
    if ishmem.my_pe() == 0:
        near = [pe for pe in range(ishmem.n_pes()) if ishmem.ptr(dest, pe) is not None]
        far = [pe for pe in range(ishmem.n_pes()) if pe not in near]
        stepper, table = Stepper(), Table("8 bytes, by the host", "to a PE of", *PARTS, OTHERS)
        for place, pes in (("the same node", near), ("another node", far)):
            for name, parts in counts(stepper, dest, source, pes[-1]).items() if pes else ():
                table.add_row(name, place, *(str(parts[part]) for part in (*PARTS, OTHERS)))
        Console().print(table)
    ishmem.barrier_all()
    ishmem.free(source)
    ishmem.free(dest)


if __name__ == "__main__":
    with ishmem.init():
        main()
