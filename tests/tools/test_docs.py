"""The documentation agrees with the code: its programs run, and generated pages are up to date."""

from __future__ import annotations

import importlib
import inspect
import json
import re
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import doc_programs
import pytest
from subprocesses import run_command, run_program, succeeded

import ishmem
from ishmem.common import routines
from ishmem.common.routines import CHAPTERS, GROUP, QUEUE, Chapter, Waits
from ishmem.common.type_tables import ATOMICS, REDUCTIONS
from ishmem.environment import settings
from ishmem.runtime import docstrings
from ishmem.testing import Pes
from tools import c_map, conformance, readme_table

ROOT = Path(__file__).parents[2]
TESTS = "\n".join(path.read_text() for path in (ROOT / "tests").glob("*/test_*.py") if path.name != "test_docs.py")


PAGES = [page for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")) if doc_programs.programs(page)]
ROUTINES = sorted(name for name in ishmem.__all__ if callable(getattr(ishmem, name)) and not name.startswith("TEAM_"))


@pytest.mark.slow_cases("test_deep_ep.py", "4pes-docs/deepep.md")
@pytest.mark.ishmem(4)
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_programs_of_a_page_print_what_it_shows(page: Path) -> None:
    doc_programs.run_page(str(page))


@pytest.mark.ishmem([1, 4])
def test_examples_in_docstrings_run(pes: Pes) -> None:
    assert set(pes.run(doc_programs.run_examples)) == {len(list(doc_programs.examples()))}


def test_pages_have_other_code_only_to_compare_with() -> None:
    """A block marked ``py`` is not run."""
    with_code = {page.name for page in (ROOT / "docs").rglob("*.md") if re.search(r"^```py$", page.read_text(), re.M)}
    of_torch, wrong = {"interop.md", "deepep.md"}, {"from-nvshmem4py.md", "find-missing-order.md"}
    assert with_code <= of_torch | wrong


@pytest.mark.slow_cases("`make docs`, which runs it", "first-steps.ipynb")
@pytest.mark.parametrize("notebook", [*(ROOT / "docs" / "notebooks").glob("*.ipynb")], ids=lambda path: path.name)
def test_a_notebook_shows_what_its_cells_print(notebook: Path) -> None:
    done = succeeded(run_command([sys.executable, str(ROOT / "tests" / "notebook.py"), str(notebook)]))
    cells = [cell for cell in json.loads(notebook.read_text())["cells"] if cell["cell_type"] == "code"]
    for cell, (printed, pictures) in zip(cells, json.loads(done.stdout.splitlines()[-1])):
        shown = "".join(line for output in cell["outputs"] for line in output.get("text", []))
        assert sorted(printed.splitlines()) == sorted(shown.splitlines()), cell["source"]
        assert pictures == sum("image/png" in output.get("data", {}) for output in cell["outputs"])


def test_the_program_in_the_readme_runs() -> None:
    n = 3
    program = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert program
    done = succeeded(run_program(program[1], n))
    said = sorted(line.split("] ")[1] for line in done.stdout.splitlines())
    assert said == [f"PE {pe} of {n} got {(pe - 1) % n}" for pe in range(n)]


def test_generated_pages_are_up_to_date() -> None:
    assert (ROOT / "docs" / "c-to-python.md").read_text() == c_map.render()
    assert (ROOT / "docs" / "openshmem.md").read_text() == conformance.render()
    assert settings.table() in (ROOT / "docs" / "settings.md").read_text()


def test_the_table_of_the_readme_is_up_to_date() -> None:
    """Each routine is in it, with the forms that exist."""
    table = readme_table.render()
    assert f"\n\n{table}\n" in (ROOT / "README.md").read_text()
    marks = {name: cells for _, names, *cells in map(_cells, table.splitlines()[2:]) for name in names.split()}
    for name, row in routines.ROUTINES.items():
        _host, on_queue, _kernel, work_group = marks.get(name) or next(
            found for pattern, found in marks.items() if fnmatch(name, pattern)
        )
        assert (on_queue == "yes", work_group == "yes") == (QUEUE in row.forms, GROUP in row.forms), name


def _cells(line: str) -> list[str]:
    return [cell.strip(" `") for cell in line.split("|")[1:-1]]


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.title)
def test_every_routine_of_the_standard_is_public_and_has_a_test(chapter: Chapter) -> None:
    for row in conformance.routines(chapter):
        if row.absent:
            assert row.c_name in ("shmem_pcontrol", "shmem_set_cache_inv", "shmem_udcflush")  # named on the page
            continue
        assert row.python in ishmem.__all__, row
        assert conformance.uses(row.python, (ROOT / "tests" / conformance.test_of(row.python)).read_text()), row
    assert set(conformance.DEPRECATED.values()) <= set(ishmem.__all__)


