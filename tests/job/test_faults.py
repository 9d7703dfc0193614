"""PEs that die, hang or lack resources: errors on the other PEs, ishmem run's report, and leftovers."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time

import pytest
import trials
from subprocesses import ISHMRUN, place, program, run_at_once, run_command, run_program

from ishmem import dpex, get_uniqueid
from ishmem.testing import fork_server

SMALL = {"ISHMEM_SYMMETRIC_SIZE": "1M"}
WAIT = [str(program("faults")), "", "wait_in_vain"]
LAUNCH = "" if dpex.HAS_NUMBA_DPEX else "call_kernel, "  # numba-dpex compiles its launches

MOMENTS = [
    "before_init", "before_init_one_late", "while_the_heaps exchange_handles", "while_the_heaps attach",
    "between_operations",
    "while_it_waits wait_until", "while_it_waits sync_all", "while_it_waits barrier_all", "with_a_lock",
    "waiting_for_a_lock", "before team_split_strided", "before zeros", "before sum_reduce", "before finalize",
]  # fmt: skip
"""Functions of the program `faults`, with their arguments."""


def faulty(n: int, how: str, what: str, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a function of the program `faults`, with the arguments that follow its name."""
    return run_program(program("faults"), n, how, *what.split(), *arguments, env={**SMALL, **env})


@pytest.mark.parametrize(
    ("moment", "how", "words", "status"),
    [(moment, "SIGKILL", "was ended by SIGKILL", 137) for moment in MOMENTS]
    + [(moment, "0", "exited with status 0", 5) for moment in ("before_init", "before_init_one_late")]
    + [
        ("between_operations", "0", "exited with status 0", 1),
        ("before finalize", "0", "exited with status 0", 1),
        ("between_operations", "7", "exited with status 7", 7),
        ("between_operations", "sys.exit", "it left after an error", 7),
        ("between_operations", "error", "it left after an error", 1),
        ("between_operations", "SIGSEGV", "was ended by SIGSEGV", 139),
    ],
)  # fmt: skip
def test_death(trial: trials.Trial, moment: str, how: str, words: str, status: int) -> None:
    """The other PEs raise who died and how, the job has that exit status, and nothing is left behind.

    A PE that is gone before it was in init, with status 0, is no failure of its own.
    """
    done = faulty(3, how, moment)
    told = sorted(line for line in done.stdout.splitlines() if "told" in line)
    assert [line[:10] for line in told] == ["[0] told 1", "[2] told 1"], done
    assert all(words in line for line in told), done
    assert done.returncode == status, done
    assert how != "error" or "SystemError: mine" in done.stderr, done


def test_forks_are_found(trial: trials.Trial) -> None:
    """PEs that are forks would be found if they stayed."""
    with tempfile.TemporaryFile() as out:
        command = [*ISHMRUN, "-n", "2", *WAIT]
        job = fork_server.start(command, {**os.environ, **SMALL}, out.fileno())
        try:
            while os.pread(out.fileno(), 1000, 0).count(b"ready") < 2:
                assert job.poll() is None
                time.sleep(0.05)
            assert len(trial.processes()) >= 3
            assert len(trial.left(0)) >= 3
        finally:
            fork_server.end(job, 20)


def test_where_the_pes_were(trial: trials.Trial) -> None:
    """ishmem run reports the call of each PE, also of one that is not in ishmem and does not end by itself."""
    done = faulty(4, "SIGKILL", "where_pes_are")
    lines = [line for line in done.stderr.splitlines() if line.startswith("ishmem run:")]
    assert lines[0] == "ishmem run: PE 1 was ended by SIGKILL; ending the other PEs", done
    barrier, wait, sleep = (rf"\S+{place('faults', mark)}" for mark in ("barrier", "wait", "sleep"))
    wanted = [
        rf"  PE 0: barrier_all(?: \(barrier \d+\))?, {barrier}, for [\d.]+ s",
        r"  PE 1: in no wait \(was ended by SIGKILL\)",
        rf"  PE 2: wait_until, element 1 is 0, wanted >= 9 \(zeros of 16 bytes.*\), {wait}, for [\d.]+ s",
        rf"  PE 3: {sleep}",
    ]
    for line, pattern in zip(lines[1:5], wanted):
        assert re.fullmatch("ishmem run: " + pattern, line), done
    assert "ishmem run: not ended within 3 s: PE 3; ending it" in lines, done


