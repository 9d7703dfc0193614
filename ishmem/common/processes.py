"""Processes as the kernel sees them: their ends, their parents and their orphans."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
from pathlib import Path
from typing import Callable

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_libc = ctypes.CDLL(None, use_errno=True)


def descriptor(pid: int) -> int | None:
    """Return a descriptor of a process, which is readable once it has ended; ``None`` if it has, and on old kernels."""
    try:
        return os.pidfd_open(pid)
    except OSError:
        return None


def stat(pid: int) -> list[str]:
    """Return the fields of ``/proc/PID/stat`` from the state on; none if there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].decode().split()
    except OSError:
        return []


def adopt_orphans(adopt: bool = True) -> None:
    """Make this process the parent of its descendants' orphans from now on, or no longer."""
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, int(adopt), 0, 0, 0)


def signal_at_end_of_parent(number: int) -> None:
    """Let the kernel send this process a signal when its parent ends."""
    _libc.prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)


def die_with(parent: int, number: int = signal.SIGKILL) -> Callable[[], None]:
    """Return a function for a child to call before exec: the child gets a signal when its parent dies."""

    def prepare() -> None:
        signal_at_end_of_parent(number)
        if os.getppid() != parent:
            os._exit(1)

    return prepare


def end_children() -> None:
    """Kill all children of this process and their descendants, which become its children."""
    with contextlib.suppress(ChildProcessError):
        while True:
            for pid in _children():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            os.waitpid(-1, 0)


def _children() -> list[int]:
    pids = [int(path.name) for path in Path("/proc").glob("[0-9]*")]
    return [pid for pid in pids if stat(pid)[1:2] == [str(os.getpid())]]
