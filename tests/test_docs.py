"""The documentation agrees with the code: its programs run, and generated pages are up to date."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pes import run_program

import ishmem
from ishmem.cli import c_map
from ishmem.environment import settings

ROOT = Path(__file__).parent.parent
TESTS = "\n".join(path.read_text() for path in (ROOT / "tests").glob("test_*.py") if path.name != "test_docs.py")


@pytest.mark.parametrize("n", [1, 3, 4])
def test_the_program_in_the_readme_runs(n: int) -> None:
    program = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert program
    done = run_program(program[1], n)
    assert done.returncode == 0, done.stdout + done.stderr
    said = sorted(line.split("] ")[1] for line in done.stdout.splitlines())
    assert said == [f"PE {pe} of {n} got {(pe - 1) % n}" for pe in range(n)]


def test_the_map_from_c_is_up_to_date() -> None:
    assert (ROOT / "docs" / "c-to-python.md").read_text() == c_map.render()


def test_the_settings_page_is_up_to_date() -> None:
    assert settings.table() in (ROOT / "docs" / "settings.md").read_text()


@pytest.mark.parametrize("chapter", c_map.CHAPTERS)
def test_every_routine_of_the_map_has_tests(chapter: str) -> None:
    names = [row.python for row in c_map.rows(chapter) if row.python]
    untested = [name for name in names if not re.search(rf"\b{name}\b", TESTS)]
    assert not untested


def test_every_public_function_has_a_docstring_with_its_source() -> None:
    listed = [row.python for chapter in c_map.CHAPTERS for row in c_map.rows(chapter) if row.python]
    without = [name for name in listed if "Source:" not in (getattr(ishmem, name).__doc__ or "")]
    assert not without
