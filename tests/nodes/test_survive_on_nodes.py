"""Jobs on several nodes that go on after a loss: ``ishmem run --survive --hosts``."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
import trials
from login import Login
from subprocesses import program

from ishmem.testing import nodes

OPTIONS = ("--survive", "--hosts", "node0:2,node1:2", "--sim", "2", "--timeout", "100")


def run(
    login: Login, trial: trials.Trial, name: str, *arguments: str, **options: Any
) -> subprocess.CompletedProcess[str]:
    env = {trials.MARK: trial.mark, "TMPDIR": trial.folder}
    return login.ishmem_run(*OPTIONS, str(program(name)), *arguments, env=env, **options)


@pytest.mark.slow_cases("other PEs", "victims1")
@pytest.mark.slow_cases("all PEs of a node", "victims0")
@pytest.mark.parametrize("victims", [("1",), ("0", "3"), ("3", "2")])
def test_those_that_are_left_go_on(login: Login, trial: trials.Trial, victims: tuple[str, ...]) -> None:
    """The first PE of a node, all PEs of a node, and one whose loss leaves a team without a stride."""
    done = run(login, trial, "survivors", *victims)
    assert sorted(done.stdout.splitlines()) == [f"[{pe}] fine" for pe in range(4) if str(pe) not in victims], done
    assert done.returncode == 0, done
    for victim in victims:
        assert f"PE {victim} on node{int(victim) // 2} was ended by SIGKILL; the other PEs go on" in done.stderr, done


def test_waits_of_kernels_end(login: Login, trial: trials.Trial) -> None:
    done = run(login, trial, "kernels_of_survivors")
    assert sorted(done.stdout.splitlines()) == [f"[{pe}] fine" for pe in (0, 2, 3)], done
    assert done.returncode == 0, done


@pytest.mark.parametrize(("when", "told"), [("inside", 3), ("after", 0)])
def test_threads_of_a_failed_program_do_not_keep_the_job(
    login: Login, trial: trials.Trial, when: str, told: int
) -> None:
    done = run(login, trial, "fails_with_a_thread", when)
    assert done.returncode == 0 and len(done.stdout.splitlines()) == told, done
    assert "timed out" not in done.stderr, done


def test_a_signal_of_the_user_ends_the_job(login: Login, trial: trials.Trial) -> None:
    done = run(login, trial, "lost_node", signal=signal.SIGINT, after="begun")
    # 3: a PE has lost another one, which the signal had ended, before it got the signal itself.
    assert done.returncode in (1, 3) and "SIGINT passed on to the PEs" in done.stderr, done


def serve(login: Login, trial: trials.Trial, victim: int, delay: float, rule: str) -> None:
    """Serve, kill a PE after some seconds, and check what the others have done."""
    arguments = (str(victim), f"{delay:.3f}", "8", rule)
    done = run(login, trial, "serving_after_a_loss", *arguments)
    times = [float(each) for each in re.findall(r"went on after ([\d.]+) s", done.stdout)]
    assert done.stdout.count("served") == len(times) == 3, (arguments, done)
    assert done.returncode == 0, (arguments, done)
    print(f"killed PE {victim} after {delay:.3f} s, {rule}: the others went on after {max(times):.2f} s")


@pytest.mark.slow_cases("tests/job/test_survive.py", "1-reroute")
@pytest.mark.slow_cases("the other one", "2-drop")
@pytest.mark.parametrize(("victim", "rule"), [(1, "reroute"), (2, "drop")])
def test_serving(login: Login, trial: trials.Trial, victim: int, rule: str) -> None:
    serve(login, trial, victim, 0.3, rule)


@pytest.mark.slow("test_serving")
@pytest.mark.timeout(3600)
def test_serving_after_many_kills(login: Login, trial: trials.Trial) -> None:
    chance = random.Random(2)
    for _ in range(40):
        serve(login, trial, chance.randrange(4), chance.random(), chance.choice(["reroute", "drop"]))


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