def test_a_loss_is_told_while_pe_0_computes(trial: trials.Trial) -> None:
    """No news goes through a PE, whose interpreter may be busy."""
    done = faulty(3, "SIGKILL", "while_pe_0_computes")
    assert re.search(r"^\[2\] told .*PE 1 is gone \(was ended by SIGKILL", done.stdout, re.MULTILINE), done
    assert done.returncode == 137, done


def test_death_in_a_kernel(trial: trials.Trial) -> None:
    done = faulty(3, "SIGALRM", "in_a_kernel")
    assert sorted(line[:10] for line in done.stdout.splitlines()) == ["[0] told 1", "[2] told 1"], done
    assert done.returncode == 128 + signal.SIGALRM, done


def test_a_kernel_that_waits_for_the_dead(trial: trials.Trial) -> None:
    """The kernel cannot raise; ishmem run reports where the PE is and ends it."""
    done = faulty(3, "SIGKILL", "beside_a_kernel")
    assert [line[:10] for line in done.stdout.splitlines()] == ["[2] told 1"], done
    assert done.returncode == 128 + signal.SIGKILL, done
    at = place("faults", "kernel")
    assert re.search(rf"PE 0: {LAUNCH}\S*{at}; kernel wait, faults.py:\d+: ", done.stderr), done
    assert "not ended within 3 s: PE 0" in done.stderr, done


@pytest.mark.slow("test_death; what a kernel waits for: test_kernel_waits.py")
@pytest.mark.parametrize(
    ("call", "waits_for"),
    [("dispatch", "element 1 of the variable is 0, wanted"), ("all_reduce", "PE 1 has not begun call 2 of the team")],
)
def test_death_in_inference(trial: trials.Trial, call: str, waits_for: str) -> None:
    """The kernels of the other PEs wait in vain: ishmem run reports for what, and ends them."""
    done = run_program(program("faults"), 3, "SIGKILL", "in_inference", call)
    assert done.returncode == 128 + signal.SIGKILL, done
    at = place("faults", "inference")
    for pe in (0, 2):
        line = rf"PE {pe}: wait, \S*{at}, for [\d.]+ s in a kernel or other compiled code; a kernel: {waits_for}"
        assert re.search(line, done.stderr), done
    assert "PE 1 was ended by SIGKILL" in done.stderr, done


def test_hang(trial: trials.Trial) -> None:
    """Every wait raises, with the call sites of all PEs."""
    done = faulty(3, "", "hang", ISHMEM_TIMEOUT="6")
    assert done.returncode == 5, done
    lines = sorted(done.stdout.splitlines())
    assert [line[:8] for line in lines] == [f"[{pe}] told" for pe in range(3)], done
    for line in lines:
        assert "ISHMEM_TIMEOUT, 6 s, is over" in line
        assert re.search(r"\|  PE 0: barrier_all(?: \(barrier \d+\))?, \S+faults.py:\d+, for [\d.]+ s\|", line), done
        assert re.search(r"\|  PE 1: wait_until_all, 2 variables, wanted != 0 .*faults.py:\d+, for [\d.]+", line), done
        assert re.search(r"\|  PE 2: set_lock, element 0, which PE 0 has, \S+faults.py:\d+, for [\d.]+ s", line), done


def test_no_hang(trial: trials.Trial) -> None:
    """Shorter waits and time outside ishmem raise nothing."""
    done = faulty(2, "", "come_late", ISHMEM_TIMEOUT="30")
    assert (done.returncode, done.stderr) == (0, ""), done


@pytest.mark.slow("commoner faults: test_death, test_hang")
def test_killed_while_compiling(trial: trials.Trial) -> None:
    """No file stays, and no process."""
    done = faulty(1, "", "while_compiling", **{**trial.environment(), "ISHMEM_KERNEL_CACHE": "off"})
    assert done.returncode == 128 + signal.SIGKILL, done
    assert not trial.left()


@pytest.mark.slow("test_hang, test_first_day.py::test_a_hung_kernel_without_launcher")
def test_hang_in_kernels(trial: trials.Trial) -> None:
    """ishmem run detects the hang, and each PE raises its report."""
    done = faulty(2, "", "hang_in_kernels", ISHMEM_TIMEOUT="6")
    assert done.returncode == 124, done
    assert "ishmem run: ISHMEM_TIMEOUT, 6 s, is over" in done.stderr, done
    report = rf"ishmem run:   PE \d: {LAUNCH}\S+{place('faults', 'kernel')}, for [\d.]+ s in a kernel"
    assert len(re.findall(report, done.stderr)) == 2, done
    assert done.stderr.count("WaitTimeout: PE ") == 2, done


