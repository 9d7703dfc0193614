"""PEs that wait for each other in different collective calls of the host end with an error at once."""

from __future__ import annotations

import pytest
from subprocesses import run_program

PROGRAM = """
import sys, threading, time, ishmem

ishmem.init()
me, n = ishmem.my_pe(), ishmem.n_pes()
x, y, flag = ishmem.ones(4), ishmem.zeros(4), ishmem.zeros(1, dtype="i8")
world = ishmem.TEAM_WORLD
first = world.split_strided(0, 1, n)
second = world.split_strided(n - 1, -1, n)
calls = dict(
    barrier=ishmem.barrier_all,
    sync=ishmem.sync_all,
    reduce=lambda: ishmem.sum_reduce(y, x),
    broadcast=lambda: ishmem.broadcast(y, x, 0),
    alloc=lambda: ishmem.zeros(3),
    split=lambda: world.split_strided(0, 1, n),
    first=first.sync,
    second=lambda: ishmem.sum_reduce(y, x, second),
)
for name in sys.argv[1:] if me != 1 else sys.argv[:0:-1]:
    if me == 2:
        time.sleep(0.3)
    calls[name]()
    print("after", name)
ishmem.finalize()
"""

PAIRS = [("reduce", "barrier"), ("sync", "broadcast"), ("alloc", "reduce"), ("broadcast", "split"), ("first", "second"),
         ("barrier", "first"), ("second", "reduce")]  # fmt: skip


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
@pytest.mark.parametrize("count", [2, 3])
def test_crossed(pair: tuple[str, str], count: int) -> None:
    done = run_program(PROGRAM, count, *pair, timeout=120)
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
    done = run_program(PROGRAM, 2, *pair, timeout=120)
    assert done.returncode != 0 and "after" not in done.stdout, done
    assert f"{words}; all members of a team make the same collective calls in the same order" in done.stderr, done


KERNELS = """
import sys, ishmem
from ishmem import dpex
from ishmem.dpex import kernel_api as kapi

@dpex.kernel
def reduce(item, y, x, team):
    ishmem.sum_reduce(y, x, team)

@dpex.kernel
def barrier(item, y, x, team):
    ishmem.barrier_all()

@dpex.kernel
def reduce_world(item, y, x, team):
    ishmem.sum_reduce(y, x)

@dpex.kernel
def sync(item, y, x, team):
    ishmem.team_sync(team)

ishmem.init()
me, n = ishmem.my_pe(), ishmem.n_pes()
x, y = ishmem.ones(4, dtype="i8"), ishmem.zeros(4, dtype="i8")
second = ishmem.TEAM_WORLD.split_strided(n - 1, -1, n)
for name in sys.argv[1:] if me != 1 else sys.argv[:0:-1]:
    dpex.call_kernel(globals()[name], kapi.Range(1), y, x, second)
    print("after", name)
ishmem.finalize()
"""


@pytest.mark.parametrize("pair", [("reduce_world", "barrier"), ("sync", "reduce")], ids="-".join)
@pytest.mark.parametrize("count", [2, 3])
def test_crossed_in_kernels(pair: tuple[str, str], count: int) -> None:
    done = run_program(KERNELS, count, *pair, timeout=120)
    assert done.returncode == 1, done
    assert done.stderr.count("SymmetryError: the kernels of the PEs wait for each other; PE ") == 1, done
    assert "in kernel reduce" in done.stderr and ": sum_reduce" in done.stderr, done
    assert "after" not in done.stdout, done


def test_both_places_are_named() -> None:
    done = run_program(PROGRAM, 2, "reduce", "barrier", timeout=120)
    error = next(line for line in done.stderr.splitlines() if "SymmetryError: " in line)
    assert "PE 0 in sum_reduce" in error, done
    assert "PE 1 in barrier_all" in error, done


SLOW = """
import threading, time, ishmem

ishmem.init()
me, n = ishmem.my_pe(), ishmem.n_pes()
x, y, flag = ishmem.ones(4), ishmem.zeros(4), ishmem.zeros(1, dtype="i8")
first = ishmem.TEAM_WORLD.split_strided(0, 1, n)
for round in range(3):  # each PE in turn is late, in each kind of call
    for call in (ishmem.barrier_all, lambda: ishmem.sum_reduce(y, x), first.sync, lambda: ishmem.zeros(2)):
        if round % n == me:
            time.sleep(0.3)
        call()
# Two threads of each PE, in different teams, in another order on each PE: no deadlock.
def work(mine):
    if mine:
        time.sleep(0.5)
    first.sync() if mine else ishmem.sync_all()
threads = [threading.Thread(target=work, args=((k + me) % 2,)) for k in range(2)]
for thread in threads:
    thread.start()
    time.sleep(0.7)
for thread in threads:
    thread.join()
print("done")
"""


def test_no_false_alarm() -> None:
    done = run_program(SLOW, 3, timeout=120)
    assert (done.returncode, done.stdout.count("done")) == (0, 3), done


NOTICE = """
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


@pytest.mark.parametrize("limit", ["1", "0", "100"])
def test_notice(limit: str) -> None:
    """One line for the job tells of a long wait, which goes on."""
    done = run_program(NOTICE, 3, env={"ISHMEM_WAIT_NOTICE": limit}, timeout=120)
    assert done.returncode == 0, done
    notices = [line for line in done.stderr.splitlines() if "a wait has lasted" in line]
    assert len(notices) == (limit == "1"), done
    for line in notices:
        assert "PE 0: wait_until, element 0 is 0, wanted == 1" in line
        assert "PE 1: " in line
        assert "PE 2: finalize" in line
