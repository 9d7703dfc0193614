"""Forks of a PE: no PEs, so nothing of the job ends, is told or changes with them."""

from __future__ import annotations

import pytest
from subprocesses import program, run_program


@pytest.mark.slow_cases("other ends", "raises-1", "calls-0")
@pytest.mark.slow_cases("the same with status 0", "3-3")
@pytest.mark.slow_cases("the same with os.fork", "pool-False")
@pytest.mark.parametrize(("way", "fork"), [("0", "0"), ("3", "3"), ("raises", "1"), ("calls", "0"), ("pool", "False")])
def test_a_fork_ends_without_the_job(way: str, fork: str) -> None:
    """``ISHMEM_WAIT_NOTICE`` shows what is on the status board."""
    done = run_program(program("forks"), 2, way, env={"ISHMEM_WAIT_NOTICE": "1", "ISHMEM_STATS": "1"})
    assert done.returncode == 0, done
    assert sorted(done.stdout.splitlines()) == sorted(
        f"[{pe}] {line}" for pe in (0, 1) for line in (f"fork {fork}", "PE 2 True")
    )
    assert "wait has lasted" in done.stderr, done
    assert "gave up" not in done.stderr, done
    assert done.stderr.count(" of 2: ") == 2, "counters of a fork"
    assert done.stderr.count("RuntimeError: of a child") == 2 * (way == "raises"), done
