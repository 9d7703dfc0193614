"""Random input: bad calls of every routine, damaged messages, settings and SPIR-V modules: errors, never a crash."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pes import run_program

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize("n", [1, 2])
def test_random_bad_calls(n: int) -> None:
    program = ROOT / "benchmarks" / "badcalls.py"
    done = run_program(program, n, "--calls", "600", "--seed", "20", options=["--no-prefix"])
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert found["wrong"] == [] and sum(found["counts"].values()) == 600
    assert found["counts"]["TypeError"] > 100 and found["counts"]["returned"] > 20
