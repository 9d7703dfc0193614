"""A model of jobs that are larger than this machine: ``python -m tools.scale``.

The core *rehearses* a call as each PE of the job (``ishmem/core/rehearsal.cpp``): the code of real calls runs, and its
messages and copies are counted instead of executed. A call is a sequence of phases; each phase ends where PEs wait for
each other. The time of a call is the sum of its phases. The time of a phase is that of its busiest PE or node, plus the
latency of its slowest kind of message.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ishmem import _core
from ishmem.common import algorithms
from ishmem.common.collective_table import COLLECTIVES
from ishmem.common.layout import MAX_TEAMS, TWIN, Layout
from ishmem.runtime import heap, network

BARRIER, INIT = "barrier_all", "init"
ROUTINES = (BARRIER, "broadcast", "fcollect", "alltoall", "sum_reduce")
IN_KERNEL = " in a kernel"
"""The end of the name of a routine in a kernel."""
BY_RECEIVERS = ("fcollect", "alltoall")
"""Routines in which each PE receives a block of each PE."""
MOST = 64 << 30
"""The largest array of a PE in bytes; points with larger ones, which do not fit into a tile's memory, are left out."""
_NEVER = 2**63
MESSAGES_OUT, MESSAGES_IN, BYTES_OUT, BYTES_IN, BYTES_ACROSS, STORES, NEAR = range(_core.COUNTS)
NETWORKS = {"fat tree": 1.0, "tapered fat tree": 0.5, "dragonfly": 0.5}
"""`Links.bisection` of usual networks; for dragonflies, which differ, half as for random traffic on a balanced one."""

Counts = npt.NDArray[np.int64]
"""Counts, indexed by phase, PE and kind of count."""


@dataclass(frozen=True)
class Links:
    """Costs, in seconds and bytes per second.

    Attributes:
        near_bandwidth: Bandwidth of a PE to the others of its node, each way.
        near_latency: Time until a store is visible to another PE of the node.
        store: Time of a store or copy to another PE of the node, without that of its bytes.
        far_bandwidth: Bandwidth of a node to the network, each way.
        bisection: Bandwidth between two halves of the nodes, each way, as a fraction of that of the links of one half.
        far_latency: Time until a message arrives at the engine of another node, without computation by the engines.
        message: Time in which an engine sends or receives a message.
        call: Time of a call on the host without communication.
        open: Time to open the memory of a PE of the node, for the device and for the host.
        proxy: Time until a kernel's request arrives at the proxy, or data from another node are visible to a kernel.
    """

    near_bandwidth: float = 26.5e9
    near_latency: float = 1e-6
    store: float = 0.1e-6
    far_bandwidth: float = 25e9
    bisection: float = 1.0
    far_latency: float = 2e-6
    message: float = 1e-6
    call: float = 1e-6
    open: float = 300e-6
    proxy: float = 1e-6


class Point(NamedTuple):
    """The prediction for one call.

    Attributes:
        routine: The routine, or ``init``.
        pes: Number of PEs of the job.
        size: Size of a block in bytes; 0 if there is none.
        seconds: The time of the call.
        far_bytes: Bytes that a PE sends over the network, on average.
        near_bytes: Bytes that a PE copies to or from PEs of its node, on average.
        messages: Messages over the network of the PE that sends and receives most.
    """

    routine: str
    pes: int
    size: int
    seconds: float
    far_bytes: float
    near_bytes: float
    messages: int


