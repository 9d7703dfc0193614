"""Errors of numba in kernels, in few words: the kernel, the line of the program and the cause.

numba wraps the cause into the history of its type inference, once for each function on the way. `KernelCompileError`
replaces that; ``ISHMEM_DEBUG`` shows the original.
"""

from __future__ import annotations

import fcntl
import hashlib
import sys
import traceback
from types import TracebackType

from ishmem.common.callsite import CallSite
from ishmem.common.errors import IshmemError
from ishmem.dpex import compile_errors as explaining
from ishmem.runtime import job
from ishmem.runtime.status_board import StatusBoard


class KernelCompileError(explaining.KernelCompileError, IshmemError):
    """A kernel does not compile; the message ends with the line of the program and the cause.

    Attributes:
        board: The status board of the job, which may have ended when the error is printed; None outside a job.
    """

    board: StatusBoard | None = None


def explain(name: str, file: str, line: int, text: str) -> KernelCompileError:
    """Return the error for a kernel, defined at a line of a file, that numba rejects with a text."""
    error = explaining.explain(name, file, line, text, _is_library, KernelCompileError)
    error.board = job.current().board if job.running() else None
    return error


def _is_library(file: str) -> bool:
    return not CallSite(file, 0, "").is_users


def install() -> None:
    """Print the traceback of an error in a kernel on one PE of the job only."""
    global _show
    if sys.excepthook is not _except:
        _show, sys.excepthook = sys.excepthook, _except


_show = sys.excepthook


def _except(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if not isinstance(error, KernelCompileError):
        _show(kind, error, trace)
    elif error.board and not _is_first(error.board, str(error)):
        print(f"{kind.__name__}: as on another PE: {str(error).splitlines()[0]}", file=sys.stderr)
    else:
        frames = [frame for frame in traceback.extract_tb(trace) if CallSite(frame.filename, 0, "").is_users]
        lines = ["Traceback (most recent call last):\n", *traceback.format_list(frames)]
        print("".join(lines) + f"{kind.__name__}: {error}", file=sys.stderr)


def _is_first(board: StatusBoard, text: str) -> bool:
    """Return whether no other PE of this node has printed an error."""
    digest = int.from_bytes(hashlib.sha256(text.encode()).digest()[:7], "little")
    with open(board.path, "r+b") as file:
        fcntl.lockf(file, fcntl.LOCK_EX)
        first = bool(board.head.printed != digest)
        board.head.printed = digest
    return first
