"""The nodes of a team that spans several, as ``ishmem.common.layout.NodeList`` describes them in device memory.

The *leader* of a node is the first member on it.
"""

from __future__ import annotations

from typing import NamedTuple

from ishmem.common.layout import EXCHANGE_WORDS, LINE, NODE_LIST_WORDS, TeamRecord

from .intrinsics import compiled, load_word
from .spec_constants import team_records

NODES = TeamRecord.at("nodes")
HEADER, EXCHANGE = 8 * NODE_LIST_WORDS, 8 * EXCHANGE_WORDS  # bytes before the lists, and of a `NodeExchange`
STEP = 48  # bytes of a `NodeStep` before its runs


class TeamNodes(NamedTuple):
    """The nodes of a team that spans several, and the position of this PE in them.

    Attributes:
        near: Address of the list of members on this node, as PEs.
        n_near, index: Number of PEs in ``near``, and the index of this PE among them.
        leaders: Address of the list of leaders, as PEs.
        count, node: Number of leaders, and the index of this node's leader among them.
        rounds: Rounds of a dissemination barrier on the largest node.
        total, widest: As in ``ishmem.common.layout.NodeList``.
        exchanges: Address of the exchange of this node with itself; those with the other nodes follow.
        steps, n_steps: Address of the first step of this PE in a rendezvous, and their number.
    """

    near: int
    n_near: int
    index: int  # type: ignore[assignment]  # hides a method of tuple
    leaders: int
    count: int  # type: ignore[assignment]
    node: int
    rounds: int
    total: int
    widest: int
    exchanges: int
    steps: int
    n_steps: int


class NodePair(NamedTuple):
    """The exchange of this node with another one in a small alltoall: a ``NodeExchange``.

    Attributes:
        place, partner, partner_place, size: As in ``NodeExchange``.
        runs, n_runs: Address of the runs, and their number.
    """

    place: int
    partner: int
    partner_place: int
    size: int
    runs: int
    n_runs: int


class Step(NamedTuple):
    """A step of a leader in a rendezvous: a ``NodeStep``.

    Attributes:
        partner, line, takes, is_second, is_whole: As in ``NodeStep``.
        runs, n_runs: Address of the runs, and their number.
    """

    partner: int
    line: int
    takes: int
    is_second: int
    is_whole: int
    runs: int
    n_runs: int


@compiled
def spans_nodes(team):
    """Return whether a team has members on several nodes."""
    return load_word(team_records() + NODES + LINE * team) != 0


@compiled
def nodes_of(team):
    """Return the `TeamNodes` of a team that spans nodes."""
    record = load_word(team_records() + NODES + LINE * team)
    n_near, index, count = load_word(record), load_word(record + 8), load_word(record + 16)
    near, node, rounds = record + HEADER, load_word(record + 24), load_word(record + 32)
    total, widest, n_steps = load_word(record + 40), load_word(record + 48), load_word(record + 56)
    leaders = near + 8 * n_near
    exchanges = leaders + 8 * count
    steps = exchanges + EXCHANGE * count
    return TeamNodes(near, n_near, index, leaders, count, node, rounds, total, widest, exchanges, steps, n_steps)


@compiled
def step_at(address):
    """Return the step at an address, and the address of the next one."""
    n_runs, runs = load_word(address + 40), address + STEP
    partner, line, takes = load_word(address), load_word(address + 8), load_word(address + 16)
    is_second, is_whole = load_word(address + 24), load_word(address + 32)
    return Step(partner, line, takes, is_second, is_whole, runs, n_runs), runs + 16 * n_runs


@compiled
def exchange_with(nodes, distance):
    """Return the exchange with the node that is ``distance`` nodes after this one, cyclically."""
    at = nodes.exchanges + EXCHANGE * distance
    place, partner, partner_place, size = load_word(at), load_word(at + 8), load_word(at + 16), load_word(at + 24)
    runs = nodes.near - HEADER + load_word(at + 40)
    return NodePair(place, partner, partner_place, size, runs, load_word(at + 32))


@compiled
def run_at(runs, number):
    """Return the first member of run ``number`` of the list at address ``runs``, and the number of its members."""
    return load_word(runs + 16 * number), load_word(runs + 16 * number + 8)


@compiled
def pe_in(pes, place):
    """Return the PE at index ``place`` of the list at address ``pes``."""
    return load_word(pes + 8 * place)


@compiled
def place_after(place, step, size):
    """Return the index ``step`` behind index ``place`` of ``size``, cyclically; ``step`` is at most ``size``."""
    return place + step if place + step < size else place + step - size
