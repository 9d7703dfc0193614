"""Kills PEs at random moments, and checks how the other PEs and the job end."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from typing import Any

import click
from trials import NOTICE, Outcome, Trial, faults

SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT)
END = 10.0
"""Seconds within which the job is over."""
WHILE_STARTING = 0.15
"""Part of the kills that come while the program starts, mostly before ``init``."""


def kill_one(trial: Trial, n: int, draw: random.Random) -> Outcome | None:
    """Start a job and kill one of its PEs; return None if the job ended first."""
    seconds, number, victim = draw.uniform(0, 3), draw.choice(SIGNALS), draw.randrange(n)
    job = trial.start(n, "kills_pe.py", seconds, draw.randrange(1 << 30))
    outcome = Outcome(number.name)
    with _limit(job, outcome):
        output = _wait(job, draw, victim, seconds)
        while not (pid := _process(trial, victim)) and job.poll() is None:
            time.sleep(0.01)
        killed = time.monotonic()
        with contextlib.suppress(ProcessLookupError):
            if pid:
                os.kill(pid, number)
        output += job.stdout.read()
        job.stdout.close()
        job.wait()
    outcome.seconds = time.monotonic() - killed
    if job.returncode == 0:
        return None
    _judge(outcome, output, victim, number, killed, n)
    if job.returncode != 128 + number:
        outcome.wrong.append(f"the status is {job.returncode}, not {128 + number}")
    outcome.wrong += [f"left behind: {what}" for what in trial.left()]
    if outcome.wrong:
        outcome.wrong.append(f"PE {victim}, {number.name}; output:\n{output}")
    return outcome


def _process(trial: Trial, pe: int) -> int | None:
    found = [pid for pid, env in trial.processes().items() if env.get("ISHMEM_PE") == str(pe)]
    return min(found, default=None)


def _wait(job: subprocess.Popen[str], draw: random.Random, victim: int, seconds: float) -> str:
    """Wait for the moment, mostly one after ``init`` was called; return what the job has printed until then."""
    output = ""
    if draw.random() > WHILE_STARTING:
        while line := job.stdout.readline():
            output += line
            if line.startswith(f"[{victim}] ") and '"called"' in line:
                break
        time.sleep(draw.uniform(0, seconds + 0.5))
    else:
        time.sleep(draw.uniform(0, 2))
    return output


@contextlib.contextmanager
def _limit(job: subprocess.Popen[str], outcome: Outcome) -> Iterator[None]:
    """End a job that does not end by itself."""

    def end() -> None:
        outcome.wrong.append("the job did not end")
        job.kill()

    timer = threading.Timer(120, end)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _judge(outcome: Outcome, output: str, victim: int, number: signal.Signals, killed: float, n: int) -> None:
    said: dict[int, dict[str, Any]] = {}
    for line in output.splitlines():
        if '] {"pe"' in line:
            report = json.loads(line.split("] ", 1)[1])
            said.setdefault(report["pe"], {}).update(report)
    # Without these lines no PE was in ishmem yet, and ishmem run ends all at once.
    ended = "not ended within" in output or "ishmem run:   PE" not in output
    for pe in set(range(n)) - {victim}:
        report = said.get(pe, {})
        if "lost" in report:
            outcome.told += 1
            outcome.delays.append(report["at"] - max(killed, report["called"]))
            if report["lost"] != victim or number.name not in report["words"]:
                outcome.wrong.append(f"PE {pe} was told: {report['words']}")
        elif ended:
            outcome.stuck += 1
        elif "done" not in report:
            outcome.wrong.append(f"PE {pe} was not told")
    if max(outcome.delays, default=0) > NOTICE:
        outcome.wrong.append(f"the error took {max(outcome.delays):.2f} s")
    if outcome.seconds > END:
        outcome.wrong.append(f"the end took {outcome.seconds:.2f} s")


@click.command()
@click.option("--count", default=100, show_default=True, help="Faults.")
@click.option("--minutes", default=60.0, show_default=True, help="No further fault after so long.")
@click.option("--seed", type=int, help="For the same moments again, as far as a machine repeats itself.")
@click.option("--pes", default=4, show_default=True, help="PEs of each job.")
def kills(count: int, pes: int, minutes: float, seed: int | None) -> None:
    """Kill PEs at random moments: in init, in any operation, in kernels, in finalize."""
    faults(lambda trial, draw, _number: kill_one(trial, pes, draw), count, minutes, seed)
