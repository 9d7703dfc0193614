"""Starts jobs as forks of a server, so that their PEs do not repeat its imports.

The server imports the SYCL stack once, as ``ishmem run --preload``, and forks a process for each request: ``ishmem
run``, the launcher of emulated nodes, or a Python program. The PEs of a launcher are forks, too. The requesting process
adopts the fork as an orphan, so that the fork is its child.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import pickle
import re
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from ishmem.common import processes
from ishmem.launch import preload, run
from ishmem.testing import nodes

FORKS_OF = "PYTEST_FORKS_OF"
"""A variable in ``/proc/PID/environ`` of a server and its forks: the number of the process that started the server."""

ISHMRUN = [sys.executable, "-m", "ishmem.launch.run"]
_LAUNCHERS = {tuple(ISHMRUN): run.main, tuple(nodes.COMMAND): nodes.main}
_WORDS = 3  # the first words of a command, which name its launcher
_LARGEST = 1 << 20
PRELOAD = "PYTEST_PRELOAD"
"""A variable with names of other modules that a server imports for PEs of this environment."""
_WITH_PRELOAD = ("LD_LIBRARY_PATH", "PYTHONPATH")
_WITH_IMPORTS = ("ISHMEM_DEVICE", "ISHMEM_CARD", "ISHMEM_SIM_OPENCL", "ISHMEM_ZE_LOADER", PRELOAD, *_WITH_PRELOAD)
"""Variables that are read with the imports; there is a server for each combination of their values."""
_OF_TORCHRUN = {"LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT", "RANK", "TORCHELASTIC_RUN_ID", "WORLD_SIZE"}
"""Variables that are read after the imports, beside those whose names begin with ``ISHMEM_`` or ``PYTEST_``."""
_ALSO = re.compile(r"pytest|_pytest\..*|pytest_timeout|xdist\.plugin|hypothesis|ishmem\.testing\.pes")
"""Other modules that the PEs of tests import, as far as the process that starts the server has imported them."""

_environment = dict(os.environ)
_servers: dict[tuple[object, ...], _Server] = {}


class Process(Protocol):
    """The common interface of a forked process and `subprocess.Popen`."""

    pid: int

    @property
    def returncode(self) -> int | None:
        """The exit status, once `poll` or `wait` has returned it; None before."""

    def poll(self) -> int | None:
        """Return the exit status; None while the process runs."""

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end and return the exit status; raise `subprocess.TimeoutExpired` after ``timeout`` seconds."""

    def terminate(self) -> None:
        """Send SIGTERM."""

    def kill(self) -> None:
        """Send SIGKILL."""


def can_start(command: Sequence[str]) -> bool:
    """Return whether a command can be run in a fork: it is that of a launcher, or a Python program."""
    return tuple(command[:_WORDS]) in _LAUNCHERS or preload.is_program(command)


def start(
    command: Sequence[str],
    environment: dict[str, str],
    output: int | None = None,
    error: int = subprocess.STDOUT,
    folder: str | Path | None = None,
) -> Process:
    """Start a command and return its process, a fork of a server if command and environment allow it.

    The process leads a new session and has no input.

    Args:
        command: The command and its arguments.
        environment: Its environment, in place of that of this process.
        output: Descriptor of its standard output; by default that of this process.
        error: Descriptor of its standard error; by default that of the output.
        folder: The folder in which it starts; by default that of this process.
    """
    processes.keep_ends_of_children()
    out = 1 if output is None else output
    streams = [out, out if error == subprocess.STDOUT else error]
    server = _the_server(environment) if can_start(command) else None
    pid = server.fork(command, environment, streams, os.path.abspath(folder or "")) if server else None
    if pid is not None:
        return _Forked(pid)
    return subprocess.Popen(
        command, env=environment, stdin=subprocess.DEVNULL, stdout=streams[0], stderr=streams[1], cwd=folder,
        start_new_session=True,
    )  # fmt: skip


def prepare(environment: dict[str, str]) -> None:
    """Start the server for PEs with ``environment``, unless it runs; it occupies file descriptors of this process."""
    _the_server(environment)


def end(process: Process, patience: float) -> None:
    """End a process, if it runs, by SIGTERM, and after ``patience`` seconds by SIGKILL."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


class _Forked:
    """A process that the server has forked."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._ended = os.pidfd_open(pid)

    def poll(self) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            if not select.select([self._ended], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired("a fork", timeout or 0.0)
            self.returncode = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
            os.close(self._ended)
        return self.returncode

    def terminate(self) -> None:
        self._send(signal.SIGTERM)

    def kill(self) -> None:
        self._send(signal.SIGKILL)

    def _send(self, number: signal.Signals) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)


