"""Random bad calls of every routine: errors that are documented, never a crash."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pes import run_program

PROGRAM = Path(__file__).with_name("reliability") / "calls_pe.py"


@pytest.mark.parametrize("n", [1, 2])
def test_random_bad_calls(n: int) -> None:
    done = run_program(PROGRAM, n, "--calls", "600", "--seed", "20", options=["--no-prefix"])
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert found["wrong"] == [] and sum(found["counts"].values()) == 600
    assert found["counts"]["TypeError"] > 100 and found["counts"]["returned"] > 20
