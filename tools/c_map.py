"""Makes the map from C to Python: every routine of OpenSHMEM 1.6 and Intel SHMEM, and where it may be called.

``python -m tools.c_map`` renews ``docs/c-to-python.md``. Names and forms come from the table of routines; how a
routine is called is read from the code: the functions that ``ishmem`` exports, and those registered for kernels. The
last section, about other libraries for Python, is written by hand on the page.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ishmem
from ishmem.common.routines import CHAPTERS, GROUP, QUEUE, ROUTINES, Chapter, CRoutine, c_name

PAGE = Path(__file__).parents[1] / "docs" / "c-to-python.md"
BY_HAND = "\n## From other Python libraries\n"
"""The title of the last section of the page."""
_HEADER = ("| C | on the host | in a kernel | work-group | on-queue |", "|---|---|---|---|---|")


@dataclass(frozen=True)
class Row:
    """One routine of the map.

    Attributes:
        c: The call in C.
        c_name: The name in C.
        python: The name in Python, or an empty string.
        kernel: Whether kernels may call it.
        work_group: Whether it has a work-group form for kernels.
        on_queue: Whether it has an on-queue form for the host.
        absent: The reason if there is no such routine in Python; else empty.
    """

    c: str
    c_name: str
    python: str = ""
    kernel: bool = False
    work_group: bool = False
    on_queue: bool = False
    absent: str = ""


def rows(chapter: Chapter) -> Iterator[Row]:
    """Yield the rows of a chapter."""
    from ishmem.kernels.intrinsics import registered

    for each in chapter.rows:
        if isinstance(each, CRoutine) and each.absent:
            yield Row(each.c, c_name(each), absent=each.absent)
        elif each.c:
            forms, kernel = ROUTINES[each.name].forms, getattr(ishmem, each.name) in registered
            yield Row(each.c, c_name(each), each.name, kernel, GROUP in forms, QUEUE in forms)


def python_only() -> list[str]:
    """Return the names of the public functions without an equivalent in C, sorted."""
    listed = {row.name for chapter in CHAPTERS for row in chapter.rows if row.c}
    return sorted(name for row in ROUTINES.values() if row.name not in listed for _, name in row.locations)


def render() -> str:
    """Return the page as markdown, with the last section that it has."""
    lines = [
        "# From C to Python",
        "",
        "This page maps every routine of OpenSHMEM 1.6 and Intel SHMEM to its Python form, and shows where and how",
        "that form may be called: on the host, in a kernel by each work-item on its own, in a kernel by all work-items",
        "of a work-group together (suffix `_work_group`), or in the order of a SYCL queue (`_on_queue`). All names are",
        "in the module `ishmem`. `same` stands for the signature of the host; the work-group forms take `group` after",
        "the required arguments, and the on-queue forms take `sycl_queue` and `depends`. A kernel takes a team as an",
        "argument or by a name such as `ishmem.TEAM_WORLD`. One row stands for all typed,",
        "sized and `mem` variants of a C routine: in Python the type comes from the array. The last section maps the",
        "calls of shmem4py, NVSHMEM4Py and Iris. `python -m tools.c_map` renews this page.",
    ]
    for chapter in CHAPTERS:
        lines_of_chapter = [_line(row) for row in rows(chapter)]
        lines += ["", f"## {chapter.title}", "", *_HEADER, *lines_of_chapter] if lines_of_chapter else []
    names = ", ".join(f"`{name}`" for name in python_only())
    by_hand = PAGE.read_text().partition(BY_HAND)[1:]
    return "\n".join([*lines, "", "## Only in Python", "", names, "".join(by_hand)])


def parameters(function: Any) -> str:
    """Return the parameters of a function as text in parentheses, with defaults and without annotations."""
    signature = inspect.signature(function)
    plain = [
        each.replace(annotation=inspect.Parameter.empty)
        for each in signature.parameters.values()
        if not each.name.startswith("_") and each.name != "call_site"  # which kernels.call_sites adds
    ]
    bare = signature.replace(parameters=plain, return_annotation=inspect.Signature.empty)
    return str(bare).replace("ishmem.TEAM", "TEAM")


def _line(row: Row) -> str:
    if row.absent:
        return f"| `{row.c_name}` | not here: {row.absent} | | | |"
    from ishmem.kernels.intrinsics import registered

    function = getattr(ishmem, row.python)
    host = f"`{row.python}{parameters(function)}`"
    device = f"`{row.python}{parameters(registered[function])}`" if row.kernel else ""
    marks = ("yes" if mark else "" for mark in (row.work_group, row.on_queue))
    in_kernel = "same" if device == host else device
    return f"| `{row.c}` | {host} | {in_kernel} | {' | '.join(marks)} |"


if __name__ == "__main__":
    PAGE.write_text(render())
