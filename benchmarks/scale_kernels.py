"""Collectives in kernels in the model of ``ishmem bench scale``: their own functions run, in Python, and are counted.

The functions of ``ishmem.kernels`` are compiled for devices. Here they run as what they are written in, with other
functions in the place of those that load, store and ask the proxy. So the model has no copy of the algorithm.
"""

from __future__ import annotations

import inspect
import struct
from collections import Counter
from collections.abc import Iterator, Sequence
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from ishmem import _core
from ishmem.benchmarks.scale import (
    BYTES_ACROSS,
    BYTES_IN,
    BYTES_OUT,
    IN_KERNEL,
    MESSAGES_IN,
    MESSAGES_OUT,
    NEAR,
    STORES,
    Links,
    Point,
    first_half,
    nodes_of,
    point_of,
    seconds_of,
)
from ishmem.common.collective_table import COLLECTIVES
from ishmem.common.layout import LINE, Layout, NodeList
from ishmem.kernels import nodes as node_tables, rendezvous, rendezvous_of_nodes, slots
from ishmem.kernels.teams import Members

ROUTINES = ("broadcast", "fcollect", "sum_reduce")
"""Routines whose small blocks travel with the rendezvous, of those of ``ishmem.benchmarks.scale``."""
_TABLE, _SLOTS, _STEPS, _RELEASE, _OTHER = (1 << bit for bit in (40, 41, 42, 43, 50))
"""Addresses: the `NodeList`; slots; lines of steps and of the release; the distance to the heap of another PE."""
_ITEM = 8


