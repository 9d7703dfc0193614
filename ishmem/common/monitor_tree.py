"""The tree in which the monitors of the nodes of a job are connected: a node has at most three neighbours."""

from __future__ import annotations


def above(node: int) -> int:
    """Return the node to which a node connects; node 0 connects to none."""
    if node == 0:
        raise ValueError("node 0 has no node above it")
    return (node - 1) // 2


def below(node: int, nodes: int) -> range:
    """Return the nodes that connect to a node, of ``nodes`` in the job."""
    return range(2 * node + 1, min(2 * node + 3, nodes))
