"""Starts jobs of the tests without the imports that each of their PEs would make.

``python fork_server.py SOCKET`` imports the SYCL stack once, as ``ishmrun --preload``, and forks an ishmrun for each
request; its PEs are forks, too. `Process` is the `subprocess.Popen` of such an ishmrun. The process that asks adopts
it as an orphan, so it is its child.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import pickle
import socket
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from ishmem.launch import preload, run, supervisor

LARGEST = 1 << 20
OWN = ("ISHMEM_DEVICE", "ISHMEM_ZE_LOADER", "ISHMEM_SIM_OPENCL")
"""Variables that are read with the imports."""

environment: dict[str, str] = {}
"""The environment of the server; no server starts while it is empty."""

_server: Server | None = None


class Server:
    """The server of this process."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command, descriptor = [sys.executable, __file__, str(theirs.fileno())], theirs.fileno()
        self.process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, pass_fds=[descriptor])
        theirs.close()
        atexit.register(self.close)

    def close(self) -> None:
        """End the server; jobs that it has started go on."""
        if os.getpid() == self.pid:
            self.socket.close()
            self.process.wait()

    def start(self, arguments: list[str], variables: dict[str, str], streams: list[int]) -> int:
        """Start ``ishmrun`` with these arguments, environment and streams; return its process number."""
        request = pickle.dumps((arguments, variables, os.getcwd()))
        supervisor.adopt_orphans()
        try:
            socket.send_fds(self.socket, [request], streams)
            return int(self.socket.recv(LARGEST))
        finally:
            supervisor.adopt_orphans(False)


def can_start(wanted: Mapping[str, str]) -> bool:
    """Return whether the server has made its imports as a new process with this environment would."""
    names = {name for name, _ in environment.items() ^ wanted.items()}
    harmless = (name.startswith(("ISHMEM_", "PES_", "PYTEST_")) and name not in OWN for name in names)
    return bool(environment) and all(harmless)


def _the_server() -> Server:
    global _server
    if _server is None or _server.pid != os.getpid() or _server.process.poll() is not None:
        _server = Server()
    return _server


class Process(subprocess.Popen[Any]):
    """An ishmrun that the server forks; ``args`` are its arguments."""

    def _execute_child(self, args: Any, *others: Any) -> None:  # type: ignore[override]
        to_child, ours, from_child, out, error_from_child, error = others[9:15]
        null = os.open(os.devnull, os.O_RDONLY)
        streams = [null if to_child == -1 else to_child, 1 if out == -1 else out, 2 if error == -1 else error]
        try:
            self.pid = _the_server().start(args, others[5], streams)
        finally:
            os.close(null)
            self._close_pipe_fds(to_child, ours, from_child, out, error_from_child, error)  # type: ignore[attr-defined]
        self._child_created = True


def serve(connection: socket.socket) -> list[str] | None:
    """Serve until the connection closes; returns the arguments of ishmrun in a process that is to be one."""
    while True:
        request, streams, _flags, _address = socket.recv_fds(connection, LARGEST, 3)
        if not request:
            return None
        told, tell = os.pipe()
        if child := os.fork():
            os.waitpid(child, 0)
            connection.send(os.read(told, 16))
            for descriptor in (told, tell, *streams):
                os.close(descriptor)
        elif pid := os.fork():
            os.write(tell, str(pid).encode())
            os._exit(0)  # makes the ishmrun an orphan
        else:
            os.close(told)
            os.close(tell)
            return become(*pickle.loads(request), streams)


def become(arguments: list[str], variables: dict[str, str], folder: str, streams: list[int]) -> list[str]:
    """Make this process what a new one would be."""
    preload.replace(streams, variables)
    for stream in streams:
        os.close(stream)
    os.chdir(folder)
    return arguments


def main() -> int:
    """Serve; in a forked process, run ishmrun."""
    preload.load()
    with contextlib.closing(socket.socket(fileno=int(sys.argv[1]))) as connection:
        arguments = serve(connection)
    return 0 if arguments is None else run.main(arguments)


if __name__ == "__main__":
    sys.exit(main())
