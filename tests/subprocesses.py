"""Runs programs on PEs, and commands, to their end."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from ishmem.testing import fork_server
from ishmem.testing.fork_server import ISHMRUN

_PATIENCE = 5.0  # seconds for a process to end on SIGTERM
_PROGRAMS = Path(__file__).with_name("programs")


class TimedOut(Exception):
    """A program took too long; the text has its output."""


def program(name: str) -> Path:
    """Return the path of a program in `tests/programs`."""
    return _PROGRAMS / f"{name}.py"


def place(name: str, mark: str) -> str:
    """Return the line of a program that ends with a comment, as messages name it: ``name.py:7``."""
    lines = program(name).read_text().splitlines()
    (number,) = [number for number, line in enumerate(lines, 1) if line.endswith(f"# {mark}")]
    return f"{name}.py:{number}"


def run_program(
    source: str | Path,
    n: int,
    *args: str,
    env: dict[str, str] | None = None,
    timeout: float = 120,
    sim: int | None = None,
    options: Sequence[str] = (),
    forked: bool = True,
) -> subprocess.CompletedProcess[str]:
    """Run a program as PEs of a job.

    Args:
        source: Path of the program (a `Path`), or its text (a string).
        n: Number of PEs.
        args: Arguments of the program.
        env: Environment variables in addition to those of this process.
        timeout: Seconds after which all processes are ended.
        sim: Number of simulated devices.
        options: More options of ishmem run.
        forked: Whether its PEs may be forks of a process that has the SYCL stack.

    Raises:
        TimedOut: It took too long; the text has the output.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = source if isinstance(source, Path) else Path(folder, "program.py")
        if isinstance(source, str):
            path.write_text(source)
        simulated = ["--sim", str(sim)] if sim else []
        command = [*ISHMRUN, "-n", str(n), *simulated, *options, str(path), *args]
        return run_command(command, env=env, timeout=timeout, forked=forked)


def run_command(
    command: Sequence[str], env: dict[str, str] | None = None, timeout: float = 120, forked: bool = True
) -> subprocess.CompletedProcess[str]:
    """Run a command and capture its output; raises TimedOut, with the output, when it takes too long."""
    return run_at_once([(command, {**os.environ, **(env or {})})], timeout, forked)[0]


def succeeded(done: subprocess.CompletedProcess[str]) -> subprocess.CompletedProcess[str]:
    """Return a process that has ended with status 0; raises AssertionError, with its output, if it has not."""
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def run_at_once(
    commands: Sequence[tuple[Sequence[str], dict[str, str]]], timeout: float, forked: bool = True
) -> list[subprocess.CompletedProcess[str]]:
    """Run commands, each with its environment, at the same time; return how each has ended.

    Args:
        commands: The commands; standard input is empty.
        timeout: Seconds after which all processes are ended.
        forked: Whether Python programs and launchers may be forks of a process that has the SYCL stack.

    Raises:
        TimedOut: One took too long; the text has the output of all.
    """
    with contextlib.ExitStack() as stack:
        files = [(stack.enter_context(_file()), stack.enter_context(_file())) for _ in commands]
        started = [_start(*command, *streams, forked) for command, streams in zip(commands, files)]
        end = time.monotonic() + timeout
        try:
            statuses = [process.wait(max(0.0, end - time.monotonic())) for process in started]
        except subprocess.TimeoutExpired:
            _end(started)
            texts = [f"--- stdout\n{_read(out)}\n--- stderr\n{_read(err)}" for out, err in files]
            raise TimedOut("\n".join([f"not done after {timeout} s", *texts])) from None
        finally:
            _end(started)
        outputs = [(_read(out), _read(err)) for out, err in files]
    return [
        subprocess.CompletedProcess(command, status, *output)
        for (command, _), status, output in zip(commands, statuses, outputs)
    ]


def _end(started: Sequence[fork_server.Process]) -> None:
    for process in started:
        fork_server.end(process, _PATIENCE)


def _start(
    command: Sequence[str], env: dict[str, str], out: IO[str], err: IO[str], forked: bool
) -> fork_server.Process:
    """Start a command; it is forked if it can and may be."""
    if forked and fork_server.can_start(command):
        return fork_server.start(command, env, out.fileno(), err.fileno())
    return subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=err)


def _file() -> IO[str]:
    return tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")


def _read(file: IO[str]) -> str:
    file.seek(0)
    return file.read()
