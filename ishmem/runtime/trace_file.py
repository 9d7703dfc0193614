"""The file of one PE's trace, in the Trace Event Format that Perfetto and ``chrome://tracing`` read.

Each PE is a process of the trace. Its threads have the tracks from 0 on, its queues those from `QUEUE` on. Times are
microseconds of the ``CLOCK_MONOTONIC`` of node 0.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ishmem.common.constants import Cmp
from ishmem.common.shared_numbers import CALL_FORMATS, CallFlag, TracedCall

NAME = "pe-{}.json"
QUEUE = 1000
"""The track of the first queue."""

KERNELS = -1
"""The number for the queues of kernels, several of which may run at the same time."""

_LAYOUT = np.dtype(list(zip(TracedCall._fields, CALL_FORMATS)))


class Execution(NamedTuple):
    """Work that a call has submitted to a queue.

    Attributes:
        call: The number of the call that has submitted it.
        queue: The number of its queue, or `KERNELS`.
        begin, end: The times of its turn and of the poll that found it complete, in nanoseconds; ``end`` 0: incomplete.
    """

    call: int
    queue: int
    begin: int
    end: int


def unpack(raw: bytes) -> list[TracedCall]:
    """Return the calls that the core has recorded in ``raw``."""
    return [TracedCall(*each) for each in np.frombuffer(raw, _LAYOUT).tolist()]


class Shown(NamedTuple):
    """The name of a routine in the trace, and its categories separated by commas."""

    name: str
    categories: str


class Facts(NamedTuple):
    """The facts about a PE in the file of its trace.

    Attributes:
        pe, n_pes: Its number, and the number of PEs.
        host: The name of its node.
        offset: Nanoseconds to add to its clock to get that of node 0.
        ended: How this PE has left the job.
        lost: Number of calls, the oldest ones, that are not in the trace for lack of room.
    """

    pe: int
    n_pes: int
    host: str
    offset: int
    ended: str
    lost: int


class TraceFile:
    """Writes the events of a PE as JSON, one event a line."""

    def __init__(self, facts: Facts, routines: list[Shown], kernels: list[str], now: int) -> None:
        """Start without events; they have indices of ``routines`` and ``kernels``; unfinished work ends at ``now``."""
        self._facts, self._routines, self._kernels, self._now = facts, routines, kernels, now
        self._lines: list[str] = []

    def write(self, folder: Path) -> None:
        """Write the file ``pe-N.json`` to ``folder`` in one step: no reader sees a part of it."""
        path = folder / NAME.format(self._facts.pe)
        new = path.with_suffix(".part")
        with new.open("w", encoding="utf-8") as file:
            file.write(f'{{"displayTimeUnit":"ns","otherData":{json.dumps(self._facts._asdict())},"traceEvents":[\n')
            file.write(",\n".join(self._lines))
            file.write("\n]}\n")
        os.replace(new, path)

    def name_tracks(self, threads: list[str], queues: Iterable[int]) -> None:
        """Name the process, the tracks of ``threads``, in order, and those of the queues with these numbers."""
        self._add("M", 0, name="process_name", args={"name": f"PE {self._facts.pe}"})
        self._add("M", 0, name="process_sort_index", args={"sort_index": self._facts.pe})
        names = dict(enumerate(threads))
        names.update({QUEUE + queue: f"queue {queue}" for queue in queues})
        for track, name in names.items():
            self._add("M", track, name="thread_name", args={"name": name})
            self._add("M", track, name="thread_sort_index", args={"sort_index": track})

    def add_span(self, name: str, begin: int, end: int) -> None:
        """Add a slice of the first thread for a call that the core has not recorded; its times are in nanoseconds."""
        self._slice(0, begin, end, name, "setup,collective", {})

    def add_call(self, event: TracedCall, replay_facts: dict[str, int]) -> None:
        """Add the slice of a call; ``replay_facts`` describe the graph that it replays, and are empty if none."""
        self._slice(event.thread, event.begin, event.end, *self._shown(event), {**_arguments(event), **replay_facts})

    def add_execution(self, event: TracedCall, work: Execution, replay_facts: dict[str, int]) -> None:
        """Add the work that a call has submitted to a queue, and an arrow from the call to it."""
        name, arguments, track = self._shown(event).name, {**_arguments(event), **replay_facts}, QUEUE + work.queue
        key = f"{self._facts.pe}.{work.call}"
        if work.queue == KERNELS:  # those of several queues may overlap: not slices of one track
            self._add("b", 0, work.begin, name=name, cat="queue", id=key, args=arguments)
            self._add("e", 0, work.end or self._now, name=name, cat="queue", id=key)
            return
        self._add("s", event.thread, event.begin, name="submits", cat="queue", id=key)
        self._slice(track, work.begin, work.end, name, "queue", arguments)
        self._add("f", track, work.begin, name="submits", cat="queue", id=key, bp="e")

    def _slice(self, track: int, begin: int, end: int, name: str, category: str, arguments: dict[str, Any]) -> None:
        arguments = arguments if end else {**arguments, "unfinished": True}
        self._add("X", track, begin, name=name, cat=category, dur=((end or self._now) - begin) / 1000, args=arguments)

    def _add(self, phase: str, track: int, time: int | None = None, **fields: Any) -> None:
        line: dict[str, Any] = {"ph": phase, "pid": self._facts.pe, "tid": track}
        if time is not None:
            line["ts"] = (time + self._facts.offset) / 1000
        self._lines.append(json.dumps({**line, **fields}, separators=(",", ":")))

    def _shown(self, event: TracedCall) -> Shown:
        shown = self._routines[event.routine]
        return shown._replace(name=f"{shown.name}({self._kernels[event.label - 1]})") if event.label else shown


def _arguments(event: TracedCall) -> dict[str, Any]:
    """Return the recorded arguments of a call by name, without empty ones; places are offsets in the symmetric heap."""
    return dict(_found(event))


def _found(event: TracedCall) -> Iterator[tuple[str, Any]]:
    if event.pe >= 0:
        yield "root" if event.flags & CallFlag.ROOTED else "pe", event.pe
    if event.bytes:
        yield "bytes", event.bytes
    if event.flags & CallFlag.WHOLE:
        yield "whole", True
    if event.size:
        yield "team", f"{event.start}:{event.stride}:{event.size}"
    if event.offset >= 0:
        yield "at", event.offset
    if event.cmp:
        yield "cmp", Cmp(event.cmp).name
    if event.flags & CallFlag.HAS_VALUE:
        yield "value", event.value
    if event.flags & CallFlag.ADDS:
        yield "adds", True
    if event.flags & CallFlag.RAISED:
        yield "raised", True