def nodes_of(pes: int, width: int) -> list[int]:
    """Return the node of each PE, for ``width`` PEs on each node."""
    return [pe // width for pe in range(pes)]


def layout_of(nodes: Sequence[int]) -> Layout:
    """Return the layout of the heap in a job with the given node of each PE."""
    return Layout(len(nodes), max(Counter(nodes).values()))


def rehearse(nodes: list[int], routine: str, size: int = 0) -> Counts:
    """Rehearse a call with blocks of ``size`` bytes as each PE of a job, and return the counts; the root is PE 0.

    Raises:
        RuntimeError: This process is a PE of a job.
    """
    layout, pes = layout_of(nodes), len(nodes)
    heap.configure_layout(layout)
    algorithms.install(algorithms.defaults(_NEVER))
    block = -(-(size * pes + 1) // 4096) * 4096
    source, dest, end = layout.size, layout.size + block, layout.size + 2 * block
    number = -1 if routine == BARRIER else list(COLLECTIVES).index(routine)
    flags = [layout.host_sync(0), layout.sync_bytes]
    mirrors = _core.team_mirror_bytes(pes, layout.host_ring_bytes, layout.host_slot_bytes)
    counted = _core.rehearse(nodes, end, mirrors, flags, number, size, dest, source)
    return np.frombuffer(counted, np.int64).reshape(-1, pes, _core.COUNTS)


def first_half(nodes: Sequence[int] | npt.NDArray[np.int64]) -> int:
    """Return the number of nodes in the first half; `BYTES_ACROSS` counts bytes between the halves."""
    return int(nodes[-1] + 1) // 2


def seconds_of(counts: Counts, nodes: Sequence[int], links: Links) -> float:
    """Return the time in seconds of a call with these counts."""
    on = np.asarray(nodes)
    return links.call + sum(phase_seconds(phase, on, links) for phase in counts)


def phase_seconds(counts: Counts, nodes: npt.NDArray[np.int64], links: Links) -> float:
    """Return the time in seconds of a phase with these counts, indexed by PE and kind."""
    phase = counts.astype(float)
    messages = phase[:, MESSAGES_OUT] + phase[:, MESSAGES_IN]
    in_turn = links.message * (np.max(phase[:, MESSAGES_OUT]) + np.max(phase[:, MESSAGES_IN]))  # of different PEs, too
    busy = links.message * messages + links.store * phase[:, STORES] + phase[:, NEAR] / links.near_bandwidth
    wires = [np.max(np.bincount(nodes, phase[:, way])) / links.far_bandwidth for way in (BYTES_OUT, BYTES_IN)]
    half = first_half(nodes)
    across = np.max(np.bincount(nodes < half, phase[:, BYTES_ACROSS]))
    wires.append(across / (links.bisection * links.far_bandwidth * max(half, 1)))
    latency = links.far_latency if messages.any() else links.near_latency * bool(phase[:, STORES].any())
    return float(max(busy.max(), in_turn, *wires) + latency)


def bound(routine: str, pes: int, width: int, size: int, links: Links) -> float:
    """Return a lower bound of the time of a call in seconds, for any algorithm.

    In a round each PE sends one message, so a node reaches at most as many more nodes as it has PEs. In the same time
    the link of a node transfers, one way, the bytes that other nodes need from it, and the network those that one half
    of the nodes needs from the other. There is no bound of ``init``.
    """
    nodes = -(-pes // width)
    if nodes == 1:
        return links.call + links.near_latency
    rounds = next(count for count in range(nodes) if (1 + width) ** count >= nodes)
    carried = {
        "broadcast": size,
        "sum_reduce": 2 * size * (nodes - 1) / nodes,  # a reduce-scatter and an allgather
        "fcollect": size * (pes - width),
        "alltoall": size * (pes - width) * width,
    }
    routine = routine.removesuffix(IN_KERNEL)
    half = nodes // 2
    across = {"fcollect": size * half * width, "alltoall": size * half * width * (pes - half * width)}.get(routine, 0)
    wires = max(carried.get(routine, 0), across / (links.bisection * half)) / links.far_bandwidth
    busy = max(rounds * 2 * links.message, wires)
    return links.call + rounds * links.far_latency + busy


def predict(nodes: list[int], routine: str, size: int, links: Links) -> Point:
    """Return the prediction for a call on the host with blocks of ``size`` bytes."""
    counts = rehearse(nodes, routine, size)
    return point_of(nodes, routine, size, counts, seconds_of(counts, nodes, links))


def point_of(nodes: list[int], routine: str, size: int, counts: Counts, seconds: float) -> Point:
    """Return the prediction for a call with these counts and this time."""
    whole = counts.sum(axis=0)
    messages = int(np.max(whole[:, MESSAGES_OUT] + whole[:, MESSAGES_IN]))
    far, near = whole[:, BYTES_OUT].mean(), whole[:, NEAR].mean()
    return Point(routine, len(nodes), size, seconds, far, near, messages)


def _seconds_of_tables(nodes: list[int]) -> float:
    """Compute the tables that a PE derives from the records of all PEs, and return the time in seconds."""
    records = [network.record(f"node {node}") for node in nodes]
    begun = time.perf_counter()
    found = network.nodes_of(records)
    near = [pe for pe, node in enumerate(found) if node == 0]
    heap.places(near, len(nodes)) if len(near) < len(nodes) else b""
    return time.perf_counter() - begun


def predict_init(nodes: list[int], links: Links) -> Point:
    """Return the prediction for ``init``: MPI's allgather and agreements, the exchange within a node, the tables.

    The computation of the tables from the records of all PEs is run and timed here.
    """
    pes, width = len(nodes), max(Counter(nodes).values())
    computed = min(_seconds_of_tables(nodes) for _ in range(5))
    step = links.far_latency + 2 * links.message if pes > width else links.near_latency + links.store
    rounds = math.ceil(math.log2(pes)) if pes > 1 else 0
    gathered = network.RECORD * (pes - 1)
    agreements = 2 + 2  # two of success, two new communicators
    seconds = (1 + agreements) * rounds * step + gathered * width / links.far_bandwidth
    seconds += (width - 1) * (links.open + 2 * links.near_latency) + computed
    return Point(INIT, pes, 0, seconds, gathered if pes > width else 0, 0, (1 + agreements) * rounds * 2)


def sizes_of_jobs(width: int, first: int = 16, last: int = 10_000) -> tuple[int, ...]:
    """Return numbers of PEs from ``first`` to ``last``, two for each factor of ten; large ones fill whole nodes."""
    counts, value = [], float(first)
    while value < last:
        counts.append(round(value) if value < 4 * width else round(value / width) * width)
        value *= 10**0.5
    return (*dict.fromkeys(counts), last)


def predictions(
    jobs: Sequence[int], width: int, sizes: Sequence[int], links: Links, routines: Sequence[str] = ROUTINES
) -> Iterator[Point]:
    """Yield the predictions of ``init`` and of routines for all jobs, without those of arrays larger than `MOST`."""
    for pes in jobs:
        nodes = nodes_of(pes, width)
        yield predict_init(nodes, links)
        for routine in routines:
            for size in (0,) if routine == BARRIER else sizes:
                if size * (pes if routine in BY_RECEIVERS else 1) <= MOST:
                    yield predict(nodes, routine, size, links)


def memory_of(pes: int, width: int) -> dict[str, int]:
    """Return the sizes in bytes of the parts of a PE's memory that grow with the job: in its heap, then elsewhere.

    Pages of the mirrors and of the records of PEs that leave use memory only once they are written.
    """
    layout = Layout(pes, min(width, pes))
    lines = layout.rendezvous(0) - layout.host_sync(0) + layout.meeting(TWIN) - layout.meeting(0)
    return {
        "lines of barriers, and of the steps of kernels between nodes": lines,
        "slots of collectives in kernels": layout.barriers_begun - layout.rendezvous(0),
        "slots of collectives of the host": layout.turn - layout.host_ring(0),
        "lines of active sets": layout.gave_up - layout.active_set(0, 0),
        "table of places, which kernels read": layout.alias(TWIN) if width < pes else 0,
        "the engine's state of the other PEs": _core.PEER_BYTES * pes,
        "what `init` gathers, until it ends": network.RECORD * pes,
        "records of PEs that leave": _core.departure_bytes(pes),
        "mirrors of the slots of other nodes, one for the node": MAX_TEAMS
        * _core.team_mirror_bytes(pes, layout.host_ring_bytes, layout.host_slot_bytes),
    }


def internal_bytes(pes: int, width: int) -> int:
    """Return the size in bytes of the internal part of each PE's heap."""
    return Layout(pes, min(width, pes)).size


def on_network(name: str) -> Links:
    """Return the links of a machine with one of the `NETWORKS`.

    Raises:
        ValueError: There is no such network.
    """
    if name not in NETWORKS:
        raise ValueError(f"no such network: {name}; allowed are {', '.join(NETWORKS)}")
    return Links(bisection=NETWORKS[name])


def with_costs(links: Links, costs: dict[str, float]) -> Links:
    """Return a copy of links with the costs of the given names replaced.

    Raises:
        ValueError: There is no such cost.
    """
    wrong = [name for name in costs if name not in asdict(links)]
    if wrong:
        raise ValueError(f"no such cost: {wrong[0]}; allowed are {', '.join(asdict(links))}")
    return replace(links, **costs)
