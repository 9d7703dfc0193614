"""Findings of the checks of ``ishmem doctor``, and the machine that they examine."""

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
    """Severity of a finding: OK, WARNING for a possible problem, WRONG for one that prevents the use of ishmem."""

    OK = "ok"
    WARNING = "warning"
    WRONG = "wrong"


@dataclass(frozen=True)
class Finding:
    """Result of a check, with a fix in ``mend`` if it is not ok."""

    severity: Severity
    text: str
    mend: str = ""


@dataclass(frozen=True)
class Machine:
    """The machine to check: the folder that is the root of its file system, and environment variables."""

    root: Path = Path("/")
    environ: dict[str, str] = field(default_factory=lambda: dict(os.environ))

    def under(self, path: str) -> Path:
        """Return an absolute path of the machine as path below ``root``."""
        return self.root / path.lstrip("/")

    @property
    def environ_of_no_job(self) -> dict[str, str]:
        """The environment without the variables that make a process part of a job."""
        return {name: value for name, value in without(self.environ).items() if name not in _OF_A_JOB}

    @functools.cached_property
    def facts(self) -> subprocess.CompletedProcess[str]:
        """The finished process that printed the facts of `ishmem.cli.info` as JSON, or failed without a device."""
        return python(_FACTS, self.environ_of_no_job)


def ok(text: str) -> Finding:
    """Return a finding without a problem, which has no fix."""
    return Finding(Severity.OK, text)


def warning(text: str, mend: str) -> Finding:
    """Return a finding of a possible problem ``text``, with the fix ``mend``."""
    return Finding(Severity.WARNING, text, mend)


def wrong(text: str, mend: str) -> Finding:
    """Return a finding of a problem ``text`` that prevents the use of ishmem, with the fix ``mend``."""
    return Finding(Severity.WRONG, text, mend)


def python(program: str, environ: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run Python text in a new process, which may crash; return its output and status, 1 if it lasts more than 60 s."""
    try:
        return subprocess.run(
            [sys.executable, "-c", program], env=environ, capture_output=True, text=True, check=False, timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess([], 1, "", f"no answer within {SECONDS} s")


def without_choice(environ: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without ``ISHMEM_DEVICE``, for checks that work with any device."""
    return {name: value for name, value in environ.items() if name != "ISHMEM_DEVICE"}


def last_line(done: subprocess.CompletedProcess[str]) -> str:
    """Return the last line of a process's stdout, else of its stderr, else a text with its exit status."""
    return ((done.stderr + done.stdout).strip().splitlines() or [f"ended with status {done.returncode}"])[-1]
