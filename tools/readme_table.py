"""Makes the table of the README: the routines of each chapter, where they may be called, and their forms.

``python -m tools.readme_table`` prints it. Names and forms come from the table of routines.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator

import ishmem
from ishmem.common.routines import CHAPTERS, GROUP, QUEUE, Chapter, Routine

_HEADER = ("| | | host | `_on_queue` | kernel | `_work_group` |", "|---|---|---|---|---|---|")
_PATTERNS = ("atomic_*", "wait_until_*", "test_*", "*_reduce", "ctx_*")
"""Patterns printed in place of the routines of a chapter that they match, if these have the same forms."""

_Forms = tuple[bool, bool, bool, bool]  # a mark for each column


def render() -> str:
    """Return the table as markdown."""
    return "\n".join([*_HEADER, *(line for chapter in CHAPTERS for line in _lines(chapter))]) + "\n"


def _lines(chapter: Chapter) -> Iterator[str]:
    routines = [row for row in chapter.rows if isinstance(row, Routine)]
    names = [row.name for row in routines]
    groups: dict[_Forms, list[str]] = {}
    for row in routines:
        groups.setdefault(_forms(row), []).append(row.name)
    for forms, members in groups.items():
        marks = " | ".join("yes" if mark else "" for mark in forms)
        yield f"| {chapter.title} | `{' '.join(_short(members, names))}` | {marks} |"


def _forms(row: Routine) -> _Forms:
    from ishmem.kernels.intrinsics import registered

    function = getattr(ishmem, row.name)
    return not hasattr(function, "kernel_only"), QUEUE in row.forms, function in registered, GROUP in row.forms


def _short(members: list[str], names: list[str]) -> list[str]:
    """Return members, with a pattern in place of those that match it if it matches several and no other names."""
    short = dict.fromkeys(members)
    for pattern in _PATTERNS:
        matched = fnmatch.filter(names, pattern)
        if len(matched) > 1 and set(matched) <= set(members):
            short = dict.fromkeys(pattern if name in matched else name for name in short)
    return list(short)


if __name__ == "__main__":
    print(render(), end="")
