"""Errors of numba in kernels, in few words: the kernel, the line of the program and the cause.

numba wraps the cause into the history of its type inference, once for each function on the way. `KernelCompileError`
replaces that; the logger ``dpex`` shows the original.
"""

from __future__ import annotations

import difflib
import dis
import linecache
import logging
import re
import sys
import sysconfig
from pathlib import Path
from typing import Any, Callable, TypeVar

from numba.core.errors import NumbaError, TypingError

from . import kernel_api
from .extension import installed

log = logging.getLogger(__package__)

_PLACE = re.compile(r'(?:at (?P<at>/\S+) \((?P<n>\d+)(?::\d+)?\)|File "(?P<file>[^"]+)", line (?P<line>\d+))')
_CAUSE = re.compile(r"raised a specific error:\s+\w+: ((?:(?!raised a specific error).)*?)\n\s*raised from", re.DOTALL)
_HEADING = re.compile(
    r"^(Failed in .* pipeline|During: |There are \d+ candidate|- Resolution failure for |\s*- Of which|\s*$)"
)
_SOURCE = re.compile(r'^\s*File "', re.MULTILINE)
_NO_MEMBER = re.compile(r"Unknown attribute '(?P<name>\w+)' of type (?P<kind>\w*Item|\w*Group)(Type)?[(<]")
_NO_MEMBER_OF_ARRAY = re.compile(r"Unknown attribute '(?P<name>\w+)' of type (?:\w+NdArray|LocalAcc\w+|PrivateA\w+)\(")
_NOT_IN_MODULE = (
    re.compile(r"Unknown attribute '(?P<name>\w+)' of type Module\(<module '(?P<module>[\w.]+)'"),
    re.compile(r"module '(?P<module>[\w.]+)' has no attribute '(?P<name>\w+)'(?P<advice>; [^\n]*)?"),
)
_NAMED = re.compile(r"(?:name|attribute) '(\w+)'")
_LINES = 3  # of a cause that numba itself words
_SCHEMES = ("stdlib", "platstdlib", "purelib", "platlib")
_LIBRARIES = ("<frozen", *(f"{folder}/" for folder in (Path(__file__).parent, *map(sysconfig.get_path, _SCHEMES))))


class KernelCompileError(TypingError):  # type: ignore[misc]
    """A kernel does not compile; the message ends with the line of the program and the cause."""

    def add_context(self, _message: str) -> KernelCompileError:
        """Return the error unchanged: the context that numba would add does not explain it."""
        return self


def of_kernel(kernel: Any, error: Exception) -> Exception:
    """Return the error to raise for a kernel that numba rejects."""
    log.debug("%s", error)
    code, text = kernel.py_func.__code__, str(error)
    line = _line_naming(code, text) or code.co_firstlineno
    if not isinstance(error, NumbaError):
        text = f"{type(error).__name__}: {text}"
    place = kernel.__name__, code.co_filename, line
    return installed().compile_error(*place, text) or explain(*place, text)


def _line_naming(code: Any, text: str) -> int | None:
    """Return the line of a function that uses the name of which a text says that it is not known."""
    found, line = _NAMED.search(text), None
    for step in dis.get_instructions(code) if found else ():
        line = step.starts_line if step.starts_line and step.starts_line is not True else line
        line = getattr(step, "line_number", None) or line
        if found and step.argval == found[1]:
            return line
    return None


Error = TypeVar("Error", bound=KernelCompileError)


def in_libraries(file: str) -> bool:
    """Return whether a file belongs to the interpreter or to an installed package."""
    return file.startswith(_LIBRARIES)


def explain(
    name: str, file: str, line: int, text: str, is_library: Callable[[str], bool] = in_libraries,
    error: type[Error] = KernelCompileError,  # type: ignore[assignment, unused-ignore]
) -> Error:  # fmt: skip
    """Return the error for a kernel, defined at a line of a file, that numba rejects with a text.

    Args:
        name: The kernel.
        file: Where it is defined.
        line: The line there.
        text: What numba reports.
        is_library: Tells whether a file is not the program's.
        error: The class of the error.
    """
    file, line = _place(text, is_library) or (file, line)
    source = linecache.getline(file, line).strip()
    shown = f'\n  File "{file}", line {line}\n    {source}' if source else f"\n  {file}:{line}"
    return error(f"the kernel {name} does not compile:{shown}\n{_cause(text)}")


def _place(text: str, is_library: Callable[[str], bool]) -> tuple[str, int] | None:
    """Return the innermost line of the program that a text of numba names."""
    for found in _PLACE.finditer(text):
        name = found["at"] or found["file"]
        file = name if name.startswith("<") else str(Path(name).resolve())
        if not is_library(file):
            return file, int(found["n"] or found["line"])
    return None


def _cause(text: str) -> str:
    causes = [found[1].strip() for found in _CAUSE.finditer(text)]
    if causes:
        return causes[-1]
    member = _NO_MEMBER.search(text)
    if member:
        return _no_member(member["kind"], member["name"])
    if found := _NO_MEMBER_OF_ARRAY.search(text):
        return f"arrays in kernels have no {found['name']}"
    for pattern in _NOT_IN_MODULE:
        if found := pattern.search(text):
            advice = found.groupdict().get("advice") or _similar(found["name"], dir(sys.modules.get(found["module"])))
            return f"{found['module']} has no {found['name']}{advice}"
    words = [line.strip() for line in _SOURCE.split(text)[0].splitlines() if not _HEADING.match(line)]
    return "\n".join(list(dict.fromkeys(words))[:_LINES]).strip() or text.strip()


def _no_member(kind: str, name: str) -> str:
    """Say what to write in place of a method that an item or a group does not have."""
    names = [each for each in dir(getattr(kernel_api, kind)) if not each.startswith("_")]
    for likely in (name.replace("global_", ""), name.replace("get_", "get_global_")):
        if likely in names:
            return f"{kind} has no {name}; its method is {likely}"
    if kind == "Item" and hasattr(kernel_api.NdItem, name):
        return f"Item has no {name}: launch the kernel with an NdRange, which gives it an NdItem"
    return f"{kind} has no {name}" + (_similar(name, names) or f"; it has {', '.join(names)}")


def _similar(name: str, names: list[str]) -> str:
    found = difflib.get_close_matches(name, names, 1, 0.5)
    return f"; did you mean {found[0]}?" if found else ""
