"""Errors of numba in kernels, in few words: the kernel, the line of the program and the cause.

numba wraps the cause into the history of its type inference, once for each function on the way. `KernelCompileError`
replaces that; ``ISHMEM_DEBUG`` shows the original.
"""

from __future__ import annotations

import fcntl
import hashlib
import linecache
import re
import sys
import traceback
from pathlib import Path
from types import TracebackType

from numba.core.errors import TypingError

from ishmem.common.callsite import CallSite
from ishmem.common.errors import IshmemError
from ishmem.runtime import job
from ishmem.runtime.status_board import StatusBoard

_PLACE = re.compile(r'(?:at (?P<at>/\S+) \((?P<n>\d+)(?::\d+)?\)|File "(?P<file>[^"]+)", line (?P<line>\d+))')
_CAUSE = re.compile(r"raised a specific error:\s+\w+: ((?:(?!raised a specific error).)*?)\n\s*raised from", re.DOTALL)
_HEADING = re.compile(r"^(Failed in .* pipeline|During: |File \"|\s*$)")
_LINES = 3  # of a cause that numba itself words


class KernelCompileError(TypingError, IshmemError):  # type: ignore[misc]
    """A kernel does not compile; the message ends with the line of the program and the cause.

    Attributes:
        board: The status board of the job, which may have ended when the error is printed; None outside a job.
    """

    board: StatusBoard | None = None

    def add_context(self, _message: str) -> KernelCompileError:
        """Return the error unchanged: the context that numba would add does not explain it."""
        return self


def explain(name: str, file: str, line: int, text: str) -> KernelCompileError:
    """Return the error for a kernel, defined at a line of a file, that numba rejects with a text."""
    place = _place(text) or CallSite(file, line, name)
    source = linecache.getline(place.file, place.line).strip()
    shown = f'\n  File "{place.file}", line {place.line}\n    {source}' if source else f"\n  {place.file}:{place.line}"
    error = KernelCompileError(f"the kernel {name} does not compile:{shown}\n{_cause(text)}")
    error.board = job.current().board if job.running() else None
    return error


def _place(text: str) -> CallSite | None:
    """Return the innermost line of the program that a text of numba names."""
    for found in _PLACE.finditer(text):
        name = found["at"] or found["file"]
        file = name if name.startswith("<") else str(Path(name).resolve())
        place = CallSite(file, int(found["n"] or found["line"]), "")
        if place.is_users:
            return place
    return None


def _cause(text: str) -> str:
    causes = [found[1].strip() for found in _CAUSE.finditer(text)]
    if causes:
        return causes[-1]
    words = [line.strip() for line in text.splitlines() if not _HEADING.match(line)]
    return "\n".join(words[:_LINES]) or text.strip()


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
