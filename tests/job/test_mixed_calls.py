"""A collective call that some PEs make on the host and others in a kernel ends with an error."""

from __future__ import annotations

import sys

import pytest
from subprocesses import program, run_command, run_program

from ishmem.testing import nodes


@pytest.mark.slow_cases("other calls", "barrier-0-0")
@pytest.mark.slow_cases("the other places of the call", "barrier-0-1", "reduce-3-0", "reduce-3-1")
@pytest.mark.parametrize("check", ["0", "1"])
@pytest.mark.parametrize(("form", "team"), [("reduce", 3), ("barrier", 0)])
def test_mixed(form: str, team: int, check: str) -> None:
    done = run_program(program("mixed_calls"), 2, form, env={"ISHMEM_CHECK": check}, timeout=120)
    assert done.returncode != 0, done
    assert f"SymmetryError: PE 1 calls a collective of team {team} in a kernel, PE 0 on the host" in done.stderr, done


@pytest.mark.slow("test_mixed, on one node")
def test_mixed_between_nodes() -> None:
    command = nodes.launcher([1, 1], [sys.executable, str(program("mixed_calls")), "reduce"], preloaded=True)
    done = run_command(command, timeout=120)
    assert done.returncode != 0, done
    assert "SymmetryError: PE 1 calls a collective of team 3 in a kernel, PE 0 on the host" in done.stderr, done


def test_not_mixed() -> None:
    done = run_program(program("mixed_calls"), 3, "good", env={"ISHMEM_CHECK": "1"}, timeout=60)
    assert done.returncode == 0, done
    assert (done.stdout.count("done"), done.stdout.count("waited")) == (3, 1), done
