"""init, finalize and queries: states, arguments, and how a job ends."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import trials
from subprocesses import program, run_at_once, run_command, run_program

import ishmem
from ishmem import dpex
from ishmem.testing.fork_server import ISHMRUN
from ishmem.testing.nodes import COMMAND

SMALL = {"ISHMEM_SYMMETRIC_SIZE": "1M"}
STATES, WORKERS = program("init_states"), str(program("workers_of_multiprocessing"))
RESTARTS = pytest.mark.skipif(dpex.HAS_NUMBA_DPEX, reason="a process is a PE only once")


def run(n: int, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a function of the program `init_states` on PEs with small heaps."""
    return run_program(STATES, n, *args, env={**SMALL, **env})


def said(result: subprocess.CompletedProcess[str]) -> list[str]:
    """Return the lines that the PEs have printed, without their numbers."""
    return sorted(line.split("] ", 1)[1] for line in result.stdout.splitlines())


@pytest.mark.parametrize(
    ("name", "n", "line"),
    [
        ("routines_before_and_after", 1, "good"),
        ("routines_before_and_after", 2, "good"),
        ("init_by_a_library", 1, "good"),
        ("init_by_a_library", 3, "good"),
        ("end_within_two_inits", 3, "good 4"),
        pytest.param("restart_with_check", 1, "True", marks=RESTARTS),
    ],
)
def test_states(name: str, n: int, line: str) -> None:
    """Calls before, after and twice; the end of a program finalises, whatever the number of calls of init."""
    result = run(n, name)
    assert (result.returncode, said(result)) == (0, [line] * n), result


@pytest.mark.slow_cases("the same with other settings", "variables1", "variables2")
@RESTARTS
@pytest.mark.parametrize(
    "variables",
    [{}, {"ISHMEM_SIM_PEERS": "none"}, {"ISHMEM_SIM_ORDER": "late:1"}, {"ISHMEM_HOST_ATOMICS": "kernel"}],
)
def test_restart(variables: dict[str, str]) -> None:
    """A process may be a PE of one job after another; kernels get the addresses of the new heap."""
    result = run(2, "one_job_after_another", **variables)
    assert (result.returncode, said(result)) == (0, ["good"] * 2), result


@pytest.mark.skipif(not dpex.HAS_NUMBA_DPEX, reason="ishmem.dpex can restart")
def test_no_restart_with_numba_dpex() -> None:
    result = run_program("import ishmem\nishmem.init()\nishmem.finalize()\nishmem.init()", 1, env=SMALL)
    assert result.returncode == 1 and "with numba-dpex" in result.stderr, result


def test_one_pe_without_launcher() -> None:
    result = run_command([sys.executable, str(STATES), "job_of_one_pe"])
    assert result.stdout == f"0 1 {(3 << 20) - 64}\n", result


@pytest.mark.parametrize(("given", "variable"), [(["2M"], "1M"), ([str(2 << 20)], "1M"), ([], "2048k")])
def test_heap_size(given: list[str], variable: str) -> None:
    """By the argument, which wins, and by the variable."""
    result = run(1, "heap_of_two_megabytes", *given, ISHMEM_SYMMETRIC_SIZE=variable)
    assert f"of {2 << 20} bytes" in result.stdout, result


def test_heap_too_large() -> None:
    """The heap is too large on one PE only: every PE raises, and may call init again."""
    result = run(3, "unequal_pes", "large")
    assert result.returncode == 0, result
    lines = result.stdout.splitlines()
    assert sum("PE 1" in line for line in lines) >= 2, result
    assert sum(f"{100 << 40}" in line or "does not fit" in line for line in lines) == 3, result


RELEASES = [f"{ishmem.__version__} on PE 0, 2", "99.9 on PE 1"]


@pytest.mark.slow_cases("another setting", "1+2-heap-told0")
@pytest.mark.parametrize(("what", "told"), [("heap", ["5000000 on PE 0, 2", "5000001 on PE 1"]), ("release", RELEASES)])
@pytest.mark.parametrize("nodes", ["", "1+2"])
def test_unequal_pes(what: str, told: list[str], nodes: str) -> None:
    """Every PE raises what each has; over MPI, the first that ends then ends the others."""
    command = [*COMMAND, nodes] if nodes else [*ISHMRUN, "-n", "3"]
    result = run_command([*command, sys.executable, str(STATES), "unequal_pes", what], timeout=90)
    for words in told:
        assert result.stdout.count(words) >= (1 if nodes else 3), result


