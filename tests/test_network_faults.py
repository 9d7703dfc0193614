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
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import node_faults
import pytest
import trials
from subprocesses import run_command

from ishmem.testing import nodes


@pytest.mark.parametrize("how", node_faults.HOW)
def test_fault(trial: trials.Trial, how: str) -> None:
    """Every other PE ends or raises ``PeerLost`` with PE and node; the status is kept; nothing is left behind."""
    if "node" in how and not nodes.has_namespaces():
        pytest.skip("needs namespaces")
    draw, outcome = random.Random(how), None
    while outcome is None:  # the job may end before the fault
        outcome = node_faults.one_fault(trial, [2, 2], how, draw)
    assert not outcome.wrong, "\n".join(outcome.wrong)


def test_loss_of_one_of_eight_nodes(trial: trials.Trial) -> None:
    """The loss goes through nodes that are not neighbours of the lost one."""
    if not nodes.has_namespaces():
        pytest.skip("needs namespaces")
    draw, outcome = random.Random(8), None
    while outcome is None:
        outcome = node_faults.one_fault(trial, [2] * 8, "kill node", draw)
    assert not outcome.wrong, "\n".join(outcome.wrong)


def run_on(tmp_path: Path, text: str, sizes: list[int], **env: str) -> tuple[int, str]:
    """Run a program on emulated nodes; return its status and its output."""
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent(text))
    done = run_command(nodes.launcher(sizes, [sys.executable, str(path)]), env=env, timeout=90)
    return done.returncode, done.stdout + done.stderr


def test_a_staged_copy_fails(tmp_path: Path) -> None:
    """When the copy engine fails, the PE whose payloads it stages raises, and the other PE notices its end."""
    text = """
        import os
        import ishmem
        from ishmem import _core
        ishmem.init("8M")
        me = ishmem.my_pe()
        source, dest = (ishmem.zeros(1 << 20, dtype="u1") for _ in range(2))
        ishmem.barrier_all()
        puts = 0
        try:
            while me:
                ishmem.put(dest, source, 0)
                puts += 1
                ishmem.quiet()
            ishmem.barrier_all()
        except Exception as error:
            told = f"told {me} {_core.staged_payloads() == puts > 20} {type(error).__name__} {error}\\n"
            os.write(1, told.encode())  # at once: the PEs share a pipe
            raise SystemExit(5)
        """
    env = {"ISHMEM_SIM_HOST_ATOMICS": "0", "ISHMEM_SIM_FAIL": "copy:100", "ISHMEM_MPI_DEVICE_MEMORY": "off"}
    status, output = run_on(tmp_path, text, [1, 1], **env)
    assert status, output
    assert re.search("told 1 True LevelZeroError zeDeviceGetStatus failed: ZE_RESULT_ERROR_DEVICE_LOST", output), output
    assert re.search("told 0 False PeerLost barrier_all on PE 0: PE 1 is gone", output), output


@pytest.mark.parametrize("then", ["ishmem.finalize()", "pass"])
def test_mpi_finalize_first(tmp_path: Path, then: str) -> None:
    """MPI_Finalize finalises ishmem, whether or not the program calls ``ishmem.finalize`` afterwards."""
    text = """
        from mpi4py import MPI
        import ishmem
        ishmem.init("8M")
        me, n = ishmem.my_pe(), ishmem.n_pes()
        a = ishmem.zeros(1, dtype="i8")
        ishmem.p(a, 5, (me + 1) % n)
        MPI.Finalize()
        assert int(a[0]) == 5
        try:
            ishmem.my_pe()
        except ishmem.StateError as error:
            assert "MPI_Finalize" in str(error)
        THEN
        open(f"{__file__}.{me}", "w").close()
        """
    status, output = run_on(tmp_path, text.replace("THEN", then), [1, 2], ISHMEM_LEAKS="ignore")
    assert status == 0, output
    assert len(list(tmp_path.glob("program.py.*"))) == 3, output


def test_thread_level(tmp_path: Path) -> None:
    """A job on several nodes with MPI that only one thread may call is an error on every PE."""
    text = """
        import mpi4py
        mpi4py.rc.thread_level = "serialized"
        from mpi4py import MPI
        import ishmem
        try:
            ishmem.init("8M")
        except ishmem.IshmemError as error:
            assert "MPI_THREAD_MULTIPLE" in str(error), error
            open(f"{__file__}.{MPI.COMM_WORLD.rank}", "w").close()
        """
    status, output = run_on(tmp_path, text, [1, 1])
    assert status == 0, output
    assert len(list(tmp_path.glob("program.py.*"))) == 2, output


