"""PEs that wait for each other in different collective calls, on the host or in kernels, end with an error at once."""

from __future__ import annotations

import sys

import pytest
from subprocesses import program, run_command, run_program

from ishmem.testing import nodes

CROSSED = program("crossed_calls")
ORDER = "all members of a team make the same collective calls in the same order"
PAIRS = [("reduce", "barrier"), ("sync", "broadcast"), ("alloc", "reduce"), ("broadcast", "split"), ("first", "second"),
         ("barrier", "first"), ("second", "reduce")]  # fmt: skip


@pytest.mark.parametrize(("count", "pair"), [(2, PAIRS[0]), (2, PAIRS[2]), *((3, pair) for pair in PAIRS)], ids=str)
def test_crossed(count: int, pair: tuple[str, str]) -> None:
    done = run_program(CROSSED, count, *pair)
    assert done.returncode != 0, done
    assert "SymmetryError: the PEs wait for each other; PE " in done.stderr, done
    assert "after" not in done.stdout, done
    assert ORDER in done.stderr, done
    if pair == PAIRS[0]:
        error = next(line for line in done.stderr.splitlines() if "SymmetryError: " in line)
        assert "PE 0 in sum_reduce" in error and "PE 1 in barrier_all" in error, done


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
    done = run_program(CROSSED, 2, *pair)
    assert done.returncode != 0 and "after" not in done.stdout, done
    assert f"{words}; {ORDER}" in done.stderr, done


@pytest.mark.slow_cases("other calls", "2-reduce_world-barrier", "2-sync-reduce")
@pytest.mark.parametrize("pair", [("reduce_world", "barrier"), ("sync", "reduce")], ids="-".join)
@pytest.mark.parametrize("count", [2, 3])
def test_crossed_in_kernels(pair: tuple[str, str], count: int) -> None:
    done = run_program(CROSSED, count, *(f"kernel:{name}" for name in pair))
    assert done.returncode == 1, done
    assert done.stderr.count("SymmetryError: the kernels of the PEs wait for each other; PE ") == 1, done
    assert "in kernel reduce" in done.stderr and ": sum_reduce" in done.stderr, done
    assert "after" not in done.stdout, done


MIXED = "SymmetryError: PE 1 calls a collective of team {} in a kernel, PE 0 on the host"


@pytest.mark.slow("test_crossed, test_crossed_in_kernels")
@pytest.mark.parametrize("check", ["0", "1"])
@pytest.mark.parametrize(("host", "kernel", "team"), [("second", "reduce", 3), ("barrier", "barrier", 0)])
def test_mixed(host: str, kernel: str, team: int, check: str) -> None:
    """Some PEs make a call on the host, others in a kernel."""
    done = run_program(CROSSED, 2, host, f"kernel:{kernel}", env={"ISHMEM_CHECK": check})
    assert done.returncode != 0, done
    assert MIXED.format(team) in done.stderr, done


@pytest.mark.slow("test_mixed, on one node")
def test_mixed_between_nodes() -> None:
    command = [sys.executable, str(CROSSED), "second", "kernel:reduce"]
    done = run_command(nodes.launcher([1, 1], command, preloaded=True))
    assert done.returncode != 0, done
    assert MIXED.format(3) in done.stderr, done


@pytest.mark.slow_cases("the other tests run with the check", "come_late")
@pytest.mark.parametrize(("what", "waited"), [("come_late", 0), ("wait_beside_kernels", 1)])
def test_no_false_alarm(what: str, waited: int) -> None:
    done = run_program(CROSSED, 3, what, env={"ISHMEM_CHECK": "1"})
    assert (done.returncode, done.stdout.count("done"), done.stdout.count("waited")) == (0, 3, waited), done


WAIT = """
import time, ishmem
ishmem.init()
flag = ishmem.zeros(1, dtype="i8")
if ishmem.my_pe() == 1:
    time.sleep(3)
    ishmem.atomic_set(flag, 1, 0)
elif ishmem.my_pe() == 0:
    ishmem.wait_until(flag, ishmem.CMP_EQ, 1)
ishmem.finalize()
"""


@pytest.mark.slow_cases("the same after fewer calls", "100")
@pytest.mark.slow_cases("the same on other PEs", "1")
@pytest.mark.parametrize("limit", ["1", "0", "100"])
def test_notice(limit: str) -> None:
    """One line for the job tells of a long wait, which goes on."""
    done = run_program(WAIT, 3, env={"ISHMEM_WAIT_NOTICE": limit})
    assert done.returncode == 0, done
    notices = [line for line in done.stderr.splitlines() if "a wait has lasted" in line]
    assert len(notices) == (limit == "1"), done
    for line in notices:
        assert "PE 0: wait_until, element 0 is 0, wanted == 1" in line
        assert "PE 1: " in line
        assert "PE 2: finalize" in line
