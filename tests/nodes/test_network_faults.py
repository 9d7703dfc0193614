"""Ends of jobs over MPI: PEs and nodes that fail, MPI that ends first, and MPI in an unsuitable state.

``python tests/reliability nodes`` repeats the faults at random moments.
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import node_faults
import pytest
import trials
from subprocesses import program, run_command

from ishmem.testing import nodes


@pytest.mark.slow_cases("other faults", "kill")
@pytest.mark.slow_cases("test_hosts.py::test_end", "exit")
@pytest.mark.slow_cases("the same by a cut network", "kill node")
@pytest.mark.slow_cases("test_network.py::test_error_ends_all", "raise")
@pytest.mark.parametrize("how", node_faults.HOW)
def test_fault(trial: trials.Trial, how: str) -> None:
    """Every other PE ends or raises ``PeerLost`` with PE and node; the status is kept; nothing is left behind."""
    if "node" in how and not nodes.has_namespaces():
        pytest.skip("needs namespaces")
    draw, outcome = random.Random(how), None
    while outcome is None:  # the job may end before the fault
        outcome = node_faults.one_fault(trial, [2, 2], how, draw)
    assert not outcome.wrong, "\n".join(outcome.wrong)


@pytest.mark.slow("test_fault, on two nodes")
def test_loss_of_one_of_eight_nodes(trial: trials.Trial) -> None:
    """The loss goes through nodes that are not neighbours of the lost one."""
    if not nodes.has_namespaces():
        pytest.skip("needs namespaces")
    draw, outcome = random.Random(8), None
    while outcome is None:
        outcome = node_faults.one_fault(trial, [2] * 8, "kill node", draw)
    assert not outcome.wrong, "\n".join(outcome.wrong)


def run_on(name: str, sizes: list[int], *args: str, **env: str) -> tuple[int, str]:
    """Run one of `tests/programs` on emulated nodes; return its status and its output."""
    command = nodes.launcher(sizes, [sys.executable, str(program(name)), *args], preloaded=True)
    done = run_command(command, env=env, timeout=90)
    return done.returncode, done.stdout + done.stderr


def run_by_mpi(n: int, name: str, *args: str, timeout: float = 90) -> tuple[int, str]:
    """Run one of `tests/programs` by mpiexec; return its status and its output."""
    mpiexec = str(Path(sys.executable).with_name("mpiexec"))
    command = [mpiexec, "-n", str(n), sys.executable, str(program(name)), *args]
    done = run_command(command, env=nodes.SETTINGS, timeout=timeout)
    return done.returncode, done.stdout + done.stderr


def test_a_staged_copy_fails() -> None:
    """When the copy engine fails, the PE whose payloads it stages raises, and the other PE notices its end."""
    env = {"ISHMEM_SIM_HOST_ATOMICS": "0", "ISHMEM_SIM_FAIL": "copy:100", "ISHMEM_MPI_DEVICE_MEMORY": "off"}
    status, output = run_on("staged_copy_fails", [1, 1], **env)
    assert status, output
    assert re.search("told 1 True LevelZeroError zeDeviceGetStatus failed: ZE_RESULT_ERROR_DEVICE_LOST", output), output
    assert re.search("told 0 False PeerLost barrier_all on PE 0: PE 1 is gone", output), output


@pytest.mark.slow_cases("the same without ishmem.finalize", "finalize")
@pytest.mark.parametrize("then", ["finalize", "nothing"])
def test_mpi_finalize_first(tmp_path: Path, then: str) -> None:
    """MPI_Finalize finalises ishmem, whether or not the program calls ``ishmem.finalize`` afterwards."""
    status, output = run_on("mpi_finalize_first", [1, 2], str(tmp_path), then, ISHMEM_LEAKS="ignore")
    assert status == 0, output
    assert len(list(tmp_path.iterdir())) == 3, output


def test_thread_level(tmp_path: Path) -> None:
    """A job on several nodes with MPI that only one thread may call is an error on every PE."""
    status, output = run_on("thread_level_of_mpi", [1, 1], str(tmp_path))
    assert status == 0, output
    assert len(list(tmp_path.iterdir())) == 2, output


@pytest.mark.parametrize("state", ["not initialised", "finalised"])
def test_mpi_state(state: str) -> None:
    done = run_command([sys.executable, str(program("mpi_state")), state])
    assert done.returncode == 1
    assert re.search(f"IshmemError: ishmem.init.. needs MPI, which is {state}", done.stderr), done.stderr


@pytest.mark.slow("test_network.py::test_places")
def test_irregular_placement(tmp_path: Path) -> None:
    """PEs of a node without a common stride form no team: using it is an error."""
    status, output = run_by_mpi(4, "irregular_placement", str(tmp_path))
    assert status == 0, output
    assert len(list(tmp_path.iterdir())) == 4


@pytest.mark.slow("test_network.py::test_places")
def test_collectives_on_interleaved_nodes(tmp_path: Path) -> None:
    """The members of a node do not have consecutive numbers, as when PEs are dealt out to the nodes in turn."""
    status, output = run_by_mpi(5, "collectives_on_interleaved_nodes", str(tmp_path), timeout=200)
    assert status == 0, output
    assert len(list(tmp_path.iterdir())) == 5


@pytest.mark.parametrize(("how", "status"), [("exit", 7), ("end", 0), ("error", 1), ("exit in C", 7)])
def test_status_for_exit_handlers(how: str, status: int) -> None:
    """Also where C code that Python has called ends the program."""
    done = run_command([sys.executable, str(program("status_for_exit_handlers")), how])
    assert (done.returncode, done.stdout) == (status, f"seen {status}\n"), done.stderr


# ---- the monitor by itself


@contextmanager
def monitors(silence: float) -> Iterator[list[subprocess.Popen[str]]]:
    """Start the monitors of two nodes, both on this machine."""
    started = []
    try:
        for node in range(2):
            command = [sys.executable, "-m", "ishmem.launch.monitor"]
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
            started.append(process)
            config = {
                "job": address(node), "pes": [2 * node, 2 * node + 1], "node": node, "address": address(node),
                "token": "t", "silence": silence, "first": [0, 2],
            }  # fmt: skip
            process.stdin.write(json.dumps(config) + "\n")
            process.stdin.flush()
        listening = [json.loads(process.stdout.readline()) for process in started]
        for node, process in enumerate(started):
            process.stdin.write(json.dumps(listening[0] if node else []) + "\n")
            process.stdin.flush()
        yield started
    finally:
        for process in started:
            process.send_signal(signal.SIGCONT)
            process.kill()
            process.communicate()


def address(node: int) -> str:
    return f"ishmem-test-{os.getpid()}-{node}"


def start_pe(pe: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(program("pe_of_a_monitor")), address(pe // 2), str(pe)], stdout=subprocess.PIPE, text=True
    )


@pytest.mark.slow_cases("test_fault", "kill")
@pytest.mark.parametrize("how", ["kill", "silent"])
def test_monitors(how: str) -> None:
    """PEs hear of the first loss, of a PE or of a node, and end if they do not react."""
    with monitors(silence=0.5 if how == "silent" else 0.0) as started:
        pes = [start_pe(pe) for pe in range(3)]
        try:
            assert [pe.stdout.readline() for pe in pes] == ["connected\n"] * 3
            if how == "kill":
                pes[2].kill()
            else:
                started[1].send_signal(signal.SIGSTOP)
            message = json.loads(pes[0].stdout.readline())
            assert message["pe"] == 2
            assert ("was ended by SIGKILL, on node 1" if how == "kill" else "node 1 (") in message["how"]
            assert message["status"] == (128 + signal.SIGKILL if how == "kill" else 1)
            assert pes[0].wait(20) == -signal.SIGTERM
        finally:
            for pe in pes:
                pe.kill()
                pe.communicate()


def switches(process: int) -> int:
    """Return how often a process has waited."""
    return int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", Path(f"/proc/{process}/status").read_text(), re.M)[1])


def test_monitors_sleep_between_signs_of_life() -> None:
    with monitors(silence=0.0) as started:
        pes = [start_pe(pe) for pe in (0, 2)]
        try:
            assert [pe.stdout.readline() for pe in pes] == ["connected\n"] * 2
            time.sleep(0.5)  # the monitors have connected
            before = [switches(process.pid) for process in started]
            time.sleep(2)
            assert max(switches(process.pid) - each for process, each in zip(started, before)) < 60
        finally:
            for pe in pes:
                pe.kill()
                pe.communicate()
