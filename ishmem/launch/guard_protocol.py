"""The protocol of guards and ishmem run through mpiexec: lines marked with the PE's number, and how the PE ended."""

from __future__ import annotations

import re
from typing import NamedTuple

_MARK = b"\x1e"
_LINE = re.compile(rb"\x1e(\d+) (.*)", re.DOTALL)
_ENDED = re.compile(rb"\x1e(\d+)=(-?\d+)(!?)@(.*)")


class Line(NamedTuple):
    """A line that a PE has printed, with its end."""

    pe: int
    text: bytes


class Ended(NamedTuple):
    """The end of a PE.

    Attributes:
        code: Its exit status, or minus the signal.
        told: Whether mpiexec had told the guard to end before.
        host: The node that it ran on.
    """

    pe: int
    code: int
    told: bool
    host: str


def line_mark(pe: int) -> bytes:
    """Return what a guard writes before each line of a PE."""
    return _MARK + b"%d " % pe


def end_mark(end: Ended) -> bytes:
    """Return the line by which a guard reports the end of its PE."""
    return _MARK + f"{end.pe}={end.code}{'!' * end.told}@{end.host}\n".encode()


def parse(line: bytes) -> Line | Ended | None:
    """Parse a line; return None if it is mpiexec's own."""
    if match := _LINE.fullmatch(line):
        return Line(int(match[1]), match[2])
    if match := _ENDED.fullmatch(line.rstrip(b"\r\n")):
        return Ended(int(match[1]), int(match[2]), bool(match[3]), match[4].decode(errors="replace"))
    return None
