"""Jobs that go on after a loss: ``init(on_loss="continue")``, ``ishmem run --survive``."""

from __future__ import annotations

import random
import re
import subprocess
from collections.abc import Callable

import pytest
import trials
from subprocesses import program, run_program

from ishmem.environment import card

SURVIVE = ("--survive",)


def check_left(done: subprocess.CompletedProcess[str], n: int, victims: str, where: str = "") -> None:
    """Assert that the PEs but the victims have ended well."""
    assert sorted(done.stdout.splitlines()) == [f"[{pe}] fine" for pe in range(n) if str(pe) not in victims], done
    assert done.returncode == 0, done
    for victim in victims:
        ended = f"PE {victim}{where.format(int(victim) // 2)} was ended by SIGKILL; the other PEs go on"
        assert ended in done.stderr, done


@pytest.mark.parametrize(
    ("name", "n", "victims"),
    [
        ("survivors", 4, "1"),
        ("survivors", 4, "0"),
        ("survivors", 4, "31"),
        ("kernels_of_survivors", 4, "1"),
        ("deep_ep_after_a_loss", 3, "1"),
    ],
)
def test_those_that_are_left_go_on(trial: trials.Trial, name: str, n: int, victims: str) -> None:
    """Waits of kernels end, too, and ranks of DeepEP are masked."""
    check_left(run_program(program(name), n, *victims, options=SURVIVE), n, victims)


@pytest.mark.slow("the same on the simulator")
@pytest.mark.skipif(bool(card.problem()), reason=f"no emulated card: {card.problem()}")
def test_waits_of_kernels_end_on_a_card(trial: trials.Trial) -> None:
    card_options, env = (*SURVIVE, "--card", "b580"), {"ISHMEM_DEVICE": "auto"}
    done = run_program(program("kernels_of_survivors"), 4, env=env, timeout=300, options=card_options, forked=False)
    check_left(done, 4, "1")


Run = Callable[..., "subprocess.CompletedProcess[str]"]


def serve(run: Run, victim: int, delay: float, rule: str) -> None:
    """Serve, kill a PE after some seconds, and check what the others have done, and how soon."""
    arguments = (str(victim), f"{delay:.3f}", "8", rule)
    done = run("serving_after_a_loss", *arguments)
    times = [float(each) for each in re.findall(r"went on after ([\d.]+) s", done.stdout)]
    assert done.stdout.count("served") == len(times) == 3, (arguments, done)
    assert done.returncode == 0, (arguments, done)
    print(f"killed PE {victim} after {delay:.3f} s, {rule}: the others went on after {max(times):.2f} s")


def serve_often(run: Run, count: int, seed: int) -> None:
    """Serve so many times; kill any PE at any time."""
    chance = random.Random(seed)
    for _ in range(count):
        serve(run, chance.randrange(4), chance.random(), chance.choice(["reroute", "drop"]))


def check_failed_with_a_thread(run: Run, when: str, told: int) -> None:
    """Assert that threads of a failed program do not keep the job."""
    done = run("fails_with_a_thread", when)
    assert done.returncode == 0 and len(done.stdout.splitlines()) == told, done
    assert "timed out" not in done.stderr, done


def on_four(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run_program(program(name), 4, *arguments, options=(*SURVIVE, "--timeout", "100"))


@pytest.mark.parametrize(("victim", "rule"), [(2, "reroute"), (0, "drop")])
def test_serving(trial: trials.Trial, victim: int, rule: str) -> None:
    serve(on_four, victim, 0.3, rule)


@pytest.mark.slow("test_serving")
@pytest.mark.timeout(3600)
def test_serving_after_many_kills(trial: trials.Trial) -> None:
    serve_often(on_four, 100, 1)


@pytest.mark.parametrize(("when", "told"), [("inside", 3), ("after", 0)])
def test_threads_of_a_failed_program_do_not_keep_the_job(trial: trials.Trial, when: str, told: int) -> None:
    check_failed_with_a_thread(on_four, when, told)


def test_a_job_where_all_die(trial: trials.Trial) -> None:
    text = "import ishmem, sys\nishmem.init(on_loss='continue')\nishmem.barrier_all()\nsys.exit(7)"
    done = run_program(text, 2)
    assert done.returncode == 7, done


def test_what_is_refused() -> None:
    text = "import ishmem\nwith ishmem.init(): ishmem.shrink()"
    assert "shrink: this job ends with the first loss" in run_program(text, 2).stderr
    text = "import ishmem, os\nishmem.init(on_loss=['end', 'continue'][int(os.environ['ISHMEM_PE'])])"
    assert "different answers to a loss: end on PE 0; continue on PE 1" in run_program(text, 2).stderr
    text = "import ishmem\nishmem.init(on_loss='ignore')"
    assert "ISHMEM_ON_LOSS: got 'ignore', allowed: end or continue" in run_program(text, 1).stderr
