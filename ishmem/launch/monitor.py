"""The monitor of a node: a process that watches the PEs of its node, and the other nodes, in a job over MPI.

The first PE of each node starts one (``ishmem.runtime.monitor_client``), in which the hub of the node's PEs runs, too
(``ishmem.ipc.hub``). It needs neither MPI nor a PE's interpreter lock, so it notices every end: of a PE by its process,
of a node by its silence. The monitors are connected by TCP as a tree (``ishmem.common.monitor_tree``), so each has few
connections, and forward what one of them reports: it reaches all nodes in a number of steps that grows with the
logarithm of the nodes.

The first loss ends the job, so the tree need not be mended: each part into which lost nodes divide it has a neighbour
of a lost node, which notices. Each monitor tells its PEs, whose waits raise `PeerLost`, and ends those that do not
react: a PE in a kernel holds its interpreter's lock.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import socket
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ishmem.common import processes, tcp
from ishmem.common.channel import Channel, Message, lost
from ishmem.common.monitor_tree import above, below
from ishmem.common.status_board import describe_end
from ishmem.ipc import hub, wire
from ishmem.launch.ending import MONITOR, REACTING, Ending, exit_status

BEAT = 0.2
"""Seconds between two signs of life to another node."""

_STRANGERS = 64  # connections that have not sent a valid first message


@dataclass(frozen=True)
class Config:
    """The configuration that the first PE of the node writes to the monitor's standard input.

    Attributes:
        job: Name of the job of this node's PEs, which is secret.
        pes: The PEs of the node.
        node: Number of the node.
        address: Name of the abstract Unix socket for the PEs of the node.
        token: Secret that the first message on each connection must contain.
        silence: Seconds without a message after which a node counts as lost; 0: never.
        first: The first PE of each node of the job.
    """

    job: str
    pes: list[int]
    node: int
    address: str
    token: str
    silence: float
    first: list[int]


@dataclass
class _Pe:
    channel: Channel
    process: int
    handle: int | None  # descriptor of the process
    left: bool = False
    reacts: bool = False  # has raised an error, so it ends by itself
    ended: bool = False
    ending: Ending = field(default_factory=Ending)


@dataclass
class _Node:
    channel: Channel
    name: str
    heard: float
    left: bool = False


class Monitor:
    """The monitor of one node."""

    def __init__(self, config: Config) -> None:
        """Listen for the PEs of the node, and for the nodes below it."""
        self._config = config
        self._name = socket.gethostname()
        self._selector = selectors.DefaultSelector()
        self._pes: dict[int, _Pe] = {}
        self._nodes: dict[int, _Node] = {}
        self._strangers: list[Channel] = []
        self._loss: Message | None = None
        self._lost_at = self._looked = self._next_beat = time.monotonic()
        n_pes = len(config.pes)
        self._hub = hub.Hub(config.job, n_pes, hub.unknown, hub.REPORT) if n_pes > 1 else None
        self._started = True  # whether the first PE of the node holds our standard input open
        local = socket.socket(socket.AF_UNIX)
        local.bind("\0" + config.address)
        self._listen(local, self._take_pe)
        self._tcp: socket.socket | None = None
        if below(config.node, len(config.first)):
            self._tcp = tcp.listen()
            self._listen(self._tcp, self._take_node)

    @property
    def addresses(self) -> list[tuple[str, int]]:
        """Where the monitors of other nodes may reach this one: by name, then by number."""
        if not self._tcp:
            return []
        port = self._tcp.getsockname()[1]
        return [(host, port) for host in tcp.addresses()]

    def connect(self, addresses: list[tuple[str, int]]) -> None:
        """Connect to the monitor of the node above; print a warning when that is not possible."""
        node = above(self._config.node)
        try:
            channel = Channel(tcp.connect([host for host, _port in addresses], addresses[0][1]))
        except ConnectionError as error:
            where = f"the monitor of node {node} ({error})"
            _print(f"{self._name} cannot reach {where}: the end of a node may not be noticed")
            return
        channel.send(kind="hello", token=self._config.token, node=self._config.node, name=self._name)
        self._add_node(node, channel, channel.socket.getpeername()[0])

    def run(self, stdin: int) -> None:
        """Watch until all PEs of the node have left or ended, and the nodes below, for which it forwards reports.

        ``stdin`` closes with the first PE of the node.
        """
        self._selector.register(stdin, selectors.EVENT_READ, self._first_ended)
        while not self._is_over():
            for key, _events in self._selector.select(max(self._next_beat - time.monotonic(), 0)):
                key.data(key.fileobj)
            self._look()
        for node in self._nodes.values():
            if not self._loss:
                node.channel.send(kind="left")
            node.channel.close()

    def _is_over(self) -> bool:
        first = self._pes.get(self._config.first[self._config.node])
        begun = not self._started or bool(first and (first.left or first.ended))
        pes = all(pe.left or pe.ended for pe in self._pes.values())
        children = below(self._config.node, len(self._config.first))
        nodes = self._loss or all(node.left for number, node in self._nodes.items() if number in children)
        return bool(begun and pes and nodes)

    def _first_ended(self, stdin: int) -> None:
        self._started = False
        self._selector.unregister(stdin)

    # ---- connections

    def _listen(self, listener: socket.socket, take: Callable[[Channel], None]) -> None:
        def accept(_listener: Any) -> None:
            with contextlib.suppress(OSError):
                self._strangers.append(Channel(listener.accept()[0]))
                self._selector.register(self._strangers[-1], selectors.EVENT_READ, take)
                if len(self._strangers) > _STRANGERS:
                    self._drop(self._strangers.pop(0))

        listener.listen(128)
        listener.setblocking(False)
        self._selector.register(listener, selectors.EVENT_READ, accept)

    def _drop(self, channel: Channel) -> None:
        self._selector.unregister(channel)
        channel.close()

    def _hello(self, channel: Channel, key: str) -> tuple[Message, list[Message]] | None:
        """Read the first message of a connection and those behind it; drop a connection that is not of this job."""
        messages = _receive(channel)
        if messages == [] or channel not in self._strangers:
            return None
        self._strangers.remove(channel)
        first = messages[0] if messages else {}
        if first.get("token") == self._config.token and isinstance(first.get(key), int):
            return first, (messages or [])[1:]
        self._drop(channel)
        return None

    def _take_pe(self, channel: Channel) -> None:
        if not (found := self._hello(channel, "pe")):
            return
        number = found[0]["pe"]
        process, user = wire.peer_process(channel.socket)
        if user != os.geteuid():
            self._drop(channel)
            return
        pe = self._pes[number] = _Pe(channel, process, processes.descriptor(process))
        self._selector.modify(channel, selectors.EVENT_READ, lambda _channel: self._hear_pe(number, pe))
        if pe.handle is not None:
            self._selector.register(pe.handle, selectors.EVENT_READ, lambda _handle: self._end_pe(number, pe))
        if self._loss:
            channel.send(**self._loss)
            self._begin_end(pe)
        self._obey_pe(number, pe, found[1])

    def _take_node(self, channel: Channel) -> None:
        if found := self._hello(channel, "node"):
            self._selector.unregister(channel)
            self._add_node(found[0]["node"], channel, str(found[0].get("name")), found[1])

    def _add_node(self, number: int, channel: Channel, name: str, messages: Sequence[Message] = ()) -> None:
        node = self._nodes[number] = _Node(channel, name, time.monotonic())
        self._selector.register(channel, selectors.EVENT_READ, lambda _channel: self._hear_node(number, node))
        if self._loss:
            channel.send(**self._loss)
        self._obey_node(node, messages)

    # ---- the PEs of this node

    def _hear_pe(self, number: int, pe: _Pe) -> None:
        messages = _receive(pe.channel)
        if messages is not None:
            self._obey_pe(number, pe, messages)
            return
        self._drop(pe.channel)
        if pe.handle is None:  # the kernel has no descriptors of processes: its connection stands for the process
            self._end_pe(number, pe)

    def _obey_pe(self, number: int, pe: _Pe, messages: list[Message]) -> None:
        for message in messages:
            pe.left |= message["kind"] == "left"
            if message["kind"] in ("raised", "failed") and not pe.reacts:
                pe.reacts = True
                self._begin_end(pe)
            if message["kind"] == "failed":
                self._tell_hub(number, str(message["how"]))
                self._lose(number, str(message["how"]), int(message["status"]), bool(message.get("exit")))

    def _end_pe(self, number: int, pe: _Pe) -> None:
        """Take note that a PE's process has ended."""
        code = _exit_code(pe.process)
        if pe.handle is not None:
            self._selector.unregister(pe.handle)
            os.close(pe.handle)
        pe.ended = True
        how = f"process {pe.process} " + ("has ended" if code is None else describe_end(code))
        self._tell_hub(number, how)
        if not pe.left:
            self._lose(number, how, exit_status(code or 1))

    def _tell_hub(self, pe: int, how: str) -> None:
        """Let the PEs of this node know by their connections, too."""
        if self._hub:
            self._hub.ended(self._config.pes.index(pe), how)

    # ---- the other nodes

    def _hear_node(self, number: int, node: _Node) -> None:
        messages = _receive(node.channel)
        if messages is not None:
            self._obey_node(node, messages)
            return
        self._drop(node.channel)
        if not node.left:
            self._lose_node(number, node, "its monitor has ended", 0.0)
        node.left = True

    def _obey_node(self, node: _Node, messages: Sequence[Message]) -> None:
        node.heard = time.monotonic()
        for message in messages:
            node.left |= message["kind"] == "left"
            if message["kind"] == "lost":
                self._spread(message)

    def _lose_node(self, number: int, node: _Node, how: str, age: float) -> None:
        if not self._loss:
            where = f"node {number} ({node.name})"
            _print(f"{where} is lost: {how}; ending the PEs")
            self._spread(lost(self._config.first[number], f"{where} is lost: {how}", age=age))

    # ---- the end of the job

    def _lose(self, pe: int, how: str, status: int, exits: bool = False) -> None:
        if self._loss:
            return
        where = f", on node {self._config.node} ({self._name})" if len(self._config.first) > 1 else ""
        if not exits:
            _print(f"PE {pe}{where} is lost: {how}; ending the other PEs")
        self._spread(lost(pe, how + where, status, exits))

    def _spread(self, loss: Message) -> None:
        """Tell the PEs of this node and the other nodes about the first loss."""
        if self._loss:
            return
        self._loss, self._lost_at = loss, time.monotonic() - loss["age"]
        for channel in [node.channel for node in self._nodes.values()] + [pe.channel for pe in self._pes.values()]:
            channel.send(**loss)
        for pe in self._pes.values():
            self._begin_end(pe)

    def _begin_end(self, pe: _Pe) -> None:
        """Let a PE get the signals of a job that has failed, if this one has."""
        if self._loss:
            pe.ending.begin(self._lost_at + (REACTING if pe.reacts else MONITOR.failing), MONITOR)

    def _look(self) -> None:
        """Send heartbeats, detect nodes without any, and end PEs that do not end by themselves."""
        now = time.monotonic()
        late, self._looked = now - self._looked > 4 * BEAT, now
        # A message of another node wakes this one, so an answer to each would keep both busy.
        due = now >= self._next_beat
        if due:
            self._next_beat = now + BEAT
        for number, node in self._nodes.items():
            if due and not node.left:
                node.channel.send(kind="alive")
            if late:  # this process itself did not run: the others may have sent in the meantime
                node.heard = now
            silence = now - node.heard
            if 0 < self._config.silence < silence and not node.left:
                self._lose_node(number, node, f"no answer for {silence:.1f} s (ISHMEM_NODE_TIMEOUT)", silence)
        for pe in self._pes.values():
            due_signal = pe.ending.take(now)
            if due_signal and not pe.left and not pe.ended:
                _send(pe, due_signal)


