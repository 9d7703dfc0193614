"""Converts numba's errors in kernels to short ones, with the kernel, the line of the program and the cause.

numba wraps the cause into a trace of its type inference, once for each calling function. `KernelCompileError` replaces
that; the logger ``dpex`` shows the original.
"""

from __future__ import annotations

import ast
import difflib
import dis
import linecache
import logging
import re
import sys
import sysconfig
from pathlib import Path
from typing import Any, Callable, TypeVar

import numpy as np
from numba.core.errors import NumbaError, NumbaTypeError, TypingError

from .. import kernel_api
from ..extension import installed
from ..front_end import COMPILER
from . import constructs, numba_messages

log = logging.getLogger(__package__)

_PLACE = re.compile(
    r'(?:(?:at|Raised from) (?P<at>[/<]\S+) \((?P<n>\d+)(?::\d+)?\)|File "(?P<file>[^"]+)", line (?P<line>\d+))'
)
_CAUSE = re.compile(
    r"raised a specific error:\s+\w+: (?P<text>(?:(?!raised a specific error).)*?)\n\s*raised from (?P<file>\S*)",
    re.DOTALL,
)
_OF_NUMBA = "/numba/", f"/{COMPILER.package}/"
"""Parts of the paths of files whose error messages are not meant for users of kernels."""
_HEADING = re.compile(
    r"^(Raised from |(?:\w+Error: )?Failed in .* pipeline|During: |There are \d+ candidate|- Resolution failure for |"
    r"\s*- Of which|\s*$)"
)
_SOURCE = re.compile(r'^\s*File "', re.MULTILINE)
_NO_MEMBER = re.compile(r"Unknown attribute '(?P<name>\w+)' of type (?P<kind>\w*Item|\w*Group)(Type)?[(<]")
_NO_MEMBER_OF_ARRAY = re.compile(r"Unknown attribute '(?P<name>\w+)' of type (?:\w+NdArray|LocalAcc\w+|PrivateA\w+)\(")
_NOT_IN_MODULE = (
    re.compile(r"Unknown attribute '(?P<name>\w+)' of type Module\(<module '(?P<module>[\w.]+)'"),
    re.compile(r"module '(?P<module>[\w.]+)' has no attribute '(?P<name>\w+)'(?P<advice>; [^\n]*)?"),
)
_UNKNOWN_NAME = re.compile(r"^NameError: |name '\w+' is not defined", re.MULTILINE)
_HEAD = 300  # characters of a text of numba that name the types of the statement that it rejects
_NUMBER_INDEXED = re.compile(r">>> (?:static_)?getitem\((?:u?int\d+|float\d+|Literal\[int\])")
_NAMED = re.compile(r"(?:name|attribute) '(\w+)'")
_SCHEMES = ("stdlib", "platstdlib", "purelib", "platlib")
_REFUSED = chr, format, hash, ord, repr, str, np.dot, np.vdot
_LIBRARIES = ("<frozen", *(f"{folder}/" for folder in (Path(__file__).parents[1], *map(sysconfig.get_path, _SCHEMES))))


class KernelCompileError(TypingError):  # type: ignore[misc]
    """A kernel does not compile; the message ends with the line of the program and the cause."""

    def add_context(self, _message: str) -> KernelCompileError:
        """Return the error unchanged; the context of numba would not explain it."""
        return self


def refuse_function(value: Any) -> None:
    """Raise an error for a function of Python or numpy whose implementation in numba does not run on devices.

    Raises:
        NumbaTypeError: ``value`` is such a function.
    """
    if any(value is each for each in _REFUSED):
        name = value.__name__
        words = constructs.of_function(name) or f"kernels have no numpy.{name}: add up the products in a for loop"
        raise NumbaTypeError(words)


def note_code(error: Exception, code: Any) -> None:
    """Store the function being compiled, given its code object, in an error that has no place yet."""
    line = _line_naming(code, str(error))
    _note(error, code.co_filename, line or code.co_firstlineno, is_known=line is not None)


def note_line(error: Exception, place: Any) -> None:
    """Store the line being compiled, ``place`` (a numba ``Loc``), in an error; numba does so in its own errors only."""
    _note(error, place.filename, place.line, is_known=True)


def _note(error: Exception, file: str, line: int, is_known: bool) -> None:
    if hasattr(error, "dpex_place") or in_libraries(file):
        return
    error.dpex_place = file, line, is_known  # type: ignore[attr-defined]
    if is_known and isinstance(error, NumbaError) and _place(str(error), in_libraries) is None:
        error.patch_message(f"Raised from {file} ({line})\n{error}")  # numba makes new errors of its own from the text