class _Server:
    """A server that this process has started, with ``environment``, for one combination of imports."""

    def __init__(self, environment: dict[str, str]) -> None:
        self._pid = os.getpid()
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        also = [name for name in sys.modules if _ALSO.fullmatch(name)] + environment.get(PRELOAD, "").split()
        command, descriptor = [sys.executable, "-m", __name__, str(theirs.fileno()), *also], theirs.fileno()
        environment = {**environment, FORKS_OF: str(self._pid)}
        self._process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, pass_fds=[descriptor])
        theirs.close()
        atexit.register(self.close)

    def close(self) -> None:
        """End the server; jobs that it has started continue."""
        if os.getpid() == self._pid:
            self._socket.close()
            self._process.wait()

    def fork(
        self, command: Sequence[str], environment: dict[str, str], streams: list[int], folder: str
    ) -> int | None:
        """Fork a process for a command, with outputs ``streams``; return its number, None if the server has ended."""
        processes.adopt_orphans()
        try:
            socket.send_fds(self._socket, [pickle.dumps((list(command), environment, folder))], streams)
            number = self._socket.recv(_LARGEST)
        except ConnectionError:  # it has ended
            return None
        finally:
            processes.adopt_orphans(False)
        return int(number) if number else None


def _the_server(wanted: dict[str, str]) -> _Server | None:
    """Return the server for an environment, started if needed; None if a variable needs a new interpreter."""
    read_by_imports = _WITH_PRELOAD if PRELOAD in wanted else ()
    names = {name for name, _ in _environment.items() ^ wanted.items()} - _OF_TORCHRUN
    if not all(name.startswith(("ISHMEM_", "PYTEST_")) or name in read_by_imports for name in names):
        return None
    key = os.getpid(), *map(wanted.get, _WITH_IMPORTS)
    if key not in _servers:
        own = {name: value for name, value in _environment.items() if name not in _WITH_IMPORTS}
        _servers[key] = _Server(own | {name: wanted[name] for name in _WITH_IMPORTS if name in wanted})
    return _servers[key]


def _serve(connection: socket.socket) -> list[str] | None:
    """Fork for requests until ``connection`` closes, then return None; in each fork return its command."""
    while True:
        request, streams, _flags, _address = socket.recv_fds(connection, _LARGEST, 2)
        if not request:
            return None
        read_end, write_end = os.pipe()
        if child := os.fork():
            os.waitpid(child, 0)
            connection.send(os.read(read_end, 16))
            for descriptor in (read_end, write_end, *streams):
                os.close(descriptor)
        elif pid := os.fork():
            os.write(write_end, str(pid).encode())
            os._exit(0)  # makes that process an orphan
        else:
            os.close(read_end)
            os.close(write_end)
            command, environment, folder = pickle.loads(request)
            _become(environment, folder, streams)
            return list(command)


def _become(environment: dict[str, str], folder: str, streams: list[int]) -> None:
    """Set session, environment, folder and streams of this process to those of a new one."""
    os.setsid()
    null = os.open(os.devnull, os.O_RDONLY)
    preload.replace([null, *streams], environment)
    for stream in (null, *streams):
        os.close(stream)
    os.chdir(folder)


def _skip_exit_of_libraries() -> None:
    """Make this process and its forks end without the exit handlers of the libraries loaded so far.

    That of SYCL removes each kernel of dpnp from tables, 0.2 s of processor time in each PE. With preloaded libraries
    nothing is skipped: a sanitizer reports in its handler.
    """
    if "LD_PRELOAD" not in os.environ:
        libc = ctypes.CDLL(None)
        libc.on_exit(libc._exit, None)  # a handler gets the exit status
        libc.__cxa_atexit(libc.fcloseall, None, None)  # called before it: writes what is in buffers of C


def main() -> None:
    """Serve the requests of the parent process; in a fork, run the launcher or the program."""
    processes.settle()
    descriptor, *also = sys.argv[1:]
    preload.load(*also)
    _skip_exit_of_libraries()
    with contextlib.closing(socket.socket(fileno=int(descriptor))) as connection:
        command = _serve(connection)
    if command is None:
        return
    launcher = _LAUNCHERS.get(tuple(command[:_WORDS]))
    if launcher is None:
        preload.run(command, set())
    status = launcher(command[_WORDS:])  # in a PE, it raises SystemExit
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)  # the exit handlers of the stack have no use here, and last a second


if __name__ == "__main__":
    main()
