"""Groups of PEs of one library: the runner starts them by the library's launcher and sends them requests."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from multiprocessing.connection import Connection, Listener, wait
from typing import Any

from ishmem.benchmarks.worker import Worker, answer
from ishmem.benchmarks.worlds import PEERS, Local
from ishmem.common import processes
from ishmem.launch import hosts as launch_hosts, mpiexec

Answer = tuple[str, Any]

START = 120.0


class GroupError(Exception):
    """The PEs did not start, or one of them died."""


def missing(library: str, hosts: str = "") -> str | None:
    """Return the reason why a library cannot be measured on this node, or on ``hosts``; None if it can."""
    if importlib.util.find_spec(library) is None:
        return f"{library} is not installed"
    if library in PEERS and not hosts and not _mpiexec():
        return f"mpiexec, the launcher of {library}, is not installed"
    return None


def _mpiexec() -> str | None:
    own = os.path.dirname(sys.executable)
    return shutil.which("mpiexec", path=own + os.pathsep + os.environ.get("PATH", ""))


def _command(library: str, n: int, hosts: str) -> list[str]:
    worker = [sys.executable, "-m", "ishmem.benchmarks.worker", library]
    if hosts:
        return _on_hosts(n, hosts, worker)
    if library in PEERS:
        return [_mpiexec() or "mpiexec", "-n", str(n), *worker]
    return [sys.executable, "-m", "ishmem.launch.run", "-n", str(n), *worker[1:]]


def _on_hosts(n: int, hosts: str, program: list[str]) -> list[str]:
    """Return the command that runs ``n`` processes on hosts in equal shares, as ``ishmem run --hosts`` does."""
    places = launch_hosts.places(n, None, launch_hosts.parse_hosts(hosts))
    return mpiexec.command(mpiexec.find(os.environ.get("ISHMEM_MPIEXEC")), places, program)


class Group:
    """``n`` PEs of a library, started at the first request, and again at the next one after a PE has died."""

    def __init__(
        self,
        library: str,
        n: int,
        files: tuple[str, ...] = (),
        env: dict[str, str] | None = None,
        hosts: str = "",
    ) -> None:
        self.library, self.n, self.device = library, n, ""
        self._files, self._env, self._hosts = files, env or {}, hosts
        self._process: subprocess.Popen[bytes] | None = None
        self._connections: list[Connection] = []
        self._log: Any = None

    @property
    def running(self) -> bool:
        """Whether the PEs are running."""
        return bool(self._connections)

    def ask(self, request: tuple[Any, ...], pes: tuple[int, ...] | None = None, timeout: float = 60) -> list[Answer]:
        """Send a request to PEs (None: to all) and return their answers, each a pair of status and value.

        Raises:
            GroupError: A PE died or did not answer in ``timeout`` seconds; the group is ended.
        """
        try:
            self._start()
            asked = [self._connections[pe] for pe in (range(self.n) if pes is None else pes)]
            for connection in asked:
                connection.send(request)
            answers = self._collect(asked, timeout)
        except BaseException:
            self.stop(patience=0)
            raise
        return [answers[connection] for connection in asked]

    def _collect(self, asked: list[Connection], timeout: float) -> dict[Connection, Any]:
        answers: dict[Connection, Any] = {}
        deadline = time.monotonic() + timeout
        while len(answers) < len(asked):
            ready = wait([one for one in asked if one not in answers], max(deadline - time.monotonic(), 0))
            if not ready:
                late = [str(pe) for pe, one in enumerate(asked) if one not in answers]
                late_pes = f"PE {', '.join(late)}"
                raise GroupError(f"no answer of {self.library} in {timeout:g} s from {late_pes}" + self._said())
            for one in ready:
                if isinstance(one, Connection):
                    answers[one] = self._receive(one)
                    if answers[one][0] == "failed":
                        # The other PEs may be waiting for this one.
                        deadline = min(deadline, time.monotonic() + 3)
        return answers

    def _receive(self, connection: Connection) -> Any:
        try:
            return connection.recv()
        except (EOFError, ConnectionError):
            raise GroupError(f"a PE of {self.library} died" + self._said(patience=5)) from None

    def _start(self) -> None:
        if self._connections:
            return
        key = os.urandom(16)
        self._log = tempfile.TemporaryFile("a+b")  # noqa: SIM115
        name = f"ishmem-bench-{os.urandom(8).hex()}"  # an abstract socket: a killed process leaves no file
        with Listener(("", 0) if self._hosts else "\0" + name, backlog=self.n, authkey=key) as listener:
            environment = {**os.environ, **self._env, "BENCH_KEY": key.hex()}
            address = f"{socket.gethostname()}:{listener.address[1]}" if self._hosts else name
            command = [*_command(self.library, self.n, self._hosts), address, *self._files]
            self._process = subprocess.Popen(
                command, env=environment, stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log,
                start_new_session=True, preexec_fn=processes.die_with(os.getpid(), signal.SIGTERM),
            )  # fmt: skip
            self._connections = self._accept(listener)

    def _accept(self, listener: Listener) -> list[Connection]:
        assert self._process
        found: dict[int, Connection] = {}
        listener._listener._socket.settimeout(0.2)  # type: ignore[attr-defined]
        deadline = time.monotonic() + START
        while len(found) < self.n:
            try:
                connection = listener.accept()
            except socket.timeout:
                if self._process.poll() is not None or time.monotonic() > deadline:
                    raise GroupError(f"{self.library} did not start" + self._said()) from None
                continue
            pe, n_pes, device = self._receive(connection)
            if n_pes != self.n:
                raise GroupError(f"{self.library} started {n_pes} PEs, not {self.n}" + self._said())
            found[pe], self.device = connection, device
        return [found[pe] for pe in range(self.n)]

    def _said(self, patience: float = 0.2) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            if self._process:
                self._process.wait(patience)  # lets the last output arrive
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").strip().splitlines()
        return "\n" + "\n".join(lines[-15:]) if lines else ""

    def stop(self, patience: float = 5) -> None:
        """Close the connections, wait up to ``patience`` seconds for the PEs to end, then terminate them."""
        for connection in self._connections:
            connection.close()
        self._connections = []
        if self._process:
            _end(self._process, patience)
            self._log.close()
        self._process = None


def _end(process: subprocess.Popen[bytes], patience: float) -> None:
    for end, seconds in ((lambda: None, patience), (process.terminate, 5), (process.kill, None)):
        end()
        try:
            process.wait(seconds)
            return
        except subprocess.TimeoutExpired:
            continue


class LocalGroup:
    """The group for whole programs, whose only member is this process, as a `Local`."""

    library, device, running = "local", "", True

    def __init__(self, n: int) -> None:
        self._worker = Worker(Local(n))

    def ask(self, request: tuple[Any, ...], pes: tuple[int, ...] | None = None, timeout: float = 60) -> list[Answer]:
        """Execute a request and return the answer in a list; ``pes`` and ``timeout`` have no effect."""
        return [answer(self._worker, request)]

    def stop(self, patience: float = 5) -> None:
        """Do nothing."""
