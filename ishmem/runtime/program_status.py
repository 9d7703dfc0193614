"""The end of this PE's program: its exit status, and the output for an exception that nothing catches.

A failure of one PE soon makes the others fail. The PE that caused it prints its traceback, without the frames of
ishmem; one of the same node that fails in the same way, or because a PE is lost, prints one line. ``ISHMEM_DEBUG``
shows all tracebacks in full.

Exit handlers do not get the status with which the program is about to exit. The interpreter reads ``code`` of
the ``SystemExit`` that ends the program, with no Python frame on the stack. A property in place of ``SystemExit.code``
detects this and records the status; an exception that the program catches leaves no trace. ``sys.exit`` of CPython
before 3.12 creates a ``SystemExit`` only if it is caught, so it is replaced. C code that a Python function has called
may end the program too, by ``PyErr_Print``. Then the exit handlers run with the frames of the program below them, and
the status is the one that was read last.
"""

from __future__ import annotations

import ctypes
import fcntl
import gc
import hashlib
import os
import re
import signal
import sys
import traceback
from types import FrameType, TracebackType
from typing import Callable, NoReturn

from ishmem.common.callsite import CallSite, is_own
from ishmem.common.errors import PeerLost
from ishmem.common.processes import exit_status
from ishmem.common.status_board import StatusBoard

Hook = Callable[[type[BaseException], BaseException, "TracebackType | None"], object]
GiveUp = Callable[[str, int], object]

_status: int | None = None
_read: int | None = None


def watch_status() -> None:
    """Record from now on the exit status with which the program ends, for `status`."""
    if sys.exit is _exit:
        return
    names = gc.get_referents(SystemExit.__dict__)[0]
    stored = names["code"]

    def code(error: SystemExit) -> object:
        value = stored.__get__(error)
        _record(value, ends=sys._getframe().f_back is None)
        return value

    names["code"] = property(code, stored.__set__)
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(SystemExit))
    sys.exit = _exit


def status() -> int:
    """Return the status with which the program ends: 0, 1 after an exception, or that of ``sys.exit``."""
    if _status is not None:
        return _status
    if _read is not None and _is_within_program():
        return _read
    return 1 if hasattr(sys, "last_type") else 0


def status_of_exit() -> int:
    """Return the status of the ``SystemExit`` that has ended the program; 0 if none has."""
    return _status or 0


def status_after(error: BaseException | None) -> int:
    """Return the exit status if nothing catches ``error``: that of a ``SystemExit``, else 1."""
    return _number(error.code) if isinstance(error, SystemExit) else 1


def _exit(status: object = None, /) -> NoReturn:
    """Exit the interpreter by raising SystemExit(status)."""
    raise SystemExit(status)


def _record(value: object, ends: bool) -> None:
    global _status, _read
    _read = _number(value)
    if ends:
        _status = _read


def _is_within_program() -> bool:
    """Return whether an exit handler of ishmem, which calls this, has frames of the program below it."""
    frame = sys._getframe()
    while frame.f_back is not None:
        frame = frame.f_back
    return not str(frame.f_globals.get("__name__")).startswith("ishmem.")


def _number(value: object) -> int:
    return 0 if value is None else value & 0xFF if isinstance(value, int) else 1


def watch_exceptions(board: StatusBoard | None, pe: int, is_brief: bool, give_up: GiveUp) -> None:
    """Report exceptions that end this process from now on; the ``sys.excepthook`` set before prints them.

    Args:
        board: The status board, if there is one.
        pe: Number of this PE.
        is_brief: Whether reports are shortened.
        give_up: Called with the text of an exception that ends the program, once it is reported, and the exit status.
    """
    show = getattr(sys.excepthook, "replaced", sys.excepthook)
    hook: Hook = _Reports(board if is_brief else None, pe, show, give_up)
    sys.excepthook = hook


class _Reports:
    """The ``sys.excepthook`` of a PE.

    Attributes:
        replaced: The hook before it.
    """

    def __init__(self, board: StatusBoard | None, pe: int, replaced: Hook, give_up: GiveUp) -> None:
        self._board, self._pe, self.replaced, self._give_up = board, pe, replaced, give_up
        self._process = os.getpid()

    def __call__(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if os.getpid() != self._process:
            self.replaced(kind, error, trace)
            return
        try:
            if self._board:
                self._report(self._board, kind, error, trace)
            else:
                self.replaced(kind, error, trace)
        finally:
            if _ends_program(sys._getframe().f_back):
                interrupted = issubclass(kind, KeyboardInterrupt)
                self._give_up(f"{kind.__name__}: {error}", exit_status(-signal.SIGINT) if interrupted else 1)

    def _report(
        self, board: StatusBoard, kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        if _is_own(trace):
            trace = _without_own(trace)
            error.__cause__, error.__suppress_context__ = None, True
        text = "".join(traceback.format_exception_only(kind, error)).strip()
        if isinstance(error, PeerLost):
            print(f"{text} ({_place(trace)})", file=sys.stderr)
        elif is_first(board, self._pe, f"{_place(trace)} {text}"):
            self.replaced(kind, error.with_traceback(trace), trace)
        else:
            name, _, words = text.splitlines()[0].partition(": ")
            print(f"{name}: as on another PE{': ' * bool(words)}{words.rstrip(':')} ({_place(trace)})", file=sys.stderr)


def _ends_program(caller: FrameType | None) -> bool:
    """Return whether the hook was called for an exception that nothing has caught: not by code, nor by a prompt."""
    is_prompt = sys.flags.interactive or sys.flags.inspect or hasattr(sys, "ps1") or "PYTHONINSPECT" in os.environ
    return not is_prompt and (caller is None or caller.f_globals.get("__name__") == "ishmem.launch.preload")


def is_first(board: StatusBoard, pe: int, text: str) -> bool:
    """Return whether ``text`` differs from the failure last printed on this node, apart from PE numbers; record it."""
    common = re.sub(rf"\bon PE {pe}\b", "on PE", text)
    digest = int.from_bytes(hashlib.sha256(common.encode()).digest()[:7], "little")
    with open(board.path, "r+b") as file:
        fcntl.lockf(file, fcntl.LOCK_EX)
        first = bool(board.head.printed != digest)
        board.head.printed = digest
    return first


def _is_own(trace: TracebackType | None) -> bool:
    """Return whether ishmem raised the error."""
    return is_own(_last(trace).filename)


def _without_own(trace: TracebackType | None) -> TracebackType | None:
    """Return a traceback without the frames after the program's last one."""
    frames = []
    while trace:
        frames.append(trace)
        trace = trace.tb_next
    while len(frames) > 1 and not CallSite(frames[-1].tb_frame.f_code.co_filename, 0, "").is_users:
        frames.pop()
    shown: TracebackType | None = None
    for frame in reversed(frames):
        shown = TracebackType(shown, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return shown


def _place(trace: TracebackType | None) -> str:
    last = _last(trace)
    return f"{last.filename}:{last.lineno}" if last.lineno else "no Python code"


def _last(trace: TracebackType | None) -> traceback.FrameSummary:
    """Return the innermost frame; one without a line if there is none."""
    return next(reversed(traceback.extract_tb(trace)), traceback.FrameSummary("", 0, ""))
