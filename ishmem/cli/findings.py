"""What the checks of ``ishmem doctor`` find, and the machine that they look at."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from ishmem.environment.mpi_variables import without

SECONDS = 60
_OF_A_JOB = ("ISHMEM_PE", "ISHMEM_NPES", "ISHMEM_JOB")
_FACTS = "import json; from ishmem.cli import info; print(json.dumps(info.gather()))"


class Severity(Enum):
    """How serious a finding is."""

    OK = "ok"
    WARNING = "warning"
    WRONG = "wrong"


@dataclass(frozen=True)
class Finding:
    """The result of a check, and how to fix it when it is not ok."""

    severity: Severity
    text: str
    mend: str = ""


@dataclass(frozen=True)
class Machine:
    """The machine to check: an environment and the root of a file system."""

    root: Path = Path("/")
    environ: dict[str, str] = field(default_factory=lambda: dict(os.environ))

    def under(self, path: str) -> Path:
        """Return a path of the machine."""
        return self.root / path.lstrip("/")

    @property
    def environ_of_no_job(self) -> dict[str, str]:
        """The environment of a process that is no part of a job, where this one is."""
        return {name: value for name, value in without(self.environ).items() if name not in _OF_A_JOB}

    @functools.cached_property
    def facts(self) -> subprocess.CompletedProcess[str]:
        """What `ishmem.cli.info` gathers, as JSON, if a device can be used."""
        return python(_FACTS, self.environ_of_no_job)


def ok(text: str) -> Finding:
    """Return a finding without a problem."""
    return Finding(Severity.OK, text)


def warning(text: str, mend: str) -> Finding:
    """Return a finding of a possible problem."""
    return Finding(Severity.WARNING, text, mend)


def wrong(text: str, mend: str) -> Finding:
    """Return a finding of a problem that keeps ishmem from working."""
    return Finding(Severity.WRONG, text, mend)


def python(program: str, environ: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a program in a process of its own: a driver may crash."""
    try:
        return subprocess.run(
            [sys.executable, "-c", program], env=environ, capture_output=True, text=True, check=False, timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess([], 1, "", f"no answer within {SECONDS} s")


def without_choice(environ: Mapping[str, str]) -> dict[str, str]:
    """Return an environment for a check that any device serves: that of the choice is `doctor.check_devices`."""
    return {name: value for name, value in environ.items() if name != "ISHMEM_DEVICE"}


def last_line(done: subprocess.CompletedProcess[str]) -> str:
    """Return the last line that a process has printed."""
    return ((done.stderr + done.stdout).strip().splitlines() or [f"ended with status {done.returncode}"])[-1]
