"""The modules with cases, and the selection of the cases that a run measures."""

from __future__ import annotations

import difflib
import importlib
import importlib.util

from ishmem.benchmarks.cases import CASES, SIDES, Case

MODULES = ("copies", "elements", "waiting", "device", "programs", "collectives", "inference", "nodes")
"""The modules of this package with cases, in the order of the table."""
ON_REQUEST = ("collectives", "inference", "nodes")
"""The modules whose many cases are measured only if the command line names them or their operations."""


def load(files: tuple[str, ...] = ()) -> dict[str, Case]:
    """Import the modules with cases, and the user's ``files``; return all cases by key. Others are a ValueError."""
    for module in MODULES:
        importlib.import_module(f"ishmem.benchmarks.{module}")
    for file in files:
        spec = importlib.util.spec_from_file_location("cases_of_the_user", file)
        if spec is None or spec.loader is None:
            raise ValueError(f"{file} is not a Python file")
        spec.loader.exec_module(importlib.util.module_from_spec(spec))
    return CASES


def select(names: tuple[str, ...], sides: tuple[str, ...]) -> list[Case]:
    """Return the cases of these operations and sides; by default all, except those of the modules in `ON_REQUEST`.

    The name of such a module selects all its operations.

    Raises:
        ValueError: An operation or side is unknown, or no case is left.
    """
    known = [*dict.fromkeys(one.name for one in CASES.values()), *ON_REQUEST]
    for wanted, allowed, what in ((names, known, "operation"), (sides, list(SIDES), "side")):
        for word in wanted:
            if word not in allowed:
                close = difflib.get_close_matches(word, allowed, n=1)
                hint = f"did you mean {close[0]}? " if close else ""
                raise ValueError(f"no such {what}: {word}; {hint}Allowed are {', '.join(allowed)}")
    found = [
        one
        for one in CASES.values()
        if (not sides or one.side in sides)
        and (one.name in names or one.module in names or not (names or one.module in ON_REQUEST))
    ]
    if not found:
        raise ValueError(f"no case of {', '.join(names)} on the side {', '.join(sides)}")
    return found
