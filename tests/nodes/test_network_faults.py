"""Ends of jobs over MPI: PEs and nodes that fail, MPI that ends first, and MPI in an unsuitable state.

``python tests/reliability nodes`` repeats the faults at random moments.
"""

from __future__ import annotations

import contextlib
import random
import re
import sys
from pathlib import Path

import pytest
import random_faults
import trials
from subprocesses import program, run_command
from test_network import run_on_nodes

from ishmem.common.errors import IshmemError
from ishmem.ipc import wire
from ishmem.runtime import network
from ishmem.testing import nodes


@pytest.mark.slow_cases("other faults", "kill-2")
@pytest.mark.slow_cases("test_hosts.py::test_end", "exit-2")
@pytest.mark.slow_cases("the same by a cut network", "kill node-2")
@pytest.mark.slow_cases("on two nodes", "kill node-8")
@pytest.mark.slow_cases("test_network.py::test_error_ends_all", "raise-2")
@pytest.mark.parametrize(("how", "count"), [*((how, 2) for how in random_faults.HOW), ("kill node", 8)])
def test_fault(trial: trials.Trial, how: str, count: int) -> None:
    """Every other PE ends or raises ``PeerLost`` with PE and node; the status is kept; nothing is left behind.

    The loss of one of 8 nodes goes through nodes that are not its neighbours.
    """
    if "node" in how and not nodes.has_namespaces():
        pytest.skip("needs namespaces")
    draw, outcome = random.Random(how), None
    while outcome is None:  # the job may end before the fault
        outcome = random_faults.one_fault(trial, [2] * count, how, draw)
    assert not outcome.wrong, "\n".join(outcome.wrong)


@pytest.mark.parametrize("call", ["get", "atomic_fetch"])
def test_a_wait_for_another_node_is_named(call: str) -> None:
    """The function of a routine in the core has no frame that a report could name."""
    _status, text = run_on_nodes("waits_for_another_node", [1, 1], call, ISHMEM_WAIT_NOTICE="1")
    assert re.search(rf"PE 0: {call}, \S+waits_for_another_node.py:\d+, for \d", text), text


def run_by_mpi(n: int, name: str, *args: str, timeout: float = 90) -> tuple[int, str]:
    """Run one of `tests/programs` by mpiexec; return its status and its output."""
    mpiexec = str(Path(sys.executable).with_name("mpiexec"))
    command = [mpiexec, "-n", str(n), sys.executable, str(program(name)), *args]
    done = run_command(command, env=nodes.SETTINGS, timeout=timeout)
    return done.returncode, done.stdout + done.stderr


def test_a_staged_copy_fails() -> None:
    """When the copy engine fails, the PE whose payloads it stages raises, and the other PE notices its end."""
    env = {"ISHMEM_SIM_HOST_ATOMICS": "0", "ISHMEM_SIM_FAIL": "copy:100", "ISHMEM_MPI_DEVICE_MEMORY": "off"}
    status, output = run_on_nodes("staged_copy_fails", [1, 1], **env)
    assert status, output
    assert re.search("told 1 True LevelZeroError zeDeviceGetStatus failed: ZE_RESULT_ERROR_DEVICE_LOST", output), output
    assert re.search("told 0 False PeerLost barrier_all on PE 0: PE 1 is gone", output), output


@pytest.mark.slow_cases("the same without ishmem.finalize", "both are finalised")
@pytest.mark.parametrize("way", ["both are finalised", "one is finalised", "serialized"])
def test_mpi_of_the_program(tmp_path: Path, way: str) -> None:
    """MPI_Finalize finalises ishmem, also where the program calls ``ishmem.finalize`` afterwards; MPI that only one
    thread may call is an error on every PE of a job on several nodes.
    """
    status, output = run_on_nodes("mpi_of_the_program", [1, 2], way, str(tmp_path), ISHMEM_LEAKS="ignore")
    assert status == 0, output
    assert len(list(tmp_path.iterdir())) == 3, output


@pytest.mark.parametrize("state", ["not initialised", "finalised"])
def test_mpi_state(state: str) -> None:
    done = run_command([sys.executable, str(program("mpi_of_the_program")), f"MPI is {state}"])
    assert done.returncode == 1
    assert re.search(f"IshmemError: ishmem.init.. needs MPI, which is {state}", done.stderr), done.stderr


@pytest.mark.slow("test_network.py::test_operations[check_places]")
@pytest.mark.parametrize("node_of_each", ["abaa", "abcab"])
def test_placement(tmp_path: Path, node_of_each: str) -> None:
    """PEs of a node without a common stride, which form no team, and members of a node that are dealt out in turn."""
    status, output = run_by_mpi(len(node_of_each), "irregular_placement", node_of_each, str(tmp_path), timeout=200)
    assert status == 0, output
    assert len(list(tmp_path.iterdir())) == len(node_of_each)


@pytest.mark.parametrize(
    ("when", "told"), [("init", "init failed; PE 1"), ("after", "nothing catches this")]
)
def test_threads_of_a_failed_program_do_not_keep_the_job(when: str, told: str) -> None:
    status, output = run_by_mpi(2, "fails_with_a_thread", when)
    assert status and told in output, (status, output)


EXIT = """
import atexit, ctypes, sys
from ishmem.runtime import program_status
program_status.watch_status()
handler = "atexit.register(lambda: print('seen', program_status.status()))"
exec(handler, {"__name__": "ishmem.runtime.leave_job", "atexit": atexit, "program_status": program_status})
try:
    sys.exit(3)
except SystemExit as caught:
    assert caught.code == 3
"""
IN_C = "ctypes.pythonapi.PyRun_SimpleString(b'import sys; sys.exit(7)')"


@pytest.mark.parametrize(("how", "status"), [("sys.exit(7)", 7), ("", 0), ("1 / 0", 1), (IN_C, 7)])
def test_status_for_exit_handlers(how: str, status: int) -> None:
    """Also where C code that Python has called ends the program."""
    done = run_command([sys.executable, "-c", EXIT + how])
    assert (done.returncode, done.stdout) == (status, f"seen {status}\n"), done.stderr


def test_connections_of_strangers_do_not_hold_up_those_of_pes(monkeypatch: pytest.MonkeyPatch) -> None:
    token = b"secret"
    with wire.listen_tcp() as listener, contextlib.ExitStack() as ends:
        port = listener.getsockname()[1]
        _silent, wrong, right = (ends.enter_context(wire.connect_tcp(["127.0.0.1"], port)) for _ in range(3))
        wrong.sendall(b"another" + bytes(3))
        right.sendall(token + (1).to_bytes(4, "little"))
        (found,) = network.accept_peers(listener, token, {1}).values()
        found.sendall(b"welcome")
        assert right.recv(7) == b"welcome"
        found.close()
        monkeypatch.setattr(network, "_CONNECT", 0.1)
        with pytest.raises(IshmemError, match=r"no connection from PE 2 for 0\.1 s"):
            network.accept_peers(listener, token, {2})
