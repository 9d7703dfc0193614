"""The monitor of a node: a process that monitors the PEs of its node, and the other nodes, in a job over MPI.

The first PE of each node starts one (``ishmem.runtime.mpi_job``). It is the hub of the node's PEs
(``ishmem.ipc.hub``). It needs neither MPI nor a PE's interpreter lock, so it detects every end: that of a PE by its
process, that of a node by missing heartbeats. The monitors are connected by TCP as a tree, so each has few connections.
They forward reports to each other; a report reaches all nodes in a number of steps that grows with the logarithm of the
number of nodes. Their messages are those of the hub (``ishmem.ipc.wire``).

The first loss ends the job, so the tree need not be repaired: if lost nodes split it, each part has a neighbour of a
lost node, which detects the loss. Each monitor sends the loss to its PEs, whose waits raise `PeerLost`, and ends those
that do not end by themselves, since a PE in a kernel holds its interpreter's lock.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import time
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from ishmem.common import processes
from ishmem.common.job_end import MONITOR, REACTING, Cause, Ending
from ishmem.ipc import hub, wire
from ishmem.ipc.wire import Kind, Message

BEAT = 0.2
"""Seconds between two heartbeats to another node."""

_STRANGERS = 64  # connections that have not sent a valid first message


@dataclass(frozen=True)
class Config:
    """The configuration that the first PE of the node writes to the monitor's standard input.

    Attributes:
        job: Name of the job of this node's PEs, which is secret.
        pes: The numbers of the node's PEs.
        node: Number of the node.
        token: Secret that the monitors share, proved by the first message of each connection.
        silence: Seconds without a message after which a node counts as lost; 0: never.
        first: The first PE of each node of the job.
        hosts: The name of each node.
    """

    job: str
    pes: list[int]
    node: int
    token: str
    silence: float
    first: list[int]
    hosts: list[str]


@dataclass
class _Pe:
    process: int
    handle: BinaryIO | None  # descriptor of the process, readable once it has ended
    done: bool = False
    has_raised: bool = False  # so it ends by itself
    ended: bool = False
    ending: Ending = field(default_factory=Ending)


@dataclass
class _Node:
    connection: socket.socket
    last_message: float
    number: int = -1
    done: bool = False


class Monitor(hub.Hub):
    """The monitor of one node, which is also the hub of the node's PEs: call `run`, which returns when all are done."""

    def __init__(self, config: Config, stdin: BinaryIO) -> None:
        """Listen for the node's PEs and for child nodes in the tree; ``stdin`` ends when the node's first PE leaves."""
        super().__init__(config.job, len(config.pes), config.pes, starts=False)
        self._config = config
        self._watched: dict[int, _Pe] = {}
        self._nodes: list[_Node] = []
        self._loss: Message | None = None
        self._lost_at = self._looked = self._next_beat = time.monotonic()
        self._started = True  # whether the first PE of the node holds our standard input open
        self._below = wire.below(config.node, len(config.first))
        self._tcp = wire.listen_tcp() if self._below else None
        self._watch(stdin, self._read_addresses)
        if self._tcp:
            self._watch(self._tcp, self._accept_node)

    @property
    def addresses(self) -> list[tuple[str, int]]:
        """Pairs of host (name, then addresses) and port at which this monitor listens; empty without child nodes."""
        if not self._tcp:
            return []
        port = self._tcp.getsockname()[1]
        return [(host, port) for host in wire.host_addresses()]

    def _read_addresses(self, stdin: Any) -> None:
        """Read the addresses of the parent node's monitor, which the first PE has written, and connect to it."""
        line = stdin.readline()
        if not line:
            self._started = False
            self._drop(stdin)
        elif addresses := json.loads(line):
            self._connect(addresses)

    def _connect(self, addresses: list[tuple[str, int]]) -> None:
        node, config = wire.above(self._config.node), self._config
        try:
            connection = wire.limit(wire.connect_tcp([host for host, _port in addresses], addresses[0][1]))
            wire.send(connection, wire.hello(config.token, config.node, len(config.first)))
        except OSError as error:
            where = f"the monitor of node {node} ({error})"
            _print(f"{config.hosts[config.node]} cannot reach {where}: the end of a node may not be noticed")
            return
        self._add_node(connection, node)

    def _step(self) -> None:
        super()._step()
        self._check()
        if self._is_over() and not self._closed:
            self._closed = True
            if not self._loss:
                self._send_to_nodes(Message(Kind.DONE, self._config.node))

    def _next(self) -> float | None:
        return min(super()._next() or self._next_beat, self._next_beat)

    def _is_over(self) -> bool:
        """Return whether all PEs of the node are done or have ended, and all child nodes are done or a PE is lost."""
        first = self._watched.get(self._config.first[self._config.node])
        begun = not self._started or bool(first and (first.done or first.ended))
        pes = all(pe.done or pe.ended for pe in self._watched.values())
        nodes = self._loss or all(node.done for node in self._nodes if node.number in self._below)
        return bool(begun and pes and nodes)

    # ---- the PEs of this node

    def _handle(self, session: Any, message: Message, fds: list[int]) -> None:
        number, pe = message.pe, self._watched.get(message.pe)
        if message.kind == Kind.WATCH:
            self._watch_pe(number)
        elif pe and message.kind == Kind.DONE:
            pe.done = True
        elif pe and message.kind == Kind.RAISED:
            self._give_time(pe)
        elif pe and message.kind == Kind.FAILED:
            self._give_time(pe)
            self._lose_pe(number, message.payload.decode(errors="replace"), message.sequence)
        else:
            super()._handle(session, message, fds)
            if message.kind == Kind.EXIT:
                self._announce(message)

    def _watch_pe(self, number: int) -> None:
        process = self._processes[number]
        descriptor = processes.descriptor(process)
        handle: Any = None if descriptor is None else os.fdopen(descriptor, "rb", buffering=0)
        pe = self._watched[number] = _Pe(process, handle)
        if handle:
            self._watch(handle, lambda _handle: self._end_pe(number, pe))
        if self._loss:
            self._send(self._session, number, self._loss)
            self._begin_end(pe)

    def _give_time(self, pe: _Pe) -> None:
        """Schedule the signals of a PE that has raised an error later, so that it can end by itself."""
        if not pe.has_raised:
            pe.has_raised = True
            self._begin_end(pe)

    def _end(self, session: Any, pe: int) -> None:
        super()._end(session, pe)
        watched = self._watched.get(pe)
        if watched and not watched.handle:  # the kernel has no descriptors of processes: its connection stands for it
            self._end_pe(pe, watched)

    def _end_pe(self, number: int, pe: _Pe) -> None:
        """Handle the end of a PE's process: the PE is lost unless it has reported `DONE`."""
        code = _exit_code(pe.process)
        if pe.handle:
            self._drop(pe.handle)
        self._drain(number)  # it may have been done before it ended
        pe.ended = True
        how = f"process {pe.process} " + ("has ended" if code is None else processes.describe_end(code))
        if pe.done:
            self.ended(number, how)
        else:
            self._lose_pe(number, how, Cause.of_end(code or 0)[1])

    def _lose_pe(self, pe: int, how: str, status: int) -> None:
        config = self._config
        where = f", on node {config.node} ({config.hosts[config.node]})" if len(config.first) > 1 else ""
        self._ended[pe] = how + where
        self._lose(self._session, pe, how + where, status)
        if not self._loss:
            _print(f"PE {pe}{where} is lost: {how}; ending the other PEs")
        self._announce(Message(Kind.LOST, pe, status, (how + where).encode()))

    # ---- the other nodes

    def _accept_node(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            self._add_node(wire.accept(listener, self.job))
        unknown = [node for node in self._nodes if node.number < 0]
        if len(unknown) > _STRANGERS:
            self._drop_node(unknown[0])

    def _add_node(self, connection: socket.socket, number: int = -1) -> None:
        node = _Node(connection, time.monotonic(), number)
        self._nodes.append(node)
        self._watch(connection, lambda _connection: self._receive_from_node(node))
        if self._loss and number >= 0:
            self._send_to(node, self._loss)

    def _drop_node(self, node: _Node) -> None:
        self._nodes.remove(node)
        self._drop(node.connection)

    def _receive_from_node(self, node: _Node) -> None:
        try:
            received = wire.receive(node.connection)
            if received and node.number < 0:
                config = self._config
                node.number = wire.check_hello(received[0], config.token, len(config.first), self._below)
                if self._loss:
                    self._send_to(node, self._loss)
        except BlockingIOError:
            return
        except (OSError, wire.MessageError):
            received = None
        if received:
            self._handle_from_node(node, received[0])
            return
        self._drop_node(node)
        if node.number >= 0 and not node.done:
            self._lose_node(node, "its monitor has ended")

    def _handle_from_node(self, node: _Node, message: Message) -> None:
        node.last_message = time.monotonic()
        node.done |= message.kind == Kind.DONE
        if message.kind in (Kind.LOST, Kind.EXIT):
            self._announce(message)

    def _lose_node(self, node: _Node, how: str) -> None:
        if not self._loss:
            text = f"node {node.number} ({self._config.hosts[node.number]}) is lost: {how}"
            _print(f"{text}; ending the PEs")
            self._announce(Message(Kind.LOST, self._config.first[node.number], Cause.NODE_LOST.status, text.encode()))

    def _send_to(self, node: _Node, message: Message) -> None:
        with contextlib.suppress(OSError):  # its end is about to be read
            wire.send(node.connection, message)

    def _send_to_nodes(self, message: Message) -> None:
        for node in self._nodes:
            if node.number >= 0 and not node.done:
                self._send_to(node, message)

    # ---- the end of the job

    def _announce(self, loss: Message) -> None:
        """Send the first loss, or the first ``global_exit``, to the PEs of this node and to the other nodes."""
        if self._loss:
            return
        self._loss, self._lost_at = loss, time.monotonic()
        self._send_to_nodes(loss)
        self._forward(self._session, loss, but=loss.pe if loss.kind == Kind.EXIT else None)
        for pe in self._watched.values():
            self._begin_end(pe)

    def _begin_end(self, pe: _Pe) -> None:
        """Schedule the signals that end a PE, if the job has failed."""
        if self._loss:
            pe.ending.begin(self._lost_at + (REACTING if pe.has_raised else MONITOR.failing), MONITOR)

    def _check(self) -> None:
        """Send heartbeats that are due, detect nodes that have sent none, and send PEs the signals that are due."""
        now = time.monotonic()
        late, self._looked = now - self._looked > 4 * BEAT, now
        # A message of another node wakes this one, so a message after each would keep both busy.
        if now >= self._next_beat:
            self._next_beat = now + BEAT
            self._send_to_nodes(Message(Kind.ALIVE, self._config.node))
        for node in self._nodes:
            if late:  # this process itself did not run: the others may have sent in the meantime
                node.last_message = now
            silence = now - node.last_message
            if 0 < self._config.silence < silence and node.number >= 0 and not node.done:
                self._lose_node(node, f"no answer for {silence:.1f} s (ISHMEM_NODE_TIMEOUT)")
        for number, pe in self._watched.items():
            due_signal = pe.ending.pop_due(now)
            if due_signal and not pe.done and not pe.ended:
                self._signal(number, pe, due_signal)

    def _signal(self, number: int, pe: _Pe, due: signal.Signals) -> None:
        with contextlib.suppress(OSError):
            if pe.handle:
                signal.pidfd_send_signal(pe.handle.fileno(), due)
            elif pe.process and number in self._session.peers:  # not one of another namespace, and it has not ended
                os.kill(pe.process, due)


def _exit_code(process: int) -> int | None:
    """Return the exit status of an ended process, or minus its signal; ``None`` if its parent has collected it."""
    fields = processes.stat(process)
    return os.waitstatus_to_exitcode(int(fields[-1])) if fields[:1] == ["Z"] else None


def _print(text: str) -> None:
    with contextlib.suppress(OSError):
        os.write(2, f"ishmem: {text}\n".encode(errors="replace"))


def main() -> None:
    """Read the configuration from the standard input, print the monitor's addresses as JSON, and run it."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)  # it ends with its PEs
    stdin = os.fdopen(0, "rb", buffering=0)
    monitor = Monitor(Config(**json.loads(stdin.readline())), stdin)
    print(json.dumps(monitor.addresses), flush=True)
    os.close(1)
    monitor.run()


if __name__ == "__main__":
    main()
