"""A collective call that some PEs make on the host and others in a kernel ends with an error."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from subprocesses import run_command, run_program

from ishmem.testing import nodes

PROGRAM = """
import sys, time, dpnp, ishmem
from ishmem import dpex
from ishmem.dpex import kernel_api as kapi

@dpex.kernel
def reduce(item, dest, source, team):
    ishmem.sum_reduce(dest, source, team)

@dpex.kernel
def barrier(item, dest):
    ishmem.barrier_all()

ishmem.init()
me, n, form = ishmem.my_pe(), ishmem.n_pes(), sys.argv[1]
first = ishmem.TEAM_WORLD.split_strided(0, 1, n)
first.sync()
first.destroy()
team = ishmem.TEAM_WORLD.split_strided(n - 1, -1, n)  # its counts do not begin with 0
source, dest, flag = ishmem.ones(4), ishmem.zeros(4), ishmem.zeros(1, dtype="i8")
dpex.call_kernel(reduce, kapi.Range(1), dest, source, team.handle)
ishmem.sum_reduce(dest, source, team)
if form == "good":
    if me == 0:
        time.sleep(1.5)  # the others wait long, first on the host and then in a kernel
    ishmem.sum_reduce(dest, source, team)
    if me == 0:  # waits on the host, in no collective call, while the others are in one in a kernel
        try:
            ishmem.wait_until(flag, ishmem.CMP_NE, 0, timeout=1.5)
        except ishmem.WaitTimeout:
            print("waited")
    dpex.call_kernel(reduce, kapi.Range(1), dest, source, team.handle)
    ishmem.barrier_all()
    print("done")
elif form == "reduce":
    if me == 1:
        dpex.call_kernel(reduce, kapi.Range(1), dest, source, team.handle)
    else:
        ishmem.sum_reduce(dest, source, team)
elif me == 1:
    dpex.call_kernel(barrier, kapi.Range(1), dest)
else:
    ishmem.barrier_all()
ishmem.finalize()
"""


@pytest.mark.parametrize("check", ["0", "1"])
@pytest.mark.parametrize(("form", "team"), [("reduce", 3), ("barrier", 0)])
def test_mixed(form: str, team: int, check: str) -> None:
    done = run_program(PROGRAM, 2, form, env={"ISHMEM_CHECK": check}, timeout=120)
    assert done.returncode != 0, done
    assert f"SymmetryError: PE 1 calls a collective of team {team} in a kernel, PE 0 on the host" in done.stderr, done


def test_mixed_between_nodes(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    done = run_command(nodes.launcher([1, 1], [sys.executable, str(path), "reduce"]), timeout=120)
    assert done.returncode != 0, done
    assert "SymmetryError: PE 1 calls a collective of team 3 in a kernel, PE 0 on the host" in done.stderr, done


def test_not_mixed() -> None:
    done = run_program(PROGRAM, 3, "good", env={"ISHMEM_CHECK": "1"}, timeout=60)
    assert done.returncode == 0, done
    assert (done.stdout.count("done"), done.stdout.count("waited")) == (3, 1), done
