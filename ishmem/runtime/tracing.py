"""Observes the calls of this PE: a trace of them (``ISHMEM_TRACE``), counters (``ISHMEM_STATS``), and ITT tasks.

The core records calls in memory (ishmem/core/tracing.cpp); the trace is written when this PE leaves the job, after an
error too. This module is loaded only when one of them is requested.
"""

from __future__ import annotations

import contextlib
import re
import socket
import sys
import threading
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from rich.filesize import decimal

from ishmem import _core
from ishmem.runtime.completions import Completions
from ishmem.runtime.instruments import Instruments
from ishmem.runtime.itt import marks
from ishmem.runtime.trace_file import NAME, Facts, Shown, TraceFile, unpack

if TYPE_CHECKING:
    from ishmem.runtime.job import Job

MOST = 1 << 18
"""Most calls of a PE in a trace, the last ones; each occupies 64 bytes of memory."""
_ROWS = 8  # of the statistics


class Observer:
    """Observes the calls of this PE from ``init`` to its end.

    Attributes:
        leaving: When ``finalize`` was called, in nanoseconds of ``time.monotonic_ns``; 0: it was not.
        how: The way in which this PE leaves the job, for the trace.
    """

    def __init__(self, this: Job, began: int, offset: int) -> None:
        """Start observing.

        Args:
            this: The job of this PE.
            began: When ``init`` was called, in nanoseconds.
            offset: Nanoseconds to add to this node's clock to get that of node 0.
        """
        self.leaving, self.how, self._graphs = 0, "finalize", 0
        self._this, self._began, self._offset, self._stopped = this, began, offset, threading.Lock()
        self._folder = self._prepared(this.settings.trace) if this.settings.trace else None
        self._completions = Completions(MOST)
        _core.trace_start(MOST if self._folder else 0)
        self._instruments = Instruments(self._completions.submitted if self._folder else None, marks())
        self._ready = time.monotonic_ns()

    def _prepared(self, name: str) -> Path | None:
        """Create folder ``name`` without files of an earlier job; return its path; on an error warn and return None."""
        folder, this = Path(name), self._this
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for old in folder.glob(NAME.format("*")):
                number = re.fullmatch(NAME.format(r"(\d+)"), old.name)
                if number and (int(number[1]) == this.pe or (this.node.place == 0 and int(number[1]) >= this.n_pes)):
                    old.unlink(missing_ok=True)
        except OSError as error:
            warnings.warn(f"PE {this.pe} writes no trace to {name}: {error}", RuntimeWarning, stacklevel=4)
            return None
        return folder

    def stop(self) -> None:
        """Stop observing, write the trace and print the counters, in the first call only; print errors of the file."""
        if not self._stopped.acquire(blocking=False):
            return
        end = time.monotonic_ns()
        self._instruments.remove()
        self._completions.close()
        if self._folder:
            try:
                self._write(self._folder, end)
            except OSError as error:
                print(f"ishmem: PE {self._this.pe} has written no trace: {error}", file=sys.stderr)
        if self._this.settings.stats:
            with contextlib.suppress(OSError):
                sys.stderr.write(self._counters(end))
        _core.trace_stop()

    def _write(self, folder: Path, end: int) -> None:
        raw, first = _core.trace_events()
        events, this, done = unpack(raw), self._this, list(self._completions.done)
        routines = [Shown(each.shown, each.categories) for each in self._instruments.all]
        facts = Facts(this.pe, this.n_pes, socket.gethostname(), self._offset, self.how, first)
        file = TraceFile(facts, routines, list(_core.trace_labels()), end)
        file.name_tracks(_thread_names(), sorted({each.queue for each in done if each.queue >= 0}))
        file.add_span("init", self._began, self._ready)
        replay_facts = self._completions.replay_facts
        for number, event in enumerate(events, first):
            file.add_call(event, replay_facts.get(number, {}))
        for each in done:
            if each.call >= first:
                file.add_execution(events[each.call - first], each, replay_facts.get(each.call, {}))
        if self.leaving:
            file.add_span("finalize", self.leaving, end)
        file.write(folder)

    def bytes_of_calls(self) -> int:
        """Return the bytes of all calls so far that a graph may record: on queues, and of inference and moe."""
        found = (each for each in self._instruments.all if each.is_recordable)
        return sum(each.traced.__counters__[2] for each in found)

    def facts_of_graph(self, nodes: int, copies: int, nbytes: int) -> dict[str, int]:
        """Number a graph of ``nodes`` commands, ``copies`` of them copies, and ``nbytes``; return facts for a trace."""
        self._graphs += 1
        return {"graph": self._graphs, "nodes": nodes, "launches": nodes - copies, "bytes": nbytes}

    def _counters(self, end: int) -> str:
        """Return text lines with the counters of the routines that took the most time."""
        counted = [(each.shown, *each.traced.__counters__) for each in self._instruments.all]
        used = sorted((row for row in counted if row[1]), key=lambda row: -row[2])
        calls, seconds = sum(row[1] for row in used), sum(row[2] for row in used) / 1e9
        whole = (end - self._began) / 1e9
        lines = [f"PE {self._this.pe} of {self._this.n_pes}: {whole:.2f} s, {seconds:.2f} s of it in {calls} calls"]
        for name, count, nanoseconds, nbytes in used[:_ROWS]:
            size = f"  {decimal(nbytes)}" if nbytes else ""
            lines.append(f"  {name:<24}{count:>9} calls {nanoseconds / 1e9:>9.4f} s{size}")
        if used[_ROWS:]:
            rest = sum(row[2] for row in used[_ROWS:]) / 1e9
            lines.append(f"  {len(used) - _ROWS} other routines {rest:.4f} s")
        if (network := self._this.network) and network.device_memory:
            lines.append(f"  {network.direct_payloads} payloads between nodes by device address")
        if network and network.staged_payloads:
            lines.append(f"  {network.staged_payloads} payloads between nodes by the copy engine, through host memory")
        return "\n".join(lines) + "\n"


def _thread_names() -> list[str]:
    """Return a name for each thread that has made calls, in the order of their first calls."""
    known = {thread.ident: thread.name for thread in threading.enumerate()}
    names = [f"host, {known.get(ident, 'a thread that has ended')}" for ident in _core.trace_threads()]
    return names or ["host"]
