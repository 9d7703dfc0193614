"""The monitors of the nodes of a job: a tree, in which each has few neighbours and all hear of a loss."""

from __future__ import annotations

import json
import secrets
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from ishmem.common.monitor_tree import above, below

PE = """
import json, socket, sys
monitor = socket.socket(socket.AF_UNIX)
monitor.connect("\\0" + sys.argv[1])
monitor.sendall(json.dumps({"kind": "hello", "token": sys.argv[2], "pe": int(sys.argv[3])}).encode() + b"\\n")
print("connected", flush=True)
print(monitor.makefile().readline(), flush=True)
monitor.sendall(b'{"kind": "left"}\\n')
"""
"""A PE: it prints what its monitor tells it, and leaves."""


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

    def __init__(self, number: int, nodes: int, token: str) -> None:
        self.number, self.token, self.name = number, token, f"ishmem-test-{token}-{number}"
        config = {
            "job": self.name, "pes": [number], "node": number, "address": self.name, "token": token, "silence": 60.0,
            "first": list(range(nodes)),
        }  # fmt: skip
        self.monitor = self._start("-m", "ishmem.launch.monitor")
        self._write(config)

    def addresses(self) -> Any:
        assert self.monitor.stdout
        return json.loads(self.monitor.stdout.readline())

    def join(self, addresses: Any) -> None:
        """Connect the monitor to the one above, and the PE to its monitor."""
        self._write(addresses)
        self.pe = self._start("-c", PE, self.name, self.token, str(self.number))
        assert self.told() == "connected\n"

    def told(self) -> str:
        assert self.pe.stdout
        return self.pe.stdout.readline()

    def end(self) -> None:
        for process in (self.pe, self.monitor):
            process.kill()
            process.communicate()

    def _start(self, *arguments: str) -> subprocess.Popen[str]:
        pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
        return subprocess.Popen([sys.executable, *arguments], stdin=pipe, stdout=pipe, stderr=nothing, text=True)

    def _write(self, value: Any) -> None:
        assert self.monitor.stdin
        self.monitor.stdin.write(json.dumps(value) + "\n")
        self.monitor.stdin.flush()


@pytest.fixture
def tree() -> Iterator[list[Node]]:
    """Seven nodes in three levels."""
    token = secrets.token_hex(8)
    nodes = [Node(number, 7, token) for number in range(7)]
    addresses = [node.addresses() for node in nodes]
    for node in nodes:
        node.join(addresses[above(node.number)] if node.number else [])
    yield nodes
    for node in nodes:
        node.end()


@pytest.mark.parametrize("victim", [0, 1, 6])
def test_loss_of_a_node(tree: list[Node], victim: int) -> None:
    """The PEs of all other nodes are told which node is lost, wherever it is in the tree; their monitors end."""
    tree[victim].monitor.kill()
    for node in tree:
        if node.number != victim:
            loss = json.loads(node.told())
            assert (loss["kind"], loss["pe"]) == ("lost", victim) and f"node {victim} " in loss["how"]
            assert node.monitor.wait(60) == 0


def test_loss_of_a_pe(tree: list[Node]) -> None:
    """All PEs are told that one has ended, with its number and node."""
    tree[4].pe.kill()
    for node in tree:
        if node.number != 4:
            loss = json.loads(node.told())
            assert (loss["kind"], loss["pe"]) == ("lost", 4) and "on node 4" in loss["how"]