class Rehearsal:
    """Counts what the PEs of a job do in a rendezvous with a small block."""

    def __init__(self, on: Sequence[int], routine: str, size: int) -> None:
        """Prepare for PEs on the nodes ``on``."""
        self.on, self.size, self.flow = list(on), size, rendezvous.flow_of(COLLECTIVES[routine])
        self.layout = Layout(len(on), max(Counter(on).values()))
        self.steps = max(line for line, *_ in _core.pair_steps(max(on) + 1, 0)) + 1
        self.counts = np.zeros((self.steps + 3, len(on), _core.COUNTS), np.int64)
        self.records: list[int] = []
        self.functions: dict[Any, FunctionType] = {}

    @property
    def payload(self) -> int:
        """Bytes of the largest block that travels with a rendezvous."""
        return self.layout.rendezvous_slot - slots.PAYLOAD

    def run(self) -> npt.NDArray[np.int64]:
        """Run the rendezvous as the PEs that differ; the PEs of other nodes do as those of the second node near by."""
        first = [pe for pe, node in enumerate(self.on) if node < 2]
        for pe in first:
            self._act(pe)
            members = Members(0, 1, len(self.on), pe)
            call = SimpleNamespace(root=0, source=_OTHER - 1, sst=1, itemsize=_ITEM)
            count = self.size // _ITEM
            self._run(rendezvous.put_small_blocks, members, _SLOTS, call, count, self.flow, True)
            self._run(rendezvous_of_nodes.meet_by_nodes, 0, members, _SLOTS, 1, 0, count, count, _ITEM, self._root())
        second = [pe for pe in first if self.on[pe] == 1]
        for pe in range(len(first), len(self.on)):
            like = second[(pe - len(first)) % len(second)]
            self.counts[:, pe, [STORES, NEAR]] = self.counts[:, like, [STORES, NEAR]]
            if self.on[pe] != self.on[pe - 1]:
                self._act(pe)
                nodes = self._run(node_tables.nodes_of, 0)
                self._run(rendezvous_of_nodes.exchange_slots, nodes, _SLOTS, _STEPS, 1, _ITEM, self._root())
        return self.counts

    def _root(self) -> int:
        return 0 if self.flow.from_root else -1

    def _act(self, pe: int) -> None:
        """Become a PE."""
        self.me = pe
        table = NodeList.of(list(range(len(self.on))), pe, self.on, _core.pair_steps)
        assert table is not None
        packed = table.pack()
        self.words = struct.unpack(f"<{len(packed) // 8}q", packed)

    def _run(self, function: Any, *arguments: Any) -> Any:
        """Call what a device function is made of."""
        return self._bare(function)(*arguments)

    def _bare(self, function: Any) -> FunctionType:
        original = inspect.unwrap(function)
        if original not in self.functions:
            names: dict[str, Any] = {}
            self.functions[original] = FunctionType(original.__code__, names, original.__name__, original.__defaults__)
            fakes = self._fakes()
            for name in original.__code__.co_names:
                value = original.__globals__.get(name)
                if name in fakes:
                    names[name] = fakes[name]
                elif hasattr(value, "__wrapped__"):
                    names[name] = self._bare(value)
                elif value is not None:
                    names[name] = value
        return self.functions[original]

    def _fakes(self) -> dict[str, Any]:
        nothing = lambda *_arguments: None  # noqa: E731
        slot = self.layout.rendezvous_slot
        return {
            "load_word": self._load, "store_word": self._store, "store_flag": self._flag, "copy_bytes": self._copy,
            "copy_by_proxy": self._put, "transfer_steps": self._transfer, "await_line": nothing,
            "complete_before_flag": nothing, "are_compared": lambda: False, "team_records": lambda: 0,
            "meeting_lines": lambda: _STEPS, "meeting_bytes": lambda: 0, "sync_lines": lambda: _RELEASE,
            "sync_bytes": lambda: 0, "slot_bytes": lambda: slot, "max_payload": lambda: self.payload,
            "slot_at": lambda begin, member: begin + member * slot, "reachable": self._is_near,
            "peer_delta": lambda pe: 0 if pe == self.me else _OTHER,
        }  # fmt: skip

    def _is_near(self, pe: int) -> bool:
        return self.on[pe] == self.on[self.me]

    def _load(self, address: int) -> int:
        if address == node_tables.NODES:
            return _TABLE
        return self.words[(address - _TABLE) // 8] if address < _SLOTS else self.size // _ITEM

    def _near(self, phase: int, nbytes: int) -> None:
        self.counts[phase, self.me, [STORES, NEAR]] += 1, nbytes

    def _store(self, address: int, _value: int) -> None:
        if address >= _OTHER:
            self._near(0, 8)

    def _copy(self, to: int, origin: int, nbytes: int, *_rank: int) -> None:
        if max(to, origin) >= _OTHER:
            self._near(self.steps + 2, nbytes)

    def _transfer(self, _put: int, pe: int, *arguments: int) -> None:
        if pe != self.me:
            self._near(0, self.size)

    def _put(self, _kind: int, _pe: int, _remote: int, _local: int, nbytes: int) -> int:
        self.records.append(nbytes)
        return 0

    def _flag(self, pe: int, address: int, _number: int) -> None:
        if self._is_near(pe):
            if pe != self.me:
                self._near(self.steps + 1 if address >= _RELEASE else 0, 8)
            return
        phase, records = 1 + (address - _STEPS) // LINE, [*self.records, 8]
        self.records.clear()
        traffic, half = _core.rehearse_puts(records), first_half(self.on)
        if (self.on[pe] < half) != (self.on[self.me] < half):
            self.counts[phase, self.me, BYTES_ACROSS] += traffic[1]
        self.counts[phase, self.me, [MESSAGES_OUT, BYTES_OUT]] += traffic
        self.counts[phase, pe, [MESSAGES_IN, BYTES_IN]] += traffic


def predict(nodes: list[int], routine: str, size: int, links: Links) -> Point:
    """Return the prediction for a call in a kernel, whose block travels with the rendezvous."""
    counts = Rehearsal(nodes, routine, size).run()
    asked = int(counts[:, :, MESSAGES_OUT].any(axis=1).sum())
    seconds = seconds_of(counts, nodes, links) + 2 * links.proxy * asked
    return point_of(nodes, routine + IN_KERNEL, size, counts, seconds)


def predictions(jobs: Sequence[int], width: int, sizes: Sequence[int], links: Links) -> Iterator[Point]:
    """Yield the predictions for all jobs on several nodes, of blocks that travel with the rendezvous."""
    for nodes in (nodes_of(pes, width) for pes in jobs if pes > width):
        for routine in ROUTINES:
            for size in sizes:
                if size <= Rehearsal(nodes, routine, size).payload:
                    yield predict(nodes, routine, size, links)
