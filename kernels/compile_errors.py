"""Errors of numba in kernels, in few words: the kernel, the line of the program and the cause.

numba wraps the cause into the history of its type inference, once for each function on the way and once more for
numba-dpex's ``call_kernel``. `KernelCompileError` replaces that; ``ISHMEM_DEBUG`` shows the original.
"""

from __future__ import annotations

import fcntl
import functools
import hashlib
import linecache
import logging
import re
import sys
import traceback
from pathlib import Path
from types import TracebackType
from typing import Any

from numba.core.errors import NumbaError, TypingError
from numba_dpex.core.dpjit_dispatcher import DpjitDispatcher
from numba_dpex.core.exceptions import InternalError
from numba_dpex.kernel_api_impl.spirv.dispatcher import _SPIRVKernelCompiler
from numba_dpex.kernel_api_impl.spirv.target import CompilationMode

from ishmem.common.callsite import CallSite
from ishmem.common.errors import IshmemError
from ishmem.runtime import job
from ishmem.runtime.status_board import StatusBoard

log = logging.getLogger("ishmem")

_PLACE = re.compile(r'(?:at (?P<at>/\S+) \((?P<n>\d+)(?::\d+)?\)|File "(?P<file>[^"]+)", line (?P<line>\d+))')
_CAUSE = re.compile(r"raised a specific error:\s+\w+: ((?:(?!raised a specific error).)*?)\n\s*raised from", re.DOTALL)
_HEADING = re.compile(r"^(Failed in .* pipeline|During: |File \"|\s*$)")
_LINES = 3  # of a cause that numba itself words
_STACK = "PLEASE submit a bug report"  # the translator to SPIR-V prints its own stack after these words


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
    return KernelCompileError(f"the kernel {name} does not compile:{shown}\n{_cause(text)}")


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


_pending: list[KernelCompileError] = []  # of the kernel whose compilation has failed

_compile_kernel, _compile_launch = _SPIRVKernelCompiler.compile, DpjitDispatcher._compile_for_args


@functools.wraps(_compile_kernel)
def _explaining(self: Any, args: Any, return_type: Any) -> Any:
    try:
        return _compile_kernel(self, args, return_type)
    except (NumbaError, InternalError) as error:
        self._failed_cache.clear()  # it may compile later: after init, for example
        code = self.py_func.__code__
        log.debug("%s", error)
        text = str(error).partition(_STACK)[0]
        if self.targetoptions.get("_compilation_mode") == CompilationMode.KERNEL:
            _pending.append(explain(self.py_func.__name__, code.co_filename, code.co_firstlineno, text))
        raise


@functools.wraps(_compile_launch)
def _launching(self: Any, *args: Any, **keywords: Any) -> Any:
    _pending.clear()
    try:
        return _compile_launch(self, *args, **keywords)
    except NumbaError:
        self._compiler._failed_cache.clear()
        if not _pending:
            raise
        error = _pending[-1]
        error.board = job.current().board if job.running() else None
    raise error


def install() -> None:
    """Explain errors in kernels, and print a traceback of them on one PE of the job only."""
    _SPIRVKernelCompiler.compile = _explaining
    DpjitDispatcher._compile_for_args = _launching
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
