"""The examples of teams and locks, run as a user runs them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from subprocesses import run_program

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize("n", [1, 3, 4])
def test_work_stealing(n: int) -> None:
    done = run_program(EXAMPLES / "work_stealing.py", n)
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.fullmatch(r"\[0\] 200 tasks, by PE: \[(.*)\]; every result is right\n", done.stdout)
    assert found, done.stdout
    shares = [int(share) for share in found[1].split(", ")]
    assert len(shares) == n
    assert sum(shares) == 200


@pytest.mark.parametrize(("n", "grid"), [(1, "1 x 1"), (2, "2 x 1"), (3, "3 x 1"), (4, "2 x 2")])
def test_halo2d(n: int, grid: str) -> None:
    done = run_program(EXAMPLES / "halo2d.py", n)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(f" of {grid} is right\n") == n, done.stdout


@pytest.mark.parametrize("name", ["work_stealing", "halo2d"])
def test_short(name: str) -> None:
    assert len((EXAMPLES / f"{name}.py").read_text().splitlines()) < 80
