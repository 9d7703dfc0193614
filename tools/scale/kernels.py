"""Collectives in kernels in the model of ``tools.scale``: it runs their functions in Python and counts operations.

The functions of ``ishmem.kernels`` are compiled for devices. Here they run as plain Python, with replacements of the
functions that load, store and send requests to the proxy. So the model has no copy of the algorithm.
"""

from __future__ import annotations

import functools
import inspect
import struct
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from types import CellType, CodeType, FunctionType
from typing import Any

import numpy as np
import numpy.typing as npt

from ishmem import _core
from ishmem.common.collective_table import COLLECTIVES
from ishmem.common.layout import LINE, Layout, NodeList
from ishmem.kernels import barrier, collective_calls, collectives, nodes as node_tables, rendezvous
from ishmem.kernels.options import constants_of
from ishmem.kernels.reductions_of_nodes import reduce_small
from ishmem.kernels.teams import TeamMembers
from ishmem.runtime.kernel_constants import CompileOptions
from tools.scale import model

ROUTINES = (model.BARRIER, "broadcast", "fcollect", "alltoall", "sum_reduce")
"""The predicted routines, for blocks that are sent with the rendezvous."""
_TABLE, _SLOTS, _STEPS, _RELEASE, _OWN, _OTHER = (1 << bit for bit in (40, 41, 42, 43, 44, 50))
"""Simulated addresses of the `NodeList`, slots, lines of steps and of barriers, and arrays; the offset of other PEs."""
_ITEM = 8
WORK_ITEMS = 256
"""The number of work-items of the calling work-group."""

_FIRST_STEP = 2
"""The phase of the first step; the two before it are those of a PE's first operations and their acknowledgements."""


@functools.cache
def _puts(*sizes: int) -> tuple[int, int]:
    return _core.rehearse_puts(list(sizes))


