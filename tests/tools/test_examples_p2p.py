"""The examples of point-to-point operations, run as a user runs them, on 1 to 4 PEs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from subprocesses import run_program

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_producer_consumer(n: int) -> None:
    done = run_program(EXAMPLES / "producer_consumer.py", n, "21")
    assert done.returncode == 0, done.stdout + done.stderr
    words = rf"\[{n - 1}\] 21 blocks of 500 points through {n} PEs: off by (\S+) at most\n"
    found = re.fullmatch(words, done.stdout)
    assert found, done.stdout
    assert float(found[1]) < 1e-12
