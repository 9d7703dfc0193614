"""Jobs whose PEs are the processes of a torch process group.

The processes get the variables that torchrun sets: the torchrun of torch 1.13, which ``.ci/torch`` fetches, does not
run with Python 3.11.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch_library
from subprocesses import program, run_at_once, run_program

from ishmem.common.errors import IshmemError
from ishmem.runtime import process_group

EXAMPLE = Path(__file__).parents[2] / "examples" / "torch_allreduce.py"


def torchrun(n: int, path: Path, *arguments: str) -> list[str]:
    """Run a program on ``n`` processes as torchrun does; return the lines of their output, sorted."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
    common = {"WORLD_SIZE": str(n), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "TORCHELASTIC_RUN_ID": "none"}
    common.update(os.environ, **common, **torch_library.environment())
    command = [sys.executable, str(path), *arguments]
    ranks = [{**common, "RANK": str(rank), "LOCAL_RANK": str(rank)} for rank in range(n)]
    done = run_at_once([(command, environment) for environment in ranks], timeout=120)
    assert [process.returncode for process in done] == [0] * n, done
    return sorted(line for process in done for line in process.stdout.splitlines())


@pytest.mark.slow_cases("fewer processes", "3")
@pytest.mark.slow_cases("the same on 3 PEs", "1")
@pytest.mark.parametrize("n", [1, 3])
def test_pes_of_the_whole_group(n):
    total = sum(range(n))
    wanted = [f"PE {pe} of {n}, rank {pe}: {total}" for pe in range(n)]
    assert torchrun(n, program("pes_of_a_process_group"), "all") == wanted


@pytest.mark.slow("test_pes_of_the_whole_group")
def test_pes_of_a_part_of_the_group():
    """PE numbers are those of the processes in the group."""
    said = torchrun(3, program("pes_of_a_process_group"), "some")
    assert said == ["PE 0 of 2, rank 0: 2", "PE 1 of 2, rank 2: 2", "this process is not in process_group"]


@pytest.mark.slow_cases("the other way", "jobs")
@pytest.mark.parametrize("of", ["jobs", "teams"])
def test_communicators_of_subgroups(of):
    said = torchrun(4, program("communicators_of_subgroups"), of)
    assert said == [f"rank {rank}: member {rank // 2} of 2" for rank in range(4)]


@pytest.mark.slow("test_pes_of_the_whole_group")
@pytest.mark.parametrize("n", [2, 4])
def test_the_example_runs(n):
    total, left = 0.25 * n * (n + 1), 10 * (n - 1)
    wanted = f"{n} PEs, tensors on cpu: the sum is {total}, PE 0 got {left}"
    assert torchrun(n, EXAMPLE) == [wanted]


@pytest.mark.slow("test_pes_of_the_whole_group")
def test_the_example_runs_by_torchrun():
    """The example by torchrun itself."""
    found = torch_library.environment()
    if torch_library.NUMPY_1:
        pytest.skip("torchrun of torch 1.13 does not run with Python 3.11")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", str(EXAMPLE)]
    done = subprocess.run(command, env={**os.environ, **found}, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("2 PEs, tensors on cpu: the sum is 1.5, PE 0 got 10")


def test_init_without_the_group_is_refused():
    assert torchrun(2, program("init_without_the_process_group")) == [
        "torchrun has started 2 processes; call torch.distributed.init_process_group() and "
        "ishmem.init(process_group=torch.distributed.group.WORLD)"
    ] * 2


def test_torchrun_of_several_processes_needs_the_group(monkeypatch):
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "x")
    monkeypatch.setenv("WORLD_SIZE", "1")
    process_group.refuse_torchrun()
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(IshmemError, match="torchrun has started 2 processes"):
        process_group.refuse_torchrun()


WRONG = """
import ishmem
try:
    ishmem.init(process_group="WORLD")
except TypeError as error:
    print(error)
"""


def test_what_is_no_group_is_refused():
    done = run_program(WRONG, 1)
    assert "process_group is a ProcessGroup of torch.distributed" in done.stdout and "got str" in done.stdout


def test_processes_of_several_nodes_are_refused_without_mpi():
    from ishmem.runtime import network

    class Comm:
        def allgather(self, record):
            return [record, network.record("another node")]

    with pytest.raises(IshmemError, match=r"the PEs are on several nodes \(.*\), which need MPI"):
        network.gather_one_node(Comm(), None)