def of_kernel(kernel: Any, error: Exception) -> Exception:
    """Return the error to raise for a kernel that numba rejects with ``error``."""
    log.debug("%s", error)
    text = str(error) if isinstance(error, NumbaError) else f"{type(error).__name__}: {error}"
    note_code(error, kernel.py_func.__code__)
    code = kernel.py_func.__code__
    file, line, is_known = getattr(error, "dpex_place", None) or (code.co_filename, code.co_firstlineno, False)
    if is_known and not isinstance(error, NumbaError):
        text = f"Raised from {file} ({line})\n{text}"
    place = kernel.__name__, file, line
    return installed().compile_error(*place, text) or explain(*place, text)


def _line_naming(code: Any, text: str) -> int | None:
    """Return the line of a function that uses the name quoted in an error message; None if there is none."""
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
    """Return the error for a kernel, defined at a line of a file, that numba rejects with a message.

    Args:
        name: The name of the kernel.
        file: The path of the file that defines it.
        line: The line number there.
        text: The error message of numba.
        is_library: Returns whether a file, given its path, is not part of the program.
        error: The class of the error.
    """
    place = _place(text, is_library)
    file, line = place or (file, line)
    line, words = (None if place else constructs.in_function(file, line)) or _cause(text, file, line)
    source = "" if file in constructs.NAMELESS else linecache.getline(file, line).strip()
    shown = f'\n  File "{file}", line {line}\n    {source}' if source else f"\n  {file}:{line}"
    return error(f"the kernel {name} does not compile:{shown}\n{words}")


def _place(text: str, is_library: Callable[[str], bool]) -> tuple[str, int] | None:
    """Return file and line of the first place in a message of numba that is in the program; None if there is none."""
    for found in _PLACE.finditer(text):
        name = found["at"] or found["file"]
        file = name if name.startswith("<") else str(Path(name).resolve())
        if not is_library(file):
            return file, int(found["n"] or found["line"])
    return None


def _cause(text: str, file: str, line: int) -> tuple[int, str]:
    """Return the line and the cause for a message of numba that names a line; the returned line may differ."""
    causes = [(found["text"].strip(), found["file"]) for found in _CAUSE.finditer(text)]
    own = [cause for cause, origin in causes if not any(each in origin for each in _OF_NUMBA)]
    words = _of_syntax(text, file, line) or (_as_worded(own[-1]) if own else None)
    words = words or _of_member(text) or numba_messages.translated(text)
    if words:
        return line, words
    return constructs.around_line(file, line) or (line, _as_worded(causes[-1][0] if causes else text))


def _of_syntax(text: str, file: str, line: int) -> str | None:
    """Return the message for an unsupported construct of Python at a line; None if there is none."""
    for node in constructs.nodes_at(file, line) if _NUMBER_INDEXED.search(text) else ():
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Call):
            return f"{ast.unparse(node.value)} is a number: leave out [{ast.unparse(node.slice)}]"
    return None if _UNKNOWN_NAME.search(text) else constructs.at_line(file, line) or constructs.of_types(text[:_HEAD])


def _of_member(text: str) -> str | None:
    """Return the message for a missing member of a type or module; None if numba's message is about something else."""
    if member := _NO_MEMBER.search(text):
        return _no_member(member["kind"], member["name"])
    if found := _NO_MEMBER_OF_ARRAY.search(text):
        return f"arrays in kernels have no {found['name']}"
    for pattern in _NOT_IN_MODULE:
        if found := pattern.search(text):
            module, name = found["module"], found["name"]
            names = dir(sys.modules.get(module))
            if name in names:
                return f"kernels have no {module}.{name}: {constructs.ON_HOST}"
            return f"{module} has no {name}{found.groupdict().get('advice') or _similar(name, names)}"
    return None


def _as_worded(text: str) -> str:
    """Return the first line of a message of numba that is not a heading, with an introduction if it is internal."""
    words = [line.strip() for line in _SOURCE.split(text)[0].splitlines() if not _HEADING.match(line)]
    shown = next((each for each in words if not each.endswith(":")), text.strip())
    shown = re.sub(r"^Untyped global name '\w+': ", "", shown)
    if numba_messages.is_internal(shown):
        return f"kernels do not support this line or one of its values; numba says: {shown}"
    return numba_messages.named(shown)


def _no_member(kind: str, name: str) -> str:
    """Return the message for a missing method of an item or group, with the method that is probably meant."""
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
