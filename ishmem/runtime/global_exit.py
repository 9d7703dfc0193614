"""``global_exit``: a message over the links, then a signal to PEs that do not read it.

The thread that reads the links ends its process on this message. While a kernel runs and holds the interpreter's lock,
this thread cannot run: then a signal that carries the status ends the PE.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time
from typing import TYPE_CHECKING, NoReturn

from ishmem import _core
from ishmem.common.job_end import GLOBAL_EXIT
from ishmem.common.processes import descriptor, send_value
from ishmem.common.status_board import StatusBoard
from ishmem.runtime import job

if TYPE_CHECKING:
    from ishmem.ipc.links import Links
    from ishmem.runtime.job import Job

_SIGNAL = signal.SIGRTMAX - 3


def prepare(links: Links, board: StatusBoard | None) -> StatusBoard:
    """Install the handler of the signal of `end_job`, and return the status board; collective.

    A PE whose ``board`` is None opens that of PE 0.
    """
    _core.exit_on(_SIGNAL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (_SIGNAL,))
    shared = [board.fd] if board and links.place == 0 else []
    parts = links.allgather(b"", shared, what="init")
    ((fd,),) = (fds for _payload, fds in parts if fds)
    if board is None:
        board = StatusBoard(fd, links.n_pes)
        board.join(links.place, "init", _core)
    else:
        os.close(fd)
    return board


def end_job(this: Job, status: int) -> NoReturn:
    """End every PE of the job with an exit status, within about a second; any thread of this PE may call."""
    _stop_observing()
    if this.mpi and this.is_watched:
        this.links.exit(status)
        this.mpi.abort(status)
    _flush()
    this.board.head.closing = 1
    others = _others(this.board)
    this.links.on_lost = None  # their ends are expected
    this.links.exit(status)
    if _wait(others, GLOBAL_EXIT):
        for handle in others:
            send_value(handle, int(_SIGNAL), status)
        _wait(others, GLOBAL_EXIT)
    os._exit(status)


def end_process(status: int) -> NoReturn:
    """End this process with a status, because another PE ends the job."""
    _stop_observing()
    _flush()
    os._exit(status)


def _stop_observing() -> None:
    """Write the trace of this process, if its calls are traced."""
    if job.running() and (observer := job.current().observer):
        observer.how = "global_exit"
        observer.stop()


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()


def _others(board: StatusBoard) -> list[int]:
    """Return process descriptors of the other PEs, without those that left the board before theirs was opened."""
    opened = {pe: descriptor(pid) for pe in range(board.n_pes) if (pid := board.process(pe)) not in (None, os.getpid())}
    return [handle for pe, handle in opened.items() if handle is not None and board.process(pe) is not None]


def _wait(handles: list[int], seconds: float) -> bool:
    """Wait for processes to end and remove those that have from ``handles``; return whether any is left."""
    deadline, waiting = time.monotonic() + seconds, select.poll()  # select.select() takes only descriptors below 1024
    for handle in handles:
        waiting.register(handle, select.POLLIN)
    while handles and (left := deadline - time.monotonic()) > 0:
        for handle, _events in waiting.poll(1000 * left):
            waiting.unregister(handle)
            handles.remove(handle)
            os.close(handle)
    return bool(handles)
