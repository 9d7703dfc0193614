"""Runs functions of test modules on PEs that live as long as the test session.

A PE takes seconds to start and each kernel most of a second to compile, so both are shared: a `Pool`
starts ``ishmrun`` once, and its workers (worker.py) run one function after the other.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Callable

import fork_server
import nodes

WORKER = Path(__file__).with_name("worker.py")
ADDRESS = "PES_ADDRESS"
NODES = "PES_NODES"
"""The emulated nodes (nodes.py) of the PEs of a `Pool`: their number, or the PEs on each, which then add up: 1+3."""
ISHMRUN = [sys.executable, "-m", "ishmem.launch.run"]
START = 120.0
AFTER_ERROR = 3.0
"""Seconds that the other PEs have to answer once one has failed: they may be waiting for it."""


def sizes_of(n: int) -> list[int]:
    """Return the number of PEs on each node of a job of ``n`` PEs, as `NODES` asks."""
    text = os.environ.get(NODES, "1")
    if "+" not in text:
        return nodes.split(n, int(text))
    sizes = [int(size) for size in text.split("+")]
    if sum(sizes) != n:
        raise ValueError(f"--nodes {text} has {sum(sizes)} PEs and the test {n}; select tests with --pes {sum(sizes)}")
    return sizes


class PesError(Exception):
    """A function failed on at least one PE; the text has the error of each PE and the output of all."""


class Pool:
    """N PEs that run functions of test modules; ``nodes`` has the numbers of PEs on each of several nodes.

    Any failure ends the PEs; the next `run` starts new ones.
    """

    def __init__(self, n: int, env: dict[str, str] | None = None, nodes: Sequence[int] | None = None) -> None:
        self.n = n
        self._sizes = nodes
        self._env = env or {}
        self._process: subprocess.Popen[bytes] | None = None
        self._connections: list[Connection] = []
        self._log: Any = None

    def run(self, function: Callable[..., Any], *args: Any, timeout: float = 300) -> list[Any]:
        """Run a module-level function on every PE; gives the results in the order of the PEs.

        Raises:
            PesError: It raised, or a PE died, or it took too long.
        """
        try:
            self._start()
            mark = self._log.tell()
            results = self._ask((function.__module__, function.__qualname__, args, timeout), timeout, mark)
            # Free what the function has left on the symmetric heap, once it has succeeded on all PEs.
            self._ask(None, timeout, mark)
        except BaseException:
            self.stop()
            raise
        return results

    def stop(self) -> None:
        """End the PEs."""
        for connection in self._connections:
            connection.close()
        self._connections = []
        if self._process:
            end(self._process)
            self._log.close()
        self._process = None

    def _start(self) -> None:
        if self._process and self._process.poll() is None:
            return
        self.stop()
        self._log = tempfile.TemporaryFile("a+b")  # noqa: SIM115
        folder = tempfile.mkdtemp()
        try:
            address = os.path.join(folder, "pes")
            with socket.socket(socket.AF_UNIX) as server:
                server.bind(address)
                server.listen(self.n)
                server.settimeout(0.2)
                self._process = self._launch({**os.environ, **self._env, ADDRESS: address})
                self._connections = self._accept(server)
        finally:
            shutil.rmtree(folder)
        self._collect(START, 0)

    def _launch(self, env: dict[str, str]) -> subprocess.Popen[bytes]:
        sizes = self._sizes or sizes_of(self.n)
        if len(sizes) > 1:
            command = nodes.launcher(sizes, [sys.executable, str(WORKER)])
        else:
            command = [*ISHMRUN, "-n", str(self.n), str(WORKER)]
        return start(command, env=env, stdin=subprocess.DEVNULL, stdout=self._log, stderr=subprocess.STDOUT)

    def _accept(self, server: socket.socket) -> list[Connection]:
        assert self._process
        found: dict[int, Connection] = {}
        deadline = time.monotonic() + START
        while len(found) < self.n:
            try:
                connection = Connection(server.accept()[0].detach())
                found[connection.recv()] = connection
            except socket.timeout:
                if self._process.poll() is not None or time.monotonic() > deadline:
                    raise PesError("the PEs did not start" + self._output(0)) from None
        return [found[pe] for pe in range(self.n)]

    def _ask(self, request: Any, timeout: float, mark: int) -> list[Any]:
        for connection in self._connections:
            connection.send(request)
        return self._collect(timeout, mark)

    def _collect(self, timeout: float, mark: int) -> list[Any]:
        """Receive an answer of every PE."""
        answers: dict[int, tuple[bool, Any]] = {}
        deadline = time.monotonic() + timeout
        while len(answers) < self.n:
            late = [pe for pe in range(self.n) if pe not in answers]
            ready = wait([self._connections[pe] for pe in late], max(deadline - time.monotonic(), 0))
            if not ready:
                answers.update(dict.fromkeys(late, (False, "no answer in time")))
            for pe in late:
                if self._connections[pe] in ready:
                    answers[pe] = _receive(self._connections[pe])
                    if not answers[pe][0]:
                        deadline = min(deadline, time.monotonic() + AFTER_ERROR)
        failed = [f"--- PE {pe}: {text}" for pe, (good, text) in sorted(answers.items()) if not good]
        if failed:
            raise PesError("\n".join(["failed", *failed]) + self._output(mark))
        return [answers[pe][1] for pe in range(self.n)]

    def _output(self, mark: int) -> str:
        if self._process and len(self._connections) == self.n:
            # Lets the last output of a dying PE and the launcher's line about it arrive.
            time.sleep(0.3)
        self._log.seek(mark)
        output: bytes = self._log.read()
        return "\n--- output of the PEs\n" + output.decode(errors="replace")


def _receive(connection: Connection) -> tuple[bool, Any]:
    try:
        answer: tuple[bool, Any] = connection.recv()
    except (EOFError, ConnectionError):
        return False, "died"
    return answer


def start(command: Sequence[str], env: dict[str, str], **streams: Any) -> subprocess.Popen[Any]:
    """Start a process; an ishmrun whose PEs run a Python program is a fork of a process that has the SYCL stack."""
    if command[: len(ISHMRUN)] == ISHMRUN and fork_server.can_start(env):
        return fork_server.Process(command[len(ISHMRUN) :], env=env, **streams)
    return subprocess.Popen(command, env=env, **streams)


def end(process: subprocess.Popen[Any]) -> None:
    """End an ishmrun and, with it, its PEs."""
    process.terminate()
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


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
    """Run a program under ishmrun.

    Args:
        source: Path of the program (a `Path`), or its text (a string).
        n: Number of PEs.
        args: Arguments of the program.
        env: Environment variables in addition to those of this process.
        timeout: Seconds after which all processes are ended.
        sim: Number of simulated devices.
        options: More options of ishmrun.
        forked: Whether its PEs may be forks of a process that has the SYCL stack.

    Raises:
        PesError: It took too long; the text has the output.
    """
    with tempfile.TemporaryDirectory() as folder:
        program = source if isinstance(source, Path) else Path(folder, "program.py")
        if isinstance(source, str):
            program.write_text(source)
        simulated = ["--sim", str(sim)] if sim else []
        command = [*ISHMRUN, "-n", str(n), *simulated, *options, str(program), *args]
        return run_command(command, env=env, timeout=timeout, forked=forked)


def run_command(
    command: Sequence[str], env: dict[str, str] | None = None, timeout: float = 120, forked: bool = True
) -> subprocess.CompletedProcess[str]:
    """Run a command and capture its output; raises PesError, with the output, when it takes too long."""
    process = (start if forked else subprocess.Popen)(
        command,
        env={**os.environ, **(env or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
    )
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        end(process)
        out, err = process.communicate()
        raise PesError(f"not done after {timeout} s\n--- stdout\n{out}\n--- stderr\n{err}") from None
    finally:
        if process.poll() is None:
            end(process)
    return subprocess.CompletedProcess(command, process.returncode, out, err)
