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
LAUNCH = "" if dpex.HAS_NUMBA_DPEX else "call_kernel, "  # numba-dpex compiles its launches

MOMENTS = [
    "before_init", "before_init_one_late", "while_exchanging", "while_mapping", "between_operations", "in_a_wait",
    "in_a_sync", "in_a_barrier", "with_a_lock", "waiting_for_a_lock", "in_a_team_split", "in_an_allocation",
    "in_a_collective", "in_a_reduction", "before_finalize",
]  # fmt: skip
"""Functions of the program `death`."""


def words(how: str) -> str:
    return f"was ended by {how}" if how.startswith("SIG") else f"exited with status {how}"


def status(how: str) -> int:
    return 128 + signal.Signals[how] if how.startswith("SIG") else int(how) or 1


@pytest.mark.parametrize(
    ("moment", "how"),
    [(moment, "SIGKILL") for moment in MOMENTS]
    + [("between_operations", how) for how in ("SIGSEGV", "0", "7")]
    + [(moment, "0") for moment in ("before_init", "before_init_one_late", "before_finalize")]
    + [("while_mapping", "7"), ("in_a_wait", "SIGSEGV")],
)  # fmt: skip
def test_death(trial: trials.Trial, moment: str, how: str) -> None:
    """The other PEs raise who died and how, the job has that exit status, and nothing is left behind."""
    done = run_program(program("death"), 3, how, moment, env=SMALL)
    told = sorted(line for line in done.stdout.splitlines() if "told" in line)
    assert [line[:10] for line in told] == ["[0] told 1", "[2] told 1"], done
    assert all(words(how) in line for line in told), done
    # A PE that is gone before it was in init, with status 0, is no failure of its own.
    assert done.returncode == (5 if moment.startswith("before_init") and how == "0" else status(how)), done


def test_forks_are_found(trial: trials.Trial) -> None:
    """PEs that are forks would be found if they stayed."""
    with tempfile.TemporaryFile() as out:
        command = [*fork_server.ISHMRUN, "-n", "2", str(program("wait_in_vain"))]
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
    done = run_program(program("where_pes_are"), 4, "SIGKILL", env=SMALL)
    lines = [line for line in done.stderr.splitlines() if line.startswith("ishmem run:")]
    assert lines[0] == "ishmem run: PE 1 was ended by SIGKILL; ending the other PEs", done
    barrier, wait, sleep = (rf"\S+{place('where_pes_are', mark)}" for mark in ("barrier", "wait", "sleep"))
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
    done = run_program(program("loss_while_pe_0_computes"), 3, env=SMALL)
    assert re.search(r"^\[2\] told .*PE 1 is gone \(was ended by SIGKILL", done.stdout, re.MULTILINE), done
    assert done.returncode == status("SIGKILL"), done


def test_death_in_a_kernel(trial: trials.Trial) -> None:
    done = run_program(program("death_and_kernels"), 3, "SIGALRM", env=SMALL)
    assert sorted(line[:10] for line in done.stdout.splitlines()) == ["[0] told 1", "[2] told 1"], done
    assert done.returncode == 128 + signal.SIGALRM, done


def test_a_kernel_that_waits_for_the_dead(trial: trials.Trial) -> None:
    """The kernel cannot raise; ishmem run reports where the PE is and ends it."""
    done = run_program(program("death_and_kernels"), 3, "SIGKILL", env=SMALL)
    assert [line[:10] for line in done.stdout.splitlines()] == ["[2] told 1"], done
    assert done.returncode == 128 + signal.SIGKILL, done
    at = place("death_and_kernels", "kernel")
    assert re.search(rf"PE 0: {LAUNCH}\S*{at}; kernel wait, death_and_kernels.py:\d+: ", done.stderr), done
    assert "not ended within 3 s: PE 0" in done.stderr, done