@pytest.mark.parametrize(("way", "used"), [("spawn", "used"), ("fork", "unused"), ("fork", "used")])
def test_workers_of_multiprocessing(way: str, used: str) -> None:
    """They are PEs twice in a row, and one that is killed is told of by the other.

    The drivers that the parent has opened do not work in its forks.
    """
    result = run_command([sys.executable, WORKERS, "twice", way, used], timeout=90)
    *sums, lost, ends = result.stdout.splitlines()
    if (way, used) == ("fork", "used"):
        assert result.stdout.count("in a fork of a process that had opened the drivers") == 2, result
        assert ends == "3 3", result
        return
    assert (sums, ends) == (["3"] * 4, "-9 3"), result
    assert lost.startswith("PeerLost: ") and "PE 0 is gone" in lost, result


def test_groups_and_all() -> None:
    """Two jobs of two PEs at the same time, then one of all."""
    result = run_command([sys.executable, WORKERS, "group_and_all", "spawn", "unused"], timeout=90)
    *said, ends = result.stdout.splitlines()
    assert (sorted(said), ends) == (["(0, 3, 10)", "(1, 3, 10)", "(2, 7, 10)", "(3, 7, 10)"], "0 0 0 0"), result


def test_two_jobs_on_the_same_devices(trial: trials.Trial) -> None:
    """One goes on when the other ends by the death of a PE; nothing is left behind."""
    command = [*ISHMRUN, "-n", "2", str(program("faults")), "SIGKILL", "amid_sums"]
    jobs = [([*command, how], {**os.environ, "ISHMEM_SIM_DEVICES": "2"}) for how in ("ends", "goes on")]
    killed, kept = run_at_once(jobs, timeout=90)
    assert killed.returncode and "PE 0 is gone" in killed.stderr, killed
    assert (kept.returncode, said(kept)) == (0, ["right"] * 2), kept


def test_context_manager() -> None:
    """An error in the block of one PE ends the job with its status; the others raise at once."""
    result = run(3, "error_in_the_block_of_init")
    assert (result.returncode, said(result)) == (0, ["told 1"] * 2), result


def test_what_is_loaded() -> None:
    """A program of host calls loads no numba, and dpnp only for its arrays on today's stack."""
    result = run_program(program("what_is_loaded"), 2, env=SMALL, forked=False)
    loaded = "and no more" if dpex.HAS_NUMBA_DPEX else "dpnp and no more"
    wanted = ["TypingError"] * 2 + [loaded] * 2
    assert (result.returncode, said(result)) == (0, wanted), result


def test_missing_pe() -> None:
    """A PE that never calls init is named after the timeout."""
    command = [sys.executable, str(program("join")), ishmem.get_uniqueid(), "0", "3"]
    result = run_command(command, env={"ISHMEM_INIT_TIMEOUT": "1"})
    assert result.returncode == 1
    assert "PEs 1, 2 did not arrive in init within 1 s" in result.stderr.splitlines()[-1], result.stderr


def test_device() -> None:
    env = {**SMALL, "ISHMEM_SIM_DEVICES": "3", "ISHMEM_DEVICE": "sim"}
    for which in ("name", "object", "default"):
        command, uid = [sys.executable, str(program("two_pes_on_a_device")), which], ishmem.get_uniqueid()
        done = run_at_once([([*command, str(rank), uid], {**os.environ, **env}) for rank in range(2)], timeout=60)
        assert [(each.returncode, each.stdout) for each in done] == [(0, "3\n")] * 2, done
    wrong = "import ishmem\nishmem.init(device='level_zero:gpu:77')"
    assert run_command([sys.executable, "-c", wrong], env=SMALL).returncode == 1


def test_names_that_a_signal_handler_uses_first() -> None:
    """In a new interpreter, with nothing imported; the handler finds modules whole, and its other signals wait."""
    done = run_program(program("names_in_a_handler"), 2, forked=False)
    assert done.returncode == 0, done
    assert sorted(done.stdout.splitlines()) == ["[0] handled True True", "[1] handled True True"], done


def test_debug_tells_device_heap_and_routes() -> None:
    done = run_program("import ishmem\nwith ishmem.init(heap_size='4M'): pass", 2, env={"ISHMEM_DEBUG": "INFO"})
    assert done.returncode == 0, done
    for pe in (0, 1):
        mine = [line for line in done.stderr.splitlines() if line.startswith(f"[{pe}] ")]
        assert any("device: " in line and "PE 0, 1 of 2" in line for line in mine), done
        assert any("heap: 4M for the program" in line for line in mine), done
        assert any("route to PE 0, 1: copies mapped" in line for line in mine), done


def test_a_long_wait_whose_caller_is_not_python() -> None:
    """The report of a wait finds no frame of the program above the routine."""
    text = "import atexit, time, ishmem\nishmem.init()\nif ishmem.my_pe(): atexit.register(ishmem.barrier_all)\n"
    done = run_program(text + "else: time.sleep(0.5); ishmem.barrier_all()", 2)
    assert (done.returncode, done.stderr) == (0, ""), done
