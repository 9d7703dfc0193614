"""Counts instructions of a thread of another process by single steps.

    python stepping.py THREAD LAST

Counted is from where the thread sends itself SIGTRAP to where it calls the function at the address ``LAST``. The
program prints "ready" once it traces the thread, and then for each count a line of JSON: instructions by library. It
ends with the thread. Only Linux on x86-64.
"""

from __future__ import annotations

import bisect
import collections
import ctypes
import json
import os
import signal
import sys

CONTINUE, SINGLESTEP, GETREGS, SEIZE = 7, 9, 12, 0x4206
ALL_THREADS = 0x40000000  # __WALL
RIP, WORDS = 16, 27  # of user_regs_struct

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
_libc.ptrace.restype = ctypes.c_long


class Libraries:
    """The files that are mapped into a process, by address."""

    def __init__(self, thread: int) -> None:
        self._thread = thread
        self._read()

    def _read(self) -> None:
        with open(f"/proc/{self._thread}/maps") as file:
            rows = [line.split() for line in file]
        self._starts = [int(row[0].split("-")[0], 16) for row in rows]
        self._ends = [int(row[0].split("-")[1], 16) for row in rows]
        self._names = [os.path.basename(row[5]) if len(row) > 5 else "" for row in rows]

    def name(self, address: int) -> str:
        """Return the file at an address, or an empty string."""
        for _ in range(2):
            at = bisect.bisect_right(self._starts, address) - 1
            if at >= 0 and address < self._ends[at]:
                return self._names[at]
            self._read()
        return ""


def ptrace(request: int, thread: int, data: object = None) -> None:
    """Call ptrace; raise OSError when it fails."""
    if _libc.ptrace(request, thread, None, data) < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def main() -> None:
    """Count until the thread ends."""
    thread, last = map(int, sys.argv[1:3])
    ptrace(SEIZE, thread)
    libraries, registers = Libraries(thread), (ctypes.c_ulonglong * WORDS)()
    found: collections.Counter[str] | None = None
    print("ready", flush=True)
    while True:
        status = os.waitpid(thread, ALL_THREADS)[1]
        if not os.WIFSTOPPED(status):
            return
        number = os.WSTOPSIG(status)
        ptrace(GETREGS, thread, registers)
        if found is None and number == signal.SIGTRAP:
            found = collections.Counter()
        elif found is not None and registers[RIP] == last:
            print(json.dumps(found), flush=True)
            found = None
        elif found is not None:
            found[libraries.name(registers[RIP])] += 1
        ptrace(CONTINUE if found is None else SINGLESTEP, thread, 0 if number == signal.SIGTRAP else number)


if __name__ == "__main__":
    main()