@pytest.mark.parametrize(("before", "words"), [("", "not initialised"), ("MPI.Init(); MPI.Finalize()", "finalised")])
def test_mpi_state(before: str, words: str) -> None:
    program = f"""
import mpi4py
mpi4py.rc.initialize = False
from mpi4py import MPI
{before}
import ishmem
ishmem.init("8M", comm=MPI.COMM_WORLD)
"""
    done = run_command([sys.executable, "-c", program])
    assert done.returncode == 1
    assert re.search(f"IshmemError: ishmem.init.. needs MPI, which is {words}", done.stderr), done.stderr


def test_irregular_placement(tmp_path: Path) -> None:
    """PEs of a node without a common stride form no team: using it is an error."""
    text = """
        import os
        import ishmem
        from ishmem.environment.launcher import launched
        os.environ["ISHMEM_NODE"] = "abaa"[launched().rank]
        with ishmem.init("8M"):
            me = ishmem.my_pe()
            for team in (ishmem.TEAM_NODE, ishmem.TEAM_SHARED):
                try:
                    assert team.n_pes() == 1 and me == 1
                except ishmem.StateError as error:
                    assert "0, 2, 3, have no common stride" in str(error) and me != 1
            half = ishmem.TEAM_WORLD.split_strided(0, 2, 2)
            assert half.handle not in (0, 1, 2) if half else me % 2
            ishmem.barrier_all()
        open(f"{__file__}.{me}", "w").close()
        """
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent(text))
    mpiexec = str(Path(sys.executable).with_name("mpiexec"))
    done = run_command([mpiexec, "-n", "4", sys.executable, str(path)], env=nodes.SETTINGS, timeout=90)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(list(tmp_path.glob("program.py.*"))) == 4


def test_collectives_on_interleaved_nodes(tmp_path: Path) -> None:
    """The members of a node do not have consecutive numbers, as when PEs are dealt out to the nodes in turn."""
    text = """
        import os, sys
        import ishmem
        from ishmem.common.collective_table import COLLECTIVES
        from ishmem.environment.launcher import launched
        sys.path.insert(0, TESTS)
        os.environ["ISHMEM_NODE"] = "abcab"[launched().rank]
        import collective_calls as calls
        import collective_model as model
        with ishmem.init("64M"):
            n = ishmem.n_pes()
            for routine in COLLECTIVES:
                dest, source = calls.arrays(routine, "int64", n, 700)
                for algorithm in ("slot", "rounds", "levels"):
                    calls.force(algorithm)
                    for count in (1, 40, 700):
                        calls.compare(routine, dest, source, ishmem.TEAM_WORLD, count, 3, count)
                ishmem.free(dest), ishmem.free(source)
        open(f"{__file__}.{launched().rank}", "w").close()
        """
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent(text).replace("TESTS", repr(str(Path(__file__).parent))))
    mpiexec = str(Path(sys.executable).with_name("mpiexec"))
    done = run_command([mpiexec, "-n", "5", sys.executable, str(path)], env=nodes.SETTINGS, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(list(tmp_path.glob("program.py.*"))) == 5


EXITS = """
import atexit, ctypes, sys
from ishmem.runtime import exit_status
exit_status.watch()
handler = "atexit.register(lambda: print('seen', exit_status.of_program()))"
exec(handler, {"__name__": "ishmem.setup", "atexit": atexit, "exit_status": exit_status})
try:
    sys.exit(3)
except SystemExit as caught:
    assert caught.code == 3
HOW
"""


BY_C = "ctypes.pythonapi.PyRun_SimpleString(b'import sys; sys.exit(7)')"


@pytest.mark.parametrize(("how", "status"), [("sys.exit(7)", 7), ("pass", 0), ("1 / 0", 1), (BY_C, 7)])
def test_status_for_exit_handlers(how: str, status: int) -> None:
    """Also where C code that Python has called ends the program."""
    done = run_command([sys.executable, "-c", EXITS.replace("HOW", how)])
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
            config = {"node": node, "address": address(node), "token": "t", "silence": silence, "first": [0, 2]}
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


PE = """
import json, socket, sys
connection = socket.socket(socket.AF_UNIX)
connection.connect("\\0" + sys.argv[1])
connection.send(json.dumps({"kind": "hello", "token": "t", "pe": int(sys.argv[2])}).encode() + b"\\n")
print("connected", flush=True)
for line in connection.makefile():
    print(line, end="", flush=True)
"""


def start_pe(pe: int) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", PE, address(pe // 2), str(pe)], stdout=subprocess.PIPE, text=True)


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
