"""Starts the monitor of a node (``ishmem.launch.monitor``), in jobs over MPI; PEs speak to it by their links."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import select
import socket
import subprocess
import sys
from typing import IO, TYPE_CHECKING, Any

from ishmem.common.errors import IshmemError

if TYPE_CHECKING:
    from ishmem.runtime.network import Network, Node

_START = 20.0  # seconds for the monitor to start

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


def start(job: str, node: Node, network: Network | None, silence: float) -> MonitorProcess | None:
    """Start the monitor of the node if this is the node's first PE."""
    if node.place:
        return None
    nodes, hosts = (network.nodes, network.hosts) if network else ([0] * len(node.pes), {0: socket.gethostname()})
    common = job.removesuffix(f"-{node.number}")  # secret, as the name of the job is
    token = hashlib.sha256(f"ishmem monitor token {common}".encode()).hexdigest()
    numbers = range(max(nodes) + 1)
    return MonitorProcess(
        job=job, pes=node.pes, node=node.number, token=token, silence=silence,
        first=[nodes.index(number) for number in numbers], hosts=[hosts[number] for number in numbers],
    )  # fmt: skip


def _await_input(source: IO[str], seconds: float) -> bool:
    """Wait until there is something to read, the end included; return False when the time is over."""
    poll = select.poll()  # unlike select, it takes descriptors above 1023
    poll.register(source, select.POLLIN)
    return bool(poll.poll(seconds * 1000))
