"""The runner of ``make test-clients``, on a few of the clients' files and on files made for it."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from typing import Any

import pytest

PROGRAM = Path(__file__).parents[1] / "clients" / "__main__.py"
SPEC = importlib.util.spec_from_file_location("clients_program", PROGRAM)
sys.path.insert(0, str(PROGRAM.parent))  # for its module reporter
program: Any = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(program)

pytestmark = pytest.mark.skipif(os.environ.get("ISHMEM_DEVICE") == "gpu", reason="for the simulator only")

TESTS = """
import ctypes, pytest
def test_good(): pass
def test_wrong(): assert 1 == 2
def test_crash(): ctypes.string_at(0)
@pytest.mark.skip
def test_left_out(): pass
@pytest.mark.parametrize("n", [1, 2])
def test_after_the_crash(n): pass
"""


def test_a_crash_ends_one_test_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "test_x.py").write_text(TESTS)
    (tmp_path / "test_y.py").write_text("import nothing_of_this_name")
    monkeypatch.setattr(program, "SITE", tmp_path)
    monkeypatch.setattr(program, "BUILD", tmp_path)
    found = program.run("test_x.py")
    outcomes = {"good": "passed", "wrong": "failed", "crash": "failed", "left_out": "skipped"}
    outcomes.update({"after_the_crash[1]": "passed", "after_the_crash[2]": "passed"})
    assert {test.partition("::test_")[2]: outcome for test, (outcome, _text) in found.items()} == outcomes
    assert found["test_x.py::test_crash"][1] == "ended by signal 11"
    assert "assert 1 == 2" in found["test_x.py::test_wrong"][1]
    outcome, text = program.run("test_y.py")["test_y.py"]
    assert outcome == "failed" and "nothing_of_this_name" in text


def test_list_of_expected_failures() -> None:
    text = "# A heading.\n\n# First\n# reason.\na::b\na::c[x # y]\n\n# Second.\na::d\n"
    assert program.expected_failures(text) == {
        "a::b": "First reason.", "a::c[x # y]": "First reason.", "a::d": "Second.",
    }  # fmt: skip
    with pytest.raises(ValueError, match="no reason for a::b"):
        program.expected_failures("a::b\n")
    assert program.expected_failures(program.EXPECTED.read_text())


def test_what_is_unexpected() -> None:
    found = {
        "a": {"a::bad": ("failed", "why"), "a::known": ("failed", ""), "a::good": ("passed", "")},
        "b": {"b::mended": ("passed", ""), "b::left_out": ("skipped", ""), "b::sometimes": ("passed", "")},
    }
    expected = dict.fromkeys(("a::known", "a::gone", "b::mended", "b::left_out", "c::not_run"), "reason")
    expected["b::sometimes"] = "May pass: reason"
    listed = program.EXPECTED.name
    assert list(program.unexpected(found, expected)) == [
        "FAILED: a::bad: why",
        f"SKIPPED UNEXPECTEDLY: b::left_out is in {listed}: reason",
        f"PASSED UNEXPECTEDLY: b::mended is in {listed}: reason",
        f"NO SUCH TEST: a::gone is in {listed}",
    ]
    assert program.counts(found["a"], expected) == "1 passed, 1 expected failure, 1 FAILED"
    assert program.counts(found["b"], expected) == "1 passed, 2 PASSED UNEXPECTEDLY"