@pytest.mark.slow("test_death; what a kernel waits for: test_kernel_waits.py")
@pytest.mark.parametrize(
    ("call", "waits_for"),
    [("dispatch", "element 1 of the variable is 0, wanted"), ("all_reduce", "PE 1 has not begun call 2 of the team")],
)
def test_death_in_inference(trial: trials.Trial, call: str, waits_for: str) -> None:
    """The kernels of the other PEs wait in vain: ishmem run reports for what, and ends them."""
    done = run_program(program("death_in_inference"), 3, "SIGKILL", call)
    assert done.returncode == 128 + signal.SIGKILL, done
    at = place("death_in_inference", "wait")
    for pe in (0, 2):
        line = rf"PE {pe}: wait, \S*{at}, for [\d.]+ s in a kernel or other compiled code; a kernel: {waits_for}"
        assert re.search(line, done.stderr), done
    assert "PE 1 was ended by SIGKILL" in done.stderr, done


def test_hang(trial: trials.Trial) -> None:
    """Every wait raises, with the call sites of all PEs."""
    done = run_program(program("hang"), 3, env={**SMALL, "ISHMEM_TIMEOUT": "6"})
    assert done.returncode == 5, done
    lines = sorted(done.stdout.splitlines())
    assert [line[:8] for line in lines] == [f"[{pe}] hang" for pe in range(3)], done
    for line in lines:
        assert "ISHMEM_TIMEOUT, 6 s, is over" in line
        assert re.search(r"\|  PE 0: barrier_all(?: \(barrier \d+\))?, \S+hang.py:\d+, for [\d.]+ s\|", line), done
        assert re.search(r"\|  PE 1: wait_until_all, 2 variables, wanted != 0 .*hang.py:\d+, for [\d.]+ s", line), done
        assert re.search(r"\|  PE 2: set_lock, element 0, which PE 0 has, \S+hang.py:\d+, for [\d.]+ s", line), done


def test_no_hang(trial: trials.Trial) -> None:
    """Shorter waits and time outside ishmem raise nothing."""
    done = run_program(program("no_hang"), 2, env={**SMALL, "ISHMEM_TIMEOUT": "30"})
    assert (done.returncode, done.stderr) == (0, ""), done


@pytest.mark.slow("commoner faults: test_death, test_hang")
def test_killed_while_compiling(trial: trials.Trial) -> None:
    """No file stays, and no process."""
    environment = {**trial.environment(), **SMALL, "ISHMEM_KERNEL_CACHE": "off"}
    done = run_program(program("killed_while_compiling"), 1, env=environment, timeout=30)
    assert done.returncode == 128 + signal.SIGKILL, done
    assert not trial.left()


@pytest.mark.slow("test_hang, test_first_day.py::test_a_hung_kernel_without_launcher")
def test_hang_in_kernels(trial: trials.Trial) -> None:
    """ishmem run detects the hang, and each PE raises its report."""
    done = run_program(program("hang_in_kernels"), 2, env={**SMALL, "ISHMEM_TIMEOUT": "6"})
    assert done.returncode == 124, done
    assert "ishmem run: ISHMEM_TIMEOUT, 6 s, is over" in done.stderr, done
    report = rf"ishmem run:   PE \d: {LAUNCH}\S+{place('hang_in_kernels', 'kernel')}, for [\d.]+ s in a kernel"
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
    command = [sys.executable, str(program("hang_by_unique_id")), get_uniqueid()]
    env = {**os.environ, **SMALL, "ISHMEM_TIMEOUT": "6"}  # the first zeros imports dpnp
    for each in run_at_once([([*command, str(pe)], env) for pe in range(2)], timeout=60):
        assert each.returncode == 1
        assert all(f"PE {pe}: wait_until, element 0 is 0, wanted == 1" in each.stderr for pe in range(2)), each


# ---- the user ends the job


@pytest.mark.slow_cases("the other signal", "15")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_to_ishmem_run(trial: trials.Trial, number: signal.Signals) -> None:
    command = [*ISHMRUN, "-n", "2", str(program("wait_in_vain"))]
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


