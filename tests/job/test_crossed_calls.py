"""PEs that wait for each other in different collective calls of the host end with an error at once."""

from __future__ import annotations

import pytest
from subprocesses import program, run_program

PAIRS = [("reduce", "barrier"), ("sync", "broadcast"), ("alloc", "reduce"), ("broadcast", "split"), ("first", "second"),
         ("barrier", "first"), ("second", "reduce")]  # fmt: skip


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
@pytest.mark.parametrize("count", [2, 3])
def test_crossed(pair: tuple[str, str], count: int) -> None:
    done = run_program(program("crossed_calls"), count, *pair, timeout=120)
    assert done.returncode != 0, done
    assert "SymmetryError: the PEs wait for each other; PE " in done.stderr, done
    assert "after" not in done.stdout, done
    assert "all members of a team make the same collective calls in the same order" in done.stderr, done


@pytest.mark.parametrize(
    ("pair", "words"),
    [
        (("barrier", "sync"), "another PE has called sync_all or team_sync"),
        (("alloc", "barrier"), "another PE has called barrier_all"),
        (("sync", "alloc"), "another PE has called another collective call"),
    ],
    ids="-".join,
)
def test_different_barriers(pair: tuple[str, str], words: str) -> None:
    """Barriers of different calls do not pass for one."""
    done = run_program(program("crossed_calls"), 2, *pair, timeout=120)
    assert done.returncode != 0 and "after" not in done.stdout, done
    assert f"{words}; all members of a team make the same collective calls in the same order" in done.stderr, done


@pytest.mark.slow_cases("other calls", "2-reduce_world-barrier", "2-sync-reduce")
@pytest.mark.parametrize("pair", [("reduce_world", "barrier"), ("sync", "reduce")], ids="-".join)
@pytest.mark.parametrize("count", [2, 3])
def test_crossed_in_kernels(pair: tuple[str, str], count: int) -> None:
    done = run_program(program("crossed_calls_in_kernels"), count, *pair, timeout=120)
    assert done.returncode == 1, done
    assert done.stderr.count("SymmetryError: the kernels of the PEs wait for each other; PE ") == 1, done
    assert "in kernel reduce" in done.stderr and ": sum_reduce" in done.stderr, done
    assert "after" not in done.stdout, done


def test_both_places_are_named() -> None:
    done = run_program(program("crossed_calls"), 2, "reduce", "barrier", timeout=120)
    error = next(line for line in done.stderr.splitlines() if "SymmetryError: " in line)
    assert "PE 0 in sum_reduce" in error, done
    assert "PE 1 in barrier_all" in error, done


@pytest.mark.slow("the other tests run with the check")
def test_no_false_alarm() -> None:
    done = run_program(program("late_pes"), 3, timeout=120)
    assert (done.returncode, done.stdout.count("done")) == (0, 3), done


@pytest.mark.slow_cases("the same after fewer calls", "100")
@pytest.mark.slow_cases("the same on other PEs", "1")
@pytest.mark.parametrize("limit", ["1", "0", "100"])
def test_notice(limit: str) -> None:
    """One line for the job tells of a long wait, which goes on."""
    done = run_program(program("long_wait"), 3, env={"ISHMEM_WAIT_NOTICE": limit}, timeout=120)
    assert done.returncode == 0, done
    notices = [line for line in done.stderr.splitlines() if "a wait has lasted" in line]
    assert len(notices) == (limit == "1"), done
    for line in notices:
        assert "PE 0: wait_until, element 0 is 0, wanted == 1" in line
        assert "PE 1: " in line
        assert "PE 2: finalize" in line
