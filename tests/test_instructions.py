"""The program that counts the instructions of operations on the host."""

from __future__ import annotations

import re
import sys

import pytest
from subprocesses import run_command

from ishmem.testing import nodes


def test_counts_of_the_host() -> None:
    """Each call has a row for the same node and one for another, with instructions of the core."""
    command = nodes.launcher([1, 1], [sys.executable, "-m", "ishmem.benchmarks.host_instructions"])
    done = run_command(command)
    if "cannot count instructions" in done.stderr:
        pytest.skip("no process may trace another here")
    assert done.returncode == 0, done.stdout + done.stderr
    rows = re.findall(
        r"│ (\w+) +│ (the same node|another node) +│ (\d+) +│ (-?\d+) +│ (-?\d+) +│ (-?\d+) +│", done.stdout
    )
    assert [row[:2] for row in rows] == [
        (name, place)
        for place in ("the same node", "another node")
        for name in ("put", "put_nbi", "p", "atomic_add", "quiet")
    ]
    own = {row[:2]: int(row[2]) for row in rows}
    assert all(20 < count < 5000 for count in own.values()), own
    assert own["put", "the same node"] < own["put", "another node"]
