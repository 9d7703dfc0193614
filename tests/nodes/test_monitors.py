"""The monitors of the nodes of a job: a tree, in which each has few neighbours and all hear of a loss."""

from __future__ import annotations

import json
import re
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from subprocesses import program

from ishmem.ipc.wire import above, below


@pytest.mark.parametrize("nodes", [1, 2, 3, 8, 834])
def test_tree(nodes: int) -> None:
    """Each node but the first is below one other, in few steps from node 0, and has at most three neighbours."""
    found = [node for top in range(nodes) for node in below(top, nodes)]
    assert found == list(range(1, nodes))
    for node in range(nodes):
        assert all(above(other) == node for other in below(node, nodes))
        assert len(below(node, nodes)) + (node > 0) <= 3
        steps = 0
        while node:
            node, steps = above(node), steps + 1
        assert steps < nodes.bit_length()


class Node:
    """A monitor, and the PE of its node."""

    def __init__(self, number: int, nodes: int, token: str, then: str, silence: float) -> None:
        self.number, self.name = number, f"test-{token}-{number}-{then}"
        config = {
            "job": self.name, "pes": [number], "node": number, "token": token, "silence": silence,
            "first": list(range(nodes)), "hosts": [f"host{node}" for node in range(nodes)],
        }  # fmt: skip
        self.monitor = self._start("-m", "ishmem.launch.monitor")
        self._write(config)

    def addresses(self) -> Any:
        assert self.monitor.stdout
        return json.loads(self.monitor.stdout.readline())

    def join(self, addresses: Any) -> None:
        """Connect the monitor to the one above, and the PE to its monitor."""
        self._write(addresses)
        self.pe = self._start(str(program("pe_of_a_monitor")), self.name, str(self.number))
        assert self.told() == "connected\n"

    def told(self) -> str:
        assert self.pe.stdout
        return self.pe.stdout.readline()

    def assert_told(self, pe: int, status: int, how: str) -> None:
        """Check which PE is lost for the PE of this node, the status of the job, and the text."""
        found = self.told().split(" ", 2)
        assert (int(found[0]), int(found[1])) == (pe, status) and re.search(how, found[2]), found

    def end(self) -> None:
        for process in (self.pe, self.monitor):
            process.send_signal(signal.SIGCONT)
            process.kill()
            process.communicate()

    def _start(self, *arguments: str) -> subprocess.Popen[str]:
        pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
        return subprocess.Popen([sys.executable, *arguments], stdin=pipe, stdout=pipe, stderr=nothing, text=True)

    def _write(self, value: Any) -> None:
        assert self.monitor.stdin
        self.monitor.stdin.write(json.dumps(value) + "\n")
        self.monitor.stdin.flush()


@contextmanager
def tree_of(count: int, then: str = "leaves", silence: float = 60.0) -> Iterator[list[Node]]:
    """Start nodes, whose PEs leave after a loss or do something else."""
    token = secrets.token_hex(8)
    nodes = [Node(number, count, token, then, silence) for number in range(count)]
    addresses = [node.addresses() for node in nodes]
    for node in nodes:
        node.join(addresses[above(node.number)] if node.number else [])
    try:
        yield nodes
    finally:
        for node in nodes:
            node.end()


@pytest.mark.parametrize("victim", [0, 1, 6])
def test_loss_of_a_node(victim: int) -> None:
    """The PEs of all other nodes are told which node is lost, wherever it is in the tree; their monitors end."""
    with tree_of(7) as tree:
        tree[victim].monitor.kill()
        for node in tree:
            if node.number != victim:
                node.assert_told(victim, 1, rf"node {victim} \(host{victim}\) is lost: its monitor has ended")
                assert node.monitor.wait(60) == 0


def test_loss_of_a_pe() -> None:
    """All PEs are told that one has ended, with its number and node."""
    with tree_of(7) as tree:
        tree[4].pe.kill()
        for node in tree:
            if node.number != 4:
                node.assert_told(4, 128 + signal.SIGKILL, r"was ended by SIGKILL, on node 4 \(host4\)")


def test_a_silent_node_and_a_pe_that_does_not_react() -> None:
    with tree_of(2, "stays", silence=0.5) as tree:
        tree[1].monitor.send_signal(signal.SIGSTOP)
        tree[0].assert_told(1, 1, r"node 1 \(host1\) is lost: no answer for .* s \(ISHMEM_NODE_TIMEOUT\)")
        assert tree[0].pe.wait(20) == -signal.SIGTERM


def test_a_pe_whose_monitor_ends() -> None:
    with tree_of(1) as tree:
        tree[0].monitor.kill()
        tree[0].assert_told(0, 1, "the monitor of this node has ended")


def switches(process: int) -> int:
    """Return how often a process has waited."""
    return int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", Path(f"/proc/{process}/status").read_text(), re.M)[1])


def test_monitors_sleep_between_signs_of_life() -> None:
    with tree_of(2) as tree:
        time.sleep(0.5)  # the monitors have connected
        before = [switches(node.monitor.pid) for node in tree]
        time.sleep(2)
        assert max(switches(node.monitor.pid) - each for node, each in zip(tree, before)) < 60