def _send(pe: _Pe, number: signal.Signals) -> None:
    with contextlib.suppress(OSError):
        if pe.handle is not None:
            signal.pidfd_send_signal(pe.handle, number)
        elif pe.process and pe.channel.fileno() >= 0:  # not one of another namespace, and it has not ended
            os.kill(pe.process, number)


def _receive(channel: Channel) -> list[Message] | None:
    """Return the messages that have arrived; ``None`` at the end, and for a connection that sends something else."""
    try:
        messages = channel.receive()
        if messages is None or all(isinstance(message.get("kind"), str) for message in messages):
            return messages
    except ValueError:
        pass
    return None


def _exit_code(process: int) -> int | None:
    """Return the exit status of a process, or minus its signal; ``None`` when its parent has collected it."""
    fields = processes.stat(process)
    return os.waitstatus_to_exitcode(int(fields[-1])) if fields[:1] == ["Z"] else None


def _print(text: str) -> None:
    with contextlib.suppress(OSError):
        os.write(2, f"ishmem: {text}\n".encode(errors="replace"))


def main() -> None:
    """Read the configuration, say where this monitor listens, read where that of the node above does, and watch."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)  # it ends with its PEs
    monitor = Monitor(Config(**json.loads(sys.stdin.readline())))
    print(json.dumps(monitor.addresses), flush=True)
    os.close(1)
    addresses = sys.stdin.readline()
    if addresses and json.loads(addresses):
        monitor.connect([(host, port) for host, port in json.loads(addresses)])
    monitor.run(0)


if __name__ == "__main__":
    main()
