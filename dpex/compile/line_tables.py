"""Adds lines of the program to the SPIR-V of functions that are compiled with the option ``debug``.

LLVM's SPIR-V back end drops them. So a call of an undefined function marks each line in the optimised code, and an
``OpLine`` replaces the call in the SPIR-V.
"""

from __future__ import annotations

import re
import struct
from pathlib import PurePath

from .. import spirv

_MARK = "__dpex_line"
_NODE = re.compile(r"^!(\d+) = (?:distinct )?!(DI\w+)\((.*)\)$", re.MULTILINE)
_REFERENCE = r"{}: !(\d+)"
_LINE = re.compile(r"\bline: (\d+)")
_FILE = re.compile(r'filename: "(.*?)", directory: "(.*?)"')
_LOCATED = re.compile(r"^  [^ \]].*, !dbg !(\d+)\b")
_BLOCK = re.compile(r"^(?:define |\S+:)")
_NOT_MARKED = re.compile(r" = (?:phi|alloca) ")

STRING, NAME, LINE, DECORATE, CONSTANT, FUNCTION, FUNCTION_END, CALL = 7, 5, 8, 71, 43, 54, 56, 57
_PREAMBLE = {10, 11, 14, 15, 16, 17, 331}
"""Opcodes of the instructions before debug information: capabilities, extensions, entry points and their modes."""
_LINKAGE = 41


def marked(text: str) -> tuple[str, list[str]]:
    """Return LLVM code ``text`` with a marking call at each line of the program, and the files, which marks count."""
    places = _places(text)
    if not places:
        return text, []
    files = sorted({file for file, _ in places.values()})
    found, last = [], None
    for line in text.splitlines():
        if _BLOCK.match(line):
            last = None
        at = _LOCATED.match(line)
        place = places.get(at[1]) if at and not _NOT_MARKED.search(line) else None
        if place and place != last:
            found.append(f"  call spir_func void @{_MARK}(i32 {files.index(place[0]) + 1}, i32 {place[1]})")
            last = place
        found.append(line)
    return "\n".join([*found, f"declare spir_func void @{_MARK}(i32, i32)\n"]), files


def _places(text: str) -> dict[str, tuple[str, int]]:
    """Return file and line of each ``DILocation`` in the metadata of LLVM code, by its number there."""
    nodes = {number: (kind, fields) for number, kind, fields in _NODE.findall(text)}
    found = {}
    for number, (kind, fields) in nodes.items():
        line = _LINE.search(fields)
        if kind == "DILocation" and line and int(line[1]):
            found[number] = _file(nodes, fields), int(line[1])
    return found


def _file(nodes: dict[str, tuple[str, str]], fields: str) -> str:
    """Return the path of the file of a location or scope, given its fields; empty if there is none."""
    reference = re.search(_REFERENCE.format("file"), fields) or re.search(_REFERENCE.format("scope"), fields)
    kind, inner = nodes[reference[1]] if reference else ("", "")
    named = _FILE.search(inner)
    return str(PurePath(named[2], named[1])) if named else _file(nodes, inner) if kind else ""


def with_lines(code: bytes, files: list[str]) -> bytes:
    """Return SPIR-V ``code`` with ``OpLine`` in place of the marking calls, which count ``files`` from 1."""
    module, bound = list(spirv.instructions(code)), spirv.bound_of(code)
    mark = next((its[0] for op, its in module if op == DECORATE and _imports(its, _MARK)), None)
    if mark is None:
        return code
    numbers = {its[1]: its[2] for op, its in module if op == CONSTANT and len(its) == 3}
    made: list[spirv.Instruction] = []
    strings = [(STRING, (bound + number, *_string(file))) for number, file in enumerate(files)]
    is_declared = False
    for op, its in module:
        if strings and op not in _PREAMBLE:
            made, strings = made + strings, []
        is_declared |= op == FUNCTION and its[1] == mark
        if op == CALL and its[2] == mark:
            made.append((LINE, (bound + numbers[its[3]] - 1, numbers[its[4]], 0)))
        elif not (is_declared or (op in (NAME, DECORATE) and its[0] == mark)):
            made.append((op, its))
        is_declared &= op != FUNCTION_END
    return spirv.assembled(code, made, bound + len(files))


def _imports(operands: tuple[int, ...], name: str) -> bool:
    return len(operands) > 2 and operands[1] == _LINKAGE and operands[2:-1] == _string(name)


def _string(text: str) -> tuple[int, ...]:
    data = text.encode() + b"\0"
    data += bytes(-len(data) % 4)
    return struct.unpack(f"<{len(data) // 4}I", data)
