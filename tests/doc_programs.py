"""Programs of the documentation, run on the PEs of a `Pes`: those of its pages and the examples of docstrings."""

from __future__ import annotations

import contextlib
import doctest
import io
import re
import runpy
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

import ishmem

_BLOCK = re.compile(r"^```(python|text)\n(.*?)^```", re.MULTILINE | re.DOTALL)


class Program(NamedTuple):
    """A program of a page, and the output that the page shows, with the prefixes of ishmem run."""

    text: str
    shown: list[str]


def programs(page: Path) -> list[Program]:
    """Return the programs of a page; a block that begins with ``$ ishmem run -n 4`` is what the one before prints."""
    found: list[Program] = []
    for kind, text in _BLOCK.findall(page.read_text()):
        if kind == "python":
            found.append(Program(text, []))
        elif text.startswith("$ ishmem run -n 4") and found:
            found[-1].shown.extend(line for line in text.splitlines()[1:] if line != "...")
    return found


def run_page(page: str) -> None:
    """Run the programs of a page on this PE, and compare what they print with the page."""
    me = ishmem.my_pe()
    for program in programs(Path(page)):
        printed = [f"[{me}] {line}" for line in _run(program.text)]
        shown = [line for line in program.shown if line.startswith(f"[{me}] ")]
        assert not shown or printed == shown, f"{page} shows {shown}, but PE {me} prints {printed}"
        ishmem.barrier_all()


def _run(text: str) -> list[str]:
    """Run a program in this PE, which has initialised ishmem already; return the lines that it prints."""
    session = mock.patch.object(ishmem, "init", return_value=contextlib.nullcontext())
    with tempfile.TemporaryDirectory() as folder, session, contextlib.redirect_stdout(io.StringIO()) as printed:
        path = Path(folder, "program.py")
        path.write_text(text)
        runpy.run_path(str(path), run_name="__main__")
    return printed.getvalue().splitlines()


def examples() -> Iterator[tuple[str, str]]:
    """Yield the names of the routines whose docstrings have a doctest, and their docstrings."""
    for name in sorted(ishmem.__all__):
        routine = getattr(ishmem, name)
        if callable(routine) and ">>> " in (routine.__doc__ or ""):
            yield name, routine.__doc__


def run_examples() -> int:
    """Run the examples of all docstrings on this PE; return their number."""
    import dpnp  # after ishmem, which lets it find its libraries

    me, n = ishmem.my_pe(), ishmem.n_pes()
    given: dict[str, Any] = {
        "ishmem": ishmem, "np": np, "dpnp": dpnp, "me": me, "n": n, "right": (me + 1) % n, "rank": me,
    }  # fmt: skip
    runner, parser = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS), doctest.DocTestParser()
    count = 0
    for name, text in examples():
        said = io.StringIO()
        test = parser.get_doctest(text, dict(given), f"ishmem.{name}", None, None)
        assert not runner.run(test, out=said.write).failed, said.getvalue()
        count += 1
    return count