def test_kernels_in_turn(trial: trials.Trial) -> None:
    """On a device with one compute engine, the report names the kernel that waits and the one behind it."""
    env = {**SMALL, "ISHMEM_TIMEOUT": "6", "ISHMEM_SIM_ENGINES": "1"}
    done = run_program(program("kernels_in_turn"), 1, "one", env=env)
    assert done.returncode and "ended" not in done.stdout, done
    assert "wait_until: element 0 of flag is 0, wanted == 1; the device has one compute engine" in done.stderr, done
    assert "of the kernels waiter, setter, one that waits for a later one never ends" in done.stderr, done


@pytest.mark.slow("test_first_day.py::test_a_hung_kernel_without_launcher")
def test_hang_without_launcher(trial: trials.Trial) -> None:
    """The PEs share the status board that PE 0 has created."""
    command = [sys.executable, str(program("faults")), "", "hang_without_launcher", get_uniqueid()]
    env = {**os.environ, **SMALL, "ISHMEM_TIMEOUT": "6"}  # the first zeros imports dpnp
    for each in run_at_once([([*command, str(pe)], env) for pe in range(2)], timeout=60):
        assert each.returncode == 1
        assert all(f"PE {pe}: wait_until, element 0 is 0, wanted == 1" in each.stderr for pe in range(2)), each


# ---- the user ends the job


@pytest.mark.slow_cases("the other signal", "15")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_to_ishmem_run(trial: trials.Trial, number: signal.Signals) -> None:
    command = [*ISHMRUN, "-n", "2", *WAIT]
    job = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **SMALL}
    )
    assert job.stdout
    assert {job.stdout.readline(), job.stdout.readline()} == {"[0] ready\n", "[1] ready\n"}
    job.send_signal(number)
    try:
        errors = job.communicate(timeout=60)[1]
    finally:
        job.kill()
    assert job.returncode in (128 + number, 1), errors


@pytest.mark.slow("test_init_finalize.py::test_two_jobs_on_the_same_devices")
def test_short_jobs(trial: trials.Trial) -> None:
    from long_runs import run_job

    for _ in range(4):
        assert not run_job(trial, 2)


# ---- what is missing, and what is there already


def limited(options: str, name: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a function of the program `faults` on 2 PEs with limits of the shell."""
    command = f"{options}; exec {shlex.join(ISHMRUN)} -n 2 {program('faults')} '' {name}"
    return run_command(["bash", "-c", command], env={**SMALL, **env})


@pytest.mark.slow("commoner faults: test_death, test_hang")
def test_few_file_descriptors(trial: trials.Trial) -> None:
    """init raises the soft limit; test_run.py has the hard one."""
    assert limited("ulimit -Sn 15", "fine").stdout.count("fine") == 2
    done = limited("true", "with_few_file_descriptors", ISHMEM_INIT_TIMEOUT="5")
    assert done.returncode == 1
    assert re.search("Too many open files|ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY", done.stderr), done


@pytest.mark.slow("commoner faults: test_death, test_hang")
def test_little_memory(trial: trials.Trial) -> None:
    done = limited("true", "fine", ISHMEM_SYMMETRIC_SIZE="64M", ISHMEM_SIM_MEMORY="32M")
    assert done.returncode == 1
    assert done.stderr.count("lower ISHMEM_SYMMETRIC_SIZE or heap_size=") >= 2, done
    done = limited("ulimit -v 8000000", "fine", ISHMEM_SYMMETRIC_SIZE="8G")
    assert done.returncode == 1
    assert re.search(r"memory|does not fit", done.stderr), done


@pytest.mark.slow("commoner faults: test_death, test_hang")
def test_a_program_and_a_job_within_a_pe(trial: trials.Trial) -> None:
    """The environment of the outer job does not make the program one of its PEs."""
    done = faulty(1, "", "with_jobs_of_its_own")
    assert done.stdout.splitlines() == ["[0] ['alone 0 1'] ", "[0] ['[0] alone 0 2', '[1] alone 1 2'] "], done


def test_a_pe_that_is_asked_where_it_is_goes_on() -> None:
    """Whether Python runs, whose frames change meanwhile, or other code holds the interpreter."""
    done = faulty(2, "", "asked_where_it_is")
    assert done.returncode == 0, done.stderr
    _prefix, places, answer = done.stdout.split(maxsplit=2)
    assert int(places) > 1
    assert place("faults", "held") in answer


def test_a_pe_that_is_asked_while_it_ends_goes_on() -> None:
    done = faulty(1, "", "asked_while_it_ends")
    assert (done.returncode, done.stdout) == (0, "[0] goes on\n"), done.stderr
