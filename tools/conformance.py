"""Makes the page with each routine of OpenSHMEM 1.6, its Python form and its test.

``python -m tools.conformance`` prints it, for ``docs/openshmem.md``; it has the routines of `c_map`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterator
from pathlib import Path

import ishmem
from ishmem.common.routines import CHAPTERS, Chapter
from ishmem.common.type_tables import ATOMICS, REDUCTIONS
from tools import c_map

TESTS = Path(__file__).parents[1] / "tests"

DEPRECATED = {
    "shmem_add": "atomic_add", "shmem_cswap": "atomic_compare_swap", "shmem_fadd": "atomic_fetch_add",
    "shmem_fetch": "atomic_fetch", "shmem_finc": "atomic_fetch_inc", "shmem_inc": "atomic_inc",
    "shmem_set": "atomic_set", "shmem_swap": "atomic_swap", "shmem_wait": "wait_until", "shmalloc": "malloc",
    "shmemalign": "align", "shrealloc": "realloc", "shfree": "free", "_my_pe": "my_pe", "_num_pes": "n_pes",
}  # fmt: skip
"""Deprecated names of routines in C, with their present names in Python."""

_HEADER = ("| OpenSHMEM 1.6 | in Python | in a kernel | test |", "|---|---|---|---|")


def standard(c_name: str) -> bool:
    """Return whether a routine, by its name in C, is one of OpenSHMEM 1.6."""
    return not c_name.startswith("ishmem")


def routines(chapter: Chapter) -> Iterator[c_map.Row]:
    """Return an iterator over the rows of the routines of OpenSHMEM 1.6 in a chapter of the map."""
    return (row for row in c_map.rows(chapter) if standard(row.c_name))


def uses(name: str, text: str) -> int:
    """Return how often the text of a test has the name of a routine, or of a table that contains it."""
    tables: dict[str, Collection[str]] = {"ATOMICS": ATOMICS, "REDUCTIONS": REDUCTIONS}
    loops = [table for table, names in tables.items() if name.removesuffix("_nbi") in names]
    return sum(len(re.findall(rf"\b{word}\b", text)) for word in (name, *loops))


@functools.cache
def _texts() -> dict[str, str]:
    return {f"{path.parent.name}/{path.name}": path.read_text() for path in sorted(TESTS.glob("*/test_*.py"))}


def test_of(name: str) -> str:
    """Return the test file of a routine's chapter if it contains the name, else the one that contains it most often.

    Raises:
        LookupError: No test contains it.
    """
    own = f"chapters/test_{getattr(ishmem, name).__module__.rpartition('.')[2]}.py"
    if uses(name, _texts().get(own, "")):
        return own
    counts = {file: uses(name, text) for file, text in _texts().items()}
    if not any(counts.values()):
        raise LookupError(f"no test names {name}")
    return max(counts, key=lambda file: counts[file])


def render() -> str:
    """Return the page as markdown."""
    lines = [
        "# OpenSHMEM 1.6",
        "",
        "ishmem has every routine of the library interface of OpenSHMEM 1.6. The tables name each, its Python form,",
        "whether kernels may call it too, and a test file that calls it. One row stands for all typed, sized and `mem`",
        "variants of a routine. Those with a context, as `shmem_ctx_put`, are methods of a context of the same names,",
        "as `ctx.put`. [From C to Python](c-to-python.md) has the signatures.",
        "",
        "What only C needs is left out: the profiling interface (`shmem_pcontrol`, and names with `p`), for which",
        "[traces](trace.md) stand here, and the routines for caches, deprecated and without effect on such hardware.",
        "With numba-dpex a process is a PE of one job only: `init` after the last `finalize` is an error there. On",
        "today's stack it starts another job.",
    ]
    for chapter in CHAPTERS:
        rows = [_line(row) for row in routines(chapter) if not row.absent]
        lines += ["", f"## {chapter.title}", "", *_HEADER, *rows] if rows else []
    lines += ["", "## Deprecated names", "", "| deprecated name | in Python |", "|---|---|"]
    lines += [f"| `{c_name}` | `{name}` |" for c_name, name in DEPRECATED.items()]
    lines += ["", "`python -m tools.conformance` prints this page."]
    return "\n".join([*lines, ""])


def _line(row: c_map.Row) -> str:
    return f"| `{row.c_name}` | `{row.python}` | {'yes' if row.kernel else ''} | `tests/{test_of(row.python)}` |"


if __name__ == "__main__":
    print(render(), end="")
