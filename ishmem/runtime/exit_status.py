"""The status with which the program is about to exit, for exit handlers: Python does not tell them.

The interpreter reads ``code`` of the ``SystemExit`` that ends the program, with no Python frame on the stack. A
property in place of ``SystemExit.code`` notices this and records the status; an exception that the program catches
leaves no trace. ``sys.exit`` of CPython before 3.12 creates a ``SystemExit`` only if it is caught, so it is replaced.

C code that a Python function has called may end the program too, by ``PyErr_Print``. Then the exit handlers run with
the frames of the program below them, and the status is the one that was read last.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from typing import NoReturn

_status: int | None = None
_read: int | None = None


def watch() -> None:
    """Begin to record the status."""
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


def of_program() -> int:
    """Return the status with which the program ends: 0, 1 after an exception, or that of ``sys.exit``."""
    if _status is not None:
        return _status
    if _read is not None and _is_within_program():
        return _read
    return 1 if hasattr(sys, "last_type") else 0


def of_end() -> int:
    """Return the status of the ``SystemExit`` that has ended the program; 0 if none has."""
    return _status or 0


def of(error: BaseException | None) -> int:
    """Return the status with which the program ends if nothing catches an exception."""
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
