"""A PE's side of the monitor of its node (``ishmem.launch.monitor``), in jobs over MPI.

The monitor tells this PE that a PE of any node is lost; a thread takes the message, and waits raise `PeerLost`.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import select
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import IO, TYPE_CHECKING, Any

from ishmem.common.channel import Channel, Message, lost
from ishmem.common.errors import IshmemError

if TYPE_CHECKING:
    from ishmem.runtime.network import Network, Node

_START = 20.0  # seconds for the monitor to start
_CAUSE = 0.5  # seconds that a PE which fails because of another one leaves for the report of that one

Addresses = list[tuple[str, int]]


class MonitorProcess:
    """The monitor that the first PE of a node starts."""

    def __init__(self, **config: Any) -> None:
        """Start it; ``config`` is a ``Config`` of the monitor."""
        command = [sys.executable, "-m", "ishmem.launch.monitor"]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        self._write(config)

    @functools.cached_property
    def addresses(self) -> Addresses:
        """Where it listens, once it does.

        Raises:
            IshmemError: It did not start.
        """
        output = self._process.stdout
        assert output is not None
        line = output.readline() if _await_input(output, _START) else ""
        output.close()
        if not line:
            raise IshmemError("the monitor of this node, python -m ishmem.launch.monitor, did not start")
        return [(host, port) for host, port in json.loads(line)]

    def connect(self, addresses: Addresses) -> None:
        """Let it connect to the monitor of the node above, which listens at these addresses; node 0 gets none."""
        self._write(addresses)

    def close(self) -> None:
        """Let it end once all PEs of the node have left."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()

    def _write(self, value: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(value) + "\n")
        self._process.stdin.flush()


class MonitorClient:
    """The connection of a PE to the monitor of its node."""

    def __init__(
        self,
        job: str,
        node: Node,
        pe: int,
        process: MonitorProcess | None,
        on_lost: Callable[[int, str], None],
        on_exit: Callable[[int], Any],
    ) -> None:
        """Connect to the monitor, and start the thread that hears it; ``process`` is the monitor if this PE started it.

        ``on_lost`` is called when a PE of any node is lost, ``on_exit`` with the status when one ends the job.
        """
        address, token = _names(job, node)
        self._node, self._process, self._on_lost, self._on_exit = node, process, on_lost, on_exit
        self._failure: tuple[float, int] | None = None
        self._raised = False
        connection = socket.socket(socket.AF_UNIX)
        connection.connect("\0" + address)
        self._channel = Channel(connection)
        self._channel.send(kind="hello", token=token, pe=pe)
        self._sending = threading.RLock()  # a handler of a signal may call in between
        self._left = False
        threading.Thread(target=self._hear, name="ishmem-monitor", daemon=True).start()

    def failure(self) -> tuple[float, int] | None:
        """Return when the job has failed, and the exit status that it gets; None while it has not."""
        return self._failure

    def raised(self) -> None:
        """Report that this PE has raised `PeerLost`, so that it gets time to end by itself."""
        self._raised = True
        self._send(kind="raised")

    def fail(self, how: str, status: int, exits: bool = False) -> None:
        """End the job: all other PEs count this one as lost, or exit at once if ``exits`` is set."""
        deadline = time.monotonic() + _CAUSE
        while self._raised and not self._failure and time.monotonic() < deadline:
            time.sleep(0.01)  # for the report of the PE that was lost first, whose exit status counts
        self._send(kind="failed", how=how, status=status, exit=exits)

    def close(self) -> None:
        """Leave: the end of this process is no loss any more."""
        self._left = True
        self._send(kind="left")
        if self._process:
            self._process.close()

    def _send(self, **message: Any) -> None:
        with self._sending:
            self._channel.send(**message)

    def _hear(self) -> None:
        while True:
            _await_input(self._channel)
            messages = self._channel.receive()
            for message in messages or []:
                self._take(message)
            if messages is None:
                break
        with self._sending:
            self._channel.close()
        if not self._left:
            self._take(lost(self._node.pes[0], "the monitor of this node has ended"))

    def _take(self, message: Message) -> None:
        if message["kind"] != "lost" or self._failure or self._left:
            return
        self._failure = time.monotonic(), message["status"]
        if message["exit"]:
            self._on_exit(message["status"])
        self._on_lost(message["pe"], message["how"])


def start(job: str, node: Node, network: Network | None, silence: float) -> MonitorProcess | None:
    """Start the monitor of the node if this is the node's first PE."""
    if node.place:
        return None
    address, token = _names(job, node)
    nodes = network.nodes if network else [0] * len(node.pes)
    first = [nodes.index(number) for number in range(max(nodes) + 1)]
    return MonitorProcess(
        job=job, pes=node.pes, node=node.number, address=address, token=token, silence=silence, first=first
    )


def _names(job: str, node: Node) -> tuple[str, str]:
    """Return the address of a node's monitor, and the token of all monitors; the job's name is secret."""
    common = job.removesuffix(f"-{node.number}")
    return f"ishmem-{_digest('address', job)[:32]}", _digest("token", common)


def _digest(what: str, text: str) -> str:
    return hashlib.sha256(f"ishmem monitor {what} {text}".encode()).hexdigest()


def _await_input(source: Channel | IO[str], seconds: float | None = None) -> bool:
    """Wait until there is something to read, the end included; return False when the time is over."""
    poll = select.poll()  # unlike select, it takes descriptors above 1023
    poll.register(source, select.POLLIN)
    return bool(poll.poll(None if seconds is None else seconds * 1000))