def test_broken_pipe(trial: trials.Trial) -> None:
    command = f"{shlex.join(ISHMRUN)} -n 2 {program('flood')} | head -1"
    done = run_command(["sh", "-c", command], env=SMALL)
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 1), done


@pytest.mark.slow("test_two_jobs_at_once")
def test_short_jobs(trial: trials.Trial) -> None:
    from jobs import run

    for _ in range(4):
        assert not run(trial, 2)


# ---- what is missing, and what is there already


def limited(options: str, n: int, name: str, **env: str) -> subprocess.CompletedProcess[str]:
    command = f"{options}; exec {shlex.join(ISHMRUN)} -n {n} {program(name)}"
    return run_command(["bash", "-c", command], env={**SMALL, **env})


@pytest.mark.slow("commoner faults: test_death, test_hang")
def test_few_file_descriptors(trial: trials.Trial) -> None:
    """init raises the soft limit; an error names the hard limit."""
    assert limited("ulimit -Sn 15", 2, "fine").stdout.count("fine") == 2
    for limit in (8, 13):
        done = limited(f"ulimit -n {limit}", 4, "fine")
        assert done.returncode == 2
        words = rf"Too many open files; a process may open {limit} files \(see ulimit -Hn\)"
        assert re.search(words, done.stderr), done


@pytest.mark.slow("commoner faults: test_death, test_hang")
def test_few_file_descriptors_in_a_pe(trial: trials.Trial) -> None:
    done = limited("true", 2, "few_file_descriptors", ISHMEM_INIT_TIMEOUT="5")
    assert done.returncode == 1
    assert re.search("Too many open files|ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY", done.stderr), done


@pytest.mark.slow("commoner faults: test_death, test_hang")
def test_little_memory(trial: trials.Trial) -> None:
    done = limited("true", 2, "fine", ISHMEM_SYMMETRIC_SIZE="64M", ISHMEM_SIM_MEMORY="32M")
    assert done.returncode == 1
    assert done.stderr.count("lower ISHMEM_SYMMETRIC_SIZE or heap_size=") >= 2, done
    done = limited("ulimit -v 8000000", 2, "fine", ISHMEM_SYMMETRIC_SIZE="8G")
    assert done.returncode == 1
    assert re.search(r"memory|does not fit", done.stderr), done


def test_two_jobs_at_once(trial: trials.Trial) -> None:
    command = [*ISHMRUN, "-n", "2", str(program("fine"))]
    done = run_at_once([(command, {**os.environ, **SMALL})] * 2, timeout=60)
    assert [sorted(each.stdout.splitlines()) for each in done] == [["[0] fine", "[1] fine"]] * 2


@pytest.mark.slow("commoner faults: test_death, test_hang")
def test_a_program_and_a_job_within_a_pe(trial: trials.Trial) -> None:
    """The environment of the outer job does not make the program one of its PEs."""
    done = run_program(program("job_within_a_pe"), 1, env=SMALL)
    assert done.stdout.splitlines() == ["[0] ['alone 0 1'] ", "[0] ['[0] alone 0 2', '[1] alone 1 2'] "], done


def test_a_pe_that_is_asked_where_it_is_goes_on() -> None:
    """Whether Python runs, whose frames change meanwhile, or other code holds the interpreter."""
    done = run_program(program("asked_where_it_is"), 2, env=SMALL)
    assert done.returncode == 0, done.stderr
    _prefix, places, answer = done.stdout.split(maxsplit=2)
    assert int(places) > 1
    assert place("asked_where_it_is", "held") in answer


def test_a_pe_that_is_asked_while_it_ends_goes_on() -> None:
    done = run_program(program("asked_while_it_ends"), 1, env=SMALL)
    assert (done.returncode, done.stdout) == (0, "[0] goes on\n"), done.stderr
