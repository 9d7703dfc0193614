"""Call sites on a thread's stack: the ishmem routine that the program called, and the program's line that calls it."""

from __future__ import annotations

import functools
import re
import sys
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import FrameType
from typing import NamedTuple

_PACKAGE = Path(__file__).parent.parent
# In a checkout, these lie beside the package; in an installation, inside it.
_OWN = (_PACKAGE, *(_PACKAGE.parent / name for name in ("kernels", "ipc", "dpex")))
_MODULES = tuple(f"{folder}/" for folder in _OWN)
_SCHEMES = ("stdlib", "platstdlib", "purelib", "platlib")
FROM_CORE = ("_tell", "put or get", "by_kernel", "move_by_device")
"""Names of the Python functions that routines of the core call."""
_LINE = re.compile(r'^  File "(?P<file>.*)", line (?P<line>\d+) in (?P<function>.*)$', re.MULTILINE)


@functools.cache
def _not_users() -> tuple[str, ...]:
    """Return the path prefixes of files that are not the program's."""
    import sysconfig  # slow: it reads the configuration of the interpreter

    return ("<frozen", *_MODULES, *(f"{sysconfig.get_path(scheme)}/" for scheme in _SCHEMES))


def is_own(file: str) -> bool:
    """Return whether the file at a path is a module of ishmem."""
    return file.startswith(_MODULES)


class CallSite(NamedTuple):
    """One call on a thread's stack."""

    file: str
    line: int
    function: str

    @property
    def is_users(self) -> bool:
        """Whether the file belongs to the user's program, not to ishmem, a library or the interpreter."""
        return not self.file.startswith(_not_users())


def of_frame(frame: FrameType | None) -> Iterator[CallSite]:
    """Yield the call sites from a frame outwards, the innermost first; none for None."""
    while frame is not None:
        yield CallSite(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)
        frame = frame.f_back


def dump(frame: FrameType | None) -> str:
    """Return the call sites from a frame outwards as text, in the format of `faulthandler`."""
    return "".join(f'  File "{call.file}", line {call.line} in {call.function}\n' for call in of_frame(frame))


def of_dump(text: str) -> list[CallSite]:
    """Return the call sites in a traceback that `faulthandler` or `dump` wrote, the innermost first."""
    return [CallSite(found["file"], int(found["line"]), found["function"]) for found in _LINE.finditer(text)]


def describe(calls: Iterable[CallSite], details: str = "", in_core: str = "") -> str:
    """Return a text with the routine that the program's innermost line calls, ``details``, and file and line.

    ``calls`` are those of a stack, the innermost first. If none is the program's, the text has the outermost function,
    and no line. ``in_core`` is the routine that runs in the core without a frame of its own; it replaces `FROM_CORE`.
    """
    routine = ""
    for call in calls:
        if call.is_users:
            return f"{routine}{details}{', ' * bool(routine)}{call.file}:{call.line}"
        routine = in_core if in_core and call.function in FROM_CORE else call.function
    return f"{routine or 'no Python code'}{details}"


def _caller() -> FrameType:
    """Return the innermost frame outside ishmem."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == "ishmem":
        frame = frame.f_back
    return frame


def caller() -> str:
    """Return ``file:line`` of the innermost frame outside ishmem."""
    frame = _caller()
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def warn(text: str, category: type[Warning] = RuntimeWarning) -> None:
    """Issue a warning with ``text`` of class ``category``, at the innermost line outside ishmem."""
    frame = _caller()
    warnings.warn_explicit(text, category, frame.f_code.co_filename, frame.f_lineno)