class Rehearsal:
    """Counts the operations of each PE of a job in a collective call with a small block."""

    def __init__(self, on: Sequence[int], routine: str, size: int) -> None:
        """Prepare a call of ``routine`` with blocks of ``size`` bytes; ``on`` is the node of each PE."""
        self.on, self.routine, self.size = list(on), routine, size
        self.layout = Layout(len(on), max(Counter(on).values()))
        self.steps = max(line for line, *_ in _core.pair_steps(max(on) + 1, 0)) + 1
        phases = _FIRST_STEP + self.steps + 2 + self.layout.sync_bytes // LINE
        self.counts = np.zeros((phases, len(on), _core.COUNTS), int)
        self.records: list[int] = []  # puts to another leader, until a flag follows
        self.asked: set[int] = set()  # PEs that are to acknowledge
        self.copies: Counter[int] = Counter()  # by phase; those of different work-items overlap
        self.functions: dict[Any, Any] = {}

    @property
    def payload(self) -> int:
        """The size of the largest block that is sent with a rendezvous, in bytes."""
        return self.layout.rendezvous_slot - rendezvous.PAYLOAD

    def run(self) -> npt.NDArray[np.int64]:
        """Run the call and return the counts; PEs of later nodes have those of the second node if these are equal."""
        pairwise, sizes = self.routine != model.BARRIER and COLLECTIVES[self.routine].source_blocks, Counter(self.on)
        second = [pe for pe, node in enumerate(self.on) if node == 1]
        for pe, node in enumerate(self.on):
            is_leader = pe == 0 or node != self.on[pe - 1]
            if node > 1 and (sizes[node] == len(second) if pairwise else not is_leader):
                self.counts[:, pe] = self.counts[:, second[(pe - second[0]) % len(second)]]
            else:
                self._call(pe)
        if pairwise:  # each PE receives as much as it sends
            sent = self.counts[:, :, [model.MESSAGES_OUT, model.BYTES_OUT]]
            self.counts[:, :, [model.MESSAGES_IN, model.BYTES_IN]] = sent
        return self.counts

    def _call(self, pe: int) -> None:
        """Run the call as a PE, and add its counts."""
        self.me, self.phase, self.in_barrier = pe, 0, False
        table = NodeList.of(list(range(len(self.on))), pe, self.on, _core.pair_steps)
        assert table is not None
        packed = table.pack()
        self.words = struct.unpack(f"<{len(packed) // 8}q", packed)
        self.copies.clear()
        if self.routine == model.BARRIER:
            self._barrier()
        else:
            self._collective()
        for phase, copies in self.copies.items():
            self.counts[phase, pe, model.STORES] += -(-copies // WORK_ITEMS)

    def _collective(self) -> None:
        flow, count = collective_calls.flow_of(COLLECTIVES[self.routine]), self.size // _ITEM
        call = collective_calls.CollectiveCall(flow, 0, 0, _OWN, 0, _OWN, 0, _ITEM, count, 0, 1, 1, 0)
        if self.routine == "sum_reduce":
            self._run(reduce_small, 0, call, count, None)
        else:
            self._run(collectives.exchange, call, None)

    # ---- device functions as functions of Python

    def _run(self, function: Any, *arguments: Any) -> Any:
        """Call the Python function of a device function, with `_fakes`; return its result."""
        return self._bare(function)(*arguments)

    def _bare(self, function: Any) -> Any:
        original = inspect.unwrap(function)
        if original not in self.functions:
            bare = self._with_fakes(original)
            chooses = function.__wrapped__ is original  # ``compiled`` wraps twice
            self.functions[original] = (lambda *given: bare(*given)(*given)) if chooses else bare
        return self.functions[original]

    def _with_fakes(self, original: Any) -> FunctionType:
        """Return a copy of a function whose globals are Python functions of device functions, or `_fakes`."""
        names: dict[str, Any] = {}
        cells = tuple(CellType(self._usable("", cell.cell_contents)) for cell in original.__closure__ or ())
        made = FunctionType(original.__code__, names, original.__name__, original.__defaults__, cells)
        for name in _names(original.__code__):
            if name in original.__globals__:
                names[name] = self._usable(name, original.__globals__[name])
        return made

    def _usable(self, name: str, value: Any) -> Any:
        fakes = self._fakes()
        return fakes[name] if name in fakes else self._bare(value) if hasattr(value, "__wrapped__") else value

    @functools.cache  # noqa: B019  # there are few
    def _fakes(self) -> dict[str, Any]:
        wide = self.layout.wide if self.layout.is_large else 0
        here, lines = lambda *_arguments: 0, _RELEASE + LINE - _STEPS
        fakes: dict[str, Callable[..., Any]] = {
            "load_word": self._load, "store_word": self._store, "store_flag": self._flag, "copy_bytes": self._copy,
            "copy_by_proxy": self._put, "put_steps": self._transfer, "await_line": self._await,
            "complete_before_flag": self._complete, "order_before_flag": self._complete, "release": self._release,
            "end_phase": here, "team_records": here, "sync_bytes": here, "group_barrier": here,
            "step_bytes": lambda: 2 * lines, "step_lines": lambda: _STEPS - lines,  # the rendezvous is odd
            "sync_lines": lambda: _RELEASE, "slots_of": lambda *_team: _SLOTS,
            "header_at": lambda begin, member: begin + member * rendezvous.PAYLOAD,
            "pe_count": lambda: len(self.on),
            "max_payload": lambda: self.payload, "reachable": self._is_near, "is_member": lambda _call: True,
            "members_of": lambda _team: TeamMembers(0, 1, len(self.on), self.me), "rank_in": here,
            "combine_two": here,  # computation is not counted
            "size_of": lambda _group: 1, "peer_delta": lambda pe: 0 if pe == self.me else _OTHER,
        }  # fmt: skip
        return {**fakes, **constants_of(CompileOptions(spans=True, levels=True, wide=wide))}

    def _is_near(self, pe: int) -> bool:
        return self.on[pe] == self.on[self.me]

    def _load(self, address: int) -> int:
        if address == node_tables.NODES:
            return _TABLE
        return self.words[(address - _TABLE) // 8] if _TABLE <= address < _SLOTS else 1

    # ---- counts

    @property
    def _after(self) -> int:
        """The number of the phase after the rendezvous."""
        return _FIRST_STEP + self.steps + 1

    def _phase_of(self, line: int) -> int:
        """Return the phase in which a PE waits for the flag at address ``line``: of a slot, a step or a barrier."""
        near = (self.layout.width - 1).bit_length()
        if line < _STEPS:
            return self.phase
        if line < _RELEASE - LINE * near:
            return _FIRST_STEP + (line - _STEPS) // LINE
        if line < _RELEASE:  # the barrier on a node after an exchange between nodes
            return self._after + 1 + near - (_RELEASE - line) // LINE
        number = (line - _RELEASE) // LINE
        if self.in_barrier:
            return self._after + (number or self.layout.sync_bytes // LINE)
        return self._after - 1

    def _near(self, phase: int, nbytes: int) -> None:
        self.counts[phase, self.me, [model.STORES, model.NEAR]] += 1, nbytes

    def _far(self, phase: int, pe: int, *puts: int) -> None:
        traffic, half = _puts(*puts), model.first_half(self.on)
        if (self.on[pe] < half) != (self.on[self.me] < half):
            self.counts[phase, self.me, model.BYTES_ACROSS] += traffic[1]
        self.counts[phase, self.me, [model.MESSAGES_OUT, model.BYTES_OUT]] += traffic
        self.counts[phase, pe, [model.MESSAGES_IN, model.BYTES_IN]] += traffic

    def _store(self, address: int, _value: int) -> None:
        if address >= _OTHER:
            self._near(self.phase, 8)

    def _copy(self, to: int, origin: int, nbytes: int, *_rank: int) -> None:
        if max(to, origin) >= _OTHER:
            self.copies[self.phase] += 1
            self.counts[self.phase, self.me, model.NEAR] += nbytes

    def _transfer(self, pe: int, *arguments: int) -> None:
        if not self._is_near(pe):
            self._far(self.phase, pe, self.size)
            self.asked.add(pe)
        elif pe != self.me:
            self._near(self.phase, self.size)

    def _put(self, _kind: int, _pe: int, _remote: int, _local: int, nbytes: int) -> int:
        self.records.append(nbytes)
        return 0

    def _flag(self, pe: int, address: int, _number: int) -> None:
        phase = self._phase_of(address)
        if not self._is_near(pe):
            self._far(phase, pe, *self.records, 8)
            self.records.clear()
        elif pe != self.me:
            self._near(phase, 8)

    def _await(self, line: int, _number: int, _pe: int, _site: object) -> None:
        self.phase = max(self.phase, self._phase_of(line))

    def _complete(self) -> None:
        """Count the acknowledgements of all puts: this PE sends as many as it receives, to the same PEs."""
        for pe in self.asked:
            self._far(self.phase + 1, pe, 8)
        self.asked.clear()

    def _release(self, *arguments: Any) -> None:
        self._run(barrier.release, *arguments)
        self.phase = self._after

    def _barrier(self) -> None:
        self.in_barrier = True
        self._run(barrier.barrier_of_nodes, 0, None)


def _names(code: CodeType) -> set[str]:
    """Return the names of globals and attributes in the code of a function and of its inner functions."""
    inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return set(code.co_names).union(*map(_names, inner))


def predict(nodes: list[int], routine: str, size: int, links: model.Links) -> model.Point:
    """Return the prediction for a call in a kernel with a block that is sent with the rendezvous."""
    counts = Rehearsal(nodes, routine, size).run()
    asked = int(counts[:, :, model.MESSAGES_OUT].any(axis=1).sum())
    seconds = model.seconds_of(counts, nodes, links) + 2 * links.proxy * asked
    return model.point_of(nodes, routine + model.IN_KERNEL, size, counts, seconds)


def predictions(jobs: Sequence[int], width: int, sizes: Sequence[int], links: model.Links) -> Iterator[model.Point]:
    """Yield the predictions for all jobs on several nodes and all blocks that are sent with the rendezvous."""
    for nodes in (model.nodes_of(pes, width) for pes in jobs if pes > width):
        for routine in ROUTINES:
            for size in (0,) if routine == model.BARRIER else sizes:
                if size <= Rehearsal(nodes, routine, size).payload:
                    yield predict(nodes, routine, size, links)