def test_contexts_have_the_operations_of_the_standard() -> None:
    """``shmem_ctx_put`` and so on are methods; 9.6 to 9.8 and 9.12 of OpenSHMEM 1.6 name those with a context."""
    titles = ("Remote memory access", "Atomics", "Signals", "Ordering")
    chapters = [chapter for chapter in CHAPTERS if chapter.title in titles]
    names = {row.python for chapter in chapters for row in conformance.routines(chapter)}
    assert len(chapters) == len(titles)
    assert {name for name in names if not hasattr(ishmem.Ctx, name)} == {"signal_fetch", "signal_wait_until"}


@pytest.fixture
def reference(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module that makes the reference of the site."""
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "_ext"))
    return importlib.import_module("reference")


def test_every_public_name_has_an_entry_in_the_reference(reference: Any) -> None:
    chapters = [page for chapter in CHAPTERS for page in reference.pages(chapter).values()]
    pages = "\n".join([*chapters, reference.errors()])
    found = re.findall(r"^\.\. (?:auto\w+|py:data):: ishmem\.(\w+)$", pages, re.MULTILINE)
    assert sorted(found) == sorted(set(found))
    assert sorted(set(ishmem.__all__) - set(found)) == []


def test_every_name_of_the_kernel_language_has_an_entry_in_the_reference(reference: Any) -> None:
    names = [name for names in reference.KERNEL_API.values() for name in names]
    assert sorted(names) == sorted(importlib.import_module("ishmem.dpex.kernel_api").__all__)
    assert list(reference._decorators()) == ["device_func", "kernel"]
    assert all(reference._of_kernel_api(name) for name in names)


def test_the_map_of_libraries_names_routines_that_exist() -> None:
    calls = c_map.PAGE.read_text().partition(c_map.BY_HAND)[2]
    assert len(re.findall(r"^\| .*`ishmem\.", calls, re.MULTILINE)) > 40
    assert all(hasattr(ishmem, name) for name in re.findall(r"ishmem\.(\w+)", calls))


def test_help_describes_each_argument_and_has_an_example() -> None:
    lacking = []
    for name in ROUTINES:
        routine = getattr(ishmem, name)
        if inspect.isclass(routine) or name.startswith("CTX_"):
            continue
        named = [each for each in inspect.signature(routine).parameters if not each.startswith("_")]
        text = inspect.getdoc(routine) or ""
        if list(docstrings.arguments(routine)) != named or "Example:" not in text:
            lacking.append(name)
    assert not lacking


@pytest.mark.parametrize("name", [*ATOMICS, *REDUCTIONS])
def test_help_names_the_dtypes_of_the_table(name: str) -> None:
    dtypes = {**{each: atomic.types for each, atomic in ATOMICS.items()}, **REDUCTIONS}[name]
    described = docstrings.arguments(getattr(ishmem, name))["source" if name == "atomic_fetch" else "dest"]
    shown = set(re.findall(r"\b(?:u?int|b?float|complex)\d+", described))
    if "any integer dtype" in described:
        shown |= {each for each in dtypes if "int" in each}
    assert shown == set(dtypes)


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.title)
def test_every_routine_of_the_map_has_tests(chapter: Chapter) -> None:
    names = [row.python for row in c_map.rows(chapter) if row.python]
    assert not [name for name in names if not conformance.uses(name, TESTS)]


def host_routines() -> Iterator[tuple[str, Any]]:
    """Yield the routines that the host calls, by name, and the methods of the public classes."""
    for name in ishmem.__all__:
        value = getattr(ishmem, name)
        if inspect.isclass(value) and value.__module__.startswith("ishmem."):
            methods = [(each, method) for each, method in vars(value).items() if not each.startswith("_")]
            yield from ((f"{name}.{each}", method) for each, method in methods if inspect.isfunction(method))
        elif name in ROUTINES and not inspect.isclass(value) and not hasattr(value, "kernel_only"):
            yield name, value


def says_collective(routine: Any) -> bool:
    """Return whether a sentence of a docstring begins with the word."""
    return bool(re.search(r"(^|[.:] )Collective\b", " ".join((inspect.getdoc(routine) or "").split())))


def waiting_for(kind: Waits) -> set[str]:
    """Return the host routines, and the methods, that wait so by the table."""
    names = [(name, *reversed(name.split("."))) for name, _ in host_routines()]
    return {name for name, function, *owner in names if routines.of_call(function, *owner)[1] is kind}


def test_docstrings_say_which_routines_are_collective() -> None:
    """On-queue forms may be collective too, but do not wait."""
    said = {name for name, routine in host_routines() if says_collective(routine) and not name.endswith("_on_queue")}
    assert said == waiting_for(Waits.PES)


def test_the_table_names_the_routines_that_wait_for_a_variable() -> None:
    """All but a lock take a timeout."""
    limited = {name for name, routine in host_routines() if "timeout" in inspect.signature(routine).parameters}
    assert {*limited, "set_lock"} == waiting_for(Waits.VARIABLE)


def test_every_public_function_has_a_docstring_with_its_source() -> None:
    listed = [row.python for chapter in CHAPTERS for row in c_map.rows(chapter) if row.python]
    without = [name for name in listed if "Source:" not in (getattr(ishmem, name).__doc__ or "")]
    assert not without
