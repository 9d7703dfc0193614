"""Starts jobs whose processes can be identified, and finds what they leave behind."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from ishmem.testing.fork_server import FORKS_OF

HERE = Path(__file__).parent
MARK = "PYTEST_TRIAL"
SOCKETS = "@ishmem-"
NOTICE = 2.0
"""Seconds within which every PE has its error or has ended."""


@dataclass
class Outcome:
    """The outcome of one fault.

    Attributes:
        what: Which fault it was.
        wrong: Deviations from the expected outcome.
        delays: Seconds from the fault to the error or end of each of the other PEs.
        told: Number of PEs that have raised `PeerLost`.
        stuck: PEs that the launcher had to end: they were in a kernel, or had not called ``init`` yet.
        seconds: From the fault to the end of the job.
    """

    what: str = ""
    wrong: list[str] = field(default_factory=list)
    delays: list[float] = field(default_factory=list)
    told: int = 0
    stuck: int = 0
    seconds: float = 0.0


class Trial:
    """Starts jobs with a mark in their environment and a temporary folder, by which leftovers are found."""

    def __init__(self) -> None:
        """Record what exists before the jobs start."""
        self.mark, self.folder = uuid.uuid4().hex, tempfile.mkdtemp(prefix="reliability-")
        self._before = _forks(_environments())
        self._shared, self._open = _names("/dev/shm"), len(_names("/proc/self/fd"))

    def start(self, n: int, program: str, *arguments: Any, **environment: str) -> subprocess.Popen[str]:
        """Start a program of this folder, or ``-c`` and a text, on ``n`` PEs; its output is one pipe."""
        env = {**self.environment(), **environment}
        words = [program if program == "-c" else str(HERE / program), *map(str, arguments)]
        command = [sys.executable, "-m", "ishmem.launch.run", "-n", str(n), *words]
        return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def environment(self) -> dict[str, str]:
        """Return the environment of a marked job."""
        return {"ISHMEM_DEVICE": "sim", **os.environ, MARK: self.mark, "TMPDIR": self.folder}

    def processes(self) -> dict[int, dict[str, str]]:
        """Return the environments of the processes of the jobs, by process.

        Forks of a process that has the stack show its environment: of them, those are meant that were not there before.
        """
        found = _environments()
        forks = _forks(found) - self._before
        return {pid: env for pid, env in found.items() if env.get(MARK) == self.mark or pid in forks}

    def left(self, patience: float = 10.0) -> list[str]:
        """Return what the jobs have left behind, after up to ``patience`` seconds to disappear."""
        deadline = time.monotonic() + patience
        while (found := self._left()) and time.monotonic() < deadline:
            time.sleep(0.02)
        return found

    def _left(self) -> list[str]:
        found = [f"process {pid}" for pid in self.processes()]
        found += [f"socket {name}" for name in _ownerless_sockets()]
        found += [f"/dev/shm/{name}" for name in _names("/dev/shm") - self._shared if "ishmem" in name]
        found += [f"file {name}" for name in _names(self.folder)]
        extra = len(_names("/proc/self/fd")) - self._open
        return found + [f"{extra} file descriptors of this process"] * (extra > 0)

    def close(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self.folder)


@contextlib.contextmanager
def new_trial() -> Iterator[Trial]:
    """Yield a `Trial` and remove its folder at the end."""
    trial = Trial()
    try:
        yield trial
    finally:
        trial.close()


def progress() -> Progress:
    """Return a progress bar that also has room for a remark."""
    columns = ("{task.description}", BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    return Progress(*columns, TextColumn("{task.fields[remark]}"))


def _names(folder: str) -> set[str]:
    with contextlib.suppress(OSError):
        return set(os.listdir(folder))
    return set()


def _environments() -> dict[int, dict[str, str]]:
    return {pid: _environment(pid) for pid in map(int, filter(str.isdigit, os.listdir("/proc")))}


def _forks(environments: dict[int, dict[str, str]]) -> set[int]:
    """Return the processes that were forked for this one, and what forks them."""
    return {pid for pid, env in environments.items() if env.get(FORKS_OF) == str(os.getpid())}


def _environment(pid: int) -> dict[str, str]:
    with contextlib.suppress(OSError):
        words = Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace").split("\0")
        return dict(word.split("=", 1) for word in words if "=" in word)
    return {}


def _ownerless_sockets() -> list[str]:
    """Return the sockets of jobs that no visible process owns."""
    lines = [line.split() for line in Path("/proc/net/unix").read_text().splitlines() if SOCKETS in line]
    if not lines:
        return []
    held = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        for fd in _names(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                held.add(os.readlink(f"/proc/{pid}/fd/{fd}"))
    return [words[7] for words in lines if f"socket:[{words[6]}]" not in held and words[6] != "0"]


def faults(
    one: Callable[[Trial, random.Random, int], Outcome | None], count: int, minutes: float, seed: int | None
) -> None:
    """Run random faults with a progress bar, print a table of their outcomes, and exit.

    Args:
        one: Runs a fault, given the number of those so far; returns the outcome, or None if the job ended before.
        count: Number of faults.
        minutes: No further fault begins after so long.
        seed: For the same moments again.
    """
    seed = random.randrange(1 << 30) if seed is None else seed
    draw, outcomes, early = random.Random(seed), [], 0
    end = time.monotonic() + 60 * minutes
    with new_trial() as trial, progress() as bar:
        task = bar.add_task("faults", total=count, remark=f"seed {seed}")
        while len(outcomes) < count and time.monotonic() < end:
            outcome = one(trial, draw, len(outcomes))
            if outcome is None:
                early += 1
                continue
            outcomes.append(outcome)
            bar.advance(task)
            for line in outcome.wrong:
                bar.console.print(line, markup=False, highlight=False)
    _show(outcomes)
    print(f"{early} jobs ended before the fault")
    sys.exit(any(outcome.wrong for outcome in outcomes))


def _show(outcomes: list[Outcome]) -> None:
    table = Table("fault", "jobs", "as expected", "PeerLost", "ended", "to error or end: median", "longest", "to end")
    for what in sorted({outcome.what for outcome in outcomes}):
        these = [outcome for outcome in outcomes if outcome.what == what]
        delays = [delay for outcome in these for delay in outcome.delays] or [0.0]
        right, told, stuck = (
            sum(each) for each in zip(*((not outcome.wrong, outcome.told, outcome.stuck) for outcome in these))
        )
        longest = max(outcome.seconds for outcome in these)
        times = [f"{each:.2f} s" for each in (statistics.median(delays), max(delays), longest)]
        table.add_row(what, str(len(these)), str(right), f"{told} PEs", f"{stuck} PEs", *times)
    Console().print(table)
