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
    monkeypatch.setattr(program, "SITE", tmp_path)
    monkeypatch.setattr(program, "BUILD", tmp_path)
    found = program.run("test_x.py")
    assert {test.partition("::")[2]: outcome for test, (outcome, _text) in found.items()} == {
        "test_good": "passed",
        "test_wrong": "failed",
        "test_crash": "failed",
        "test_left_out": "skipped",
        "test_after_the_crash[1]": "passed",
        "test_after_the_crash[2]": "passed",
    }
    assert found["test_x.py::test_crash"][1] == "ended by signal 11"
    assert "assert 1 == 2" in found["test_x.py::test_wrong"][1]


def test_a_file_that_does_not_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "test_x.py").write_text("import nothing_of_this_name")
    monkeypatch.setattr(program, "SITE", tmp_path)
    monkeypatch.setattr(program, "BUILD", tmp_path)
    found = program.run("test_x.py")
    assert found["test_x.py"][0] == "failed" and "nothing_of_this_name" in found["test_x.py"][1]


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
