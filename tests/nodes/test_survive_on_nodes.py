"""Jobs on several nodes that go on after a loss: ``ishmem run --survive --hosts``."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import test_survive
import trials
from login import Login
from subprocesses import program

from ishmem.testing import nodes

OPTIONS = ("--survive", "--hosts", "node0:2,node1:2", "--sim", "2", "--timeout", "100")


@pytest.fixture
def run(login: Login, trial: trials.Trial) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Return a function that runs one of `tests/programs` on 2 + 2 PEs."""
    env = {trials.MARK: trial.mark, "TMPDIR": trial.folder}
    return lambda name, *words, **how: login.ishmem_run(*OPTIONS, str(program(name)), *words, env=env, **how)


@pytest.mark.slow_cases("other PEs", "survivors-32")
@pytest.mark.slow_cases("all PEs of a node", "survivors-03")
@pytest.mark.parametrize(
    ("name", "victims"),
    [("survivors", "1"), ("survivors", "03"), ("survivors", "32"), ("kernels_of_survivors", "1")],
)
def test_those_that_are_left_go_on(run: test_survive.Run, name: str, victims: str) -> None:
    """The first PE of a node, all PEs of a node, and one whose loss leaves a team without a stride."""
    test_survive.check_left(run(name, *victims), 4, victims, " on node{}")


@pytest.mark.parametrize(("when", "told"), [("inside", 3), ("after", 0)])
def test_threads_of_a_failed_program_do_not_keep_the_job(run: test_survive.Run, when: str, told: int) -> None:
    test_survive.check_failed_with_a_thread(run, when, told)


def test_a_signal_of_the_user_ends_the_job(run: test_survive.Run) -> None:
    done = run("lost_node", signal=signal.SIGINT, after="begun")
    # 3: a PE has lost another one, which the signal had ended, before it got the signal itself.
    assert done.returncode in (1, 3) and "SIGINT passed on to the PEs" in done.stderr, done


@pytest.mark.slow("tests/job/test_survive.py")
@pytest.mark.parametrize(("victim", "rule"), [(1, "reroute"), (2, "drop")])
def test_serving(run: test_survive.Run, victim: int, rule: str) -> None:
    test_survive.serve(run, victim, 0.3, rule)


@pytest.mark.slow("test_serving")
@pytest.mark.timeout(3600)
def test_serving_after_many_kills(run: test_survive.Run) -> None:
    test_survive.serve_often(run, 40, 2)


def break_node(how: str, folder: Path) -> tuple[int, str]:
    """Run a job, break its second node once all PEs have begun; return its status and its output."""
    if not nodes.has_namespaces():
        pytest.skip("no namespaces for emulated nodes")
    pipe = folder / "faults"
    os.mkfifo(pipe)
    command = ["ishmem", "run", *OPTIONS, str(program("lost_node"))]
    words = [*nodes.COMMAND, "--faults", str(pipe), "--login", "1+1", nodes.COMMAND[0], "-m", *command]
    env = {**os.environ, "ISHMEM_NODE_TIMEOUT": "3"}
    with subprocess.Popen(words, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as job:
        assert job.stdout is not None
        with pipe.open("w") as faults:
            out = ""
            while out.count("begun") < 4 and (line := job.stdout.readline()):
                out += line
            faults.write(f"{how} 1\n")
            faults.flush()
            out += job.stdout.read()
    return job.returncode, out


def test_a_node_that_is_cut_off(trial: trials.Trial, tmp_path: Path) -> None:
    status, out = break_node("cut", tmp_path)
    assert (status, out.count("left 2")) == (0, 2), out


def test_a_daemon_that_ends(trial: trials.Trial, tmp_path: Path) -> None:
    """MPICH's mpiexec ends the job; one sentence says so."""
    status, out = break_node("kill", tmp_path)
    assert status and "a job does not survive the end of its daemon on a node" in out, (status, out)


def test_what_is_refused(login: Login, trial: trials.Trial, tmp_path: Path) -> None:
    text = "import ishmem\nishmem.init(on_loss='continue')"
    done = login.ishmem_run("--hosts", "node0,node1", "-n", "2", "--sim", "1", "-c", text)
    assert done.returncode and "or of ishmem run --survive --hosts, which count the PEs" in done.stderr, done
