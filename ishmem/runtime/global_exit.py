"""``global_exit``: a message over the links, then a signal to PEs that do not read it.

The thread that reads the links ends its process on this message. In a PE that runs a kernel that thread cannot run,
since the kernel holds the interpreter's lock: a signal that carries the status ends such a PE.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import sys
import time
from typing import TYPE_CHECKING, NoReturn

from ishmem import _core
from ishmem.common.processes import descriptor
from ishmem.common.status_board import StatusBoard

if TYPE_CHECKING:
    from ishmem.ipc.exchange import Links

PATIENCE = 0.5
"""Seconds that the other PEs have to end on the message."""

_SIGNAL = signal.SIGRTMAX - 3
_libc = ctypes.CDLL(None, use_errno=True)


def prepare(links: Links, board: StatusBoard | None) -> tuple[list[int], StatusBoard]:
    """Install the signal handler; return the process numbers of all PEs, and the board. Collective.

    A PE without a board opens that of PE 0.
    """
    _core.exit_on(_SIGNAL)
    shared = [board.fd] if board and links.pe == 0 else []
    parts = links.allgather(str(os.getpid()).encode(), shared, what="init")
    ((fd,),) = (fds for _payload, fds in parts if fds)
    if board is None:
        board = StatusBoard(fd, links.n_pes)
        board.join(links.pe, "init", _core)
    else:
        os.close(fd)
    return [int(payload) for payload, _fds in parts], board


def end_job(board: StatusBoard, links: Links, processes: list[int], status: int) -> NoReturn:
    """End every PE of the job with an exit status."""
    _flush()
    board.head.closing = 1
    opened = {pid: descriptor(pid) for pid in processes if pid != os.getpid()}
    others = {pid: handle for pid, handle in opened.items() if handle is not None}
    links.on_lost = None  # their ends are expected
    links.exit(status)
    if _wait(others, PATIENCE):
        for pid in others:
            _libc.sigqueue(pid, int(_SIGNAL), ctypes.c_void_p(status))
        _wait(others, PATIENCE)
    os._exit(status)


def end_process(status: int) -> NoReturn:
    """End this process, since another PE ends the job."""
    _flush()
    os._exit(status)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()


def _wait(processes: dict[int, int], seconds: float) -> bool:
    """Wait for processes to end and remove those that have; return whether any is left."""
    deadline = time.monotonic() + seconds
    while processes and (left := deadline - time.monotonic()) > 0:
        ended = select.select(list(processes.values()), [], [], left)[0]
        for pid in [pid for pid, handle in processes.items() if handle in ended]:
            os.close(processes.pop(pid))
    return bool(processes)
