"""Records when submitted work completes, while a job is traced.

A thread polls the events of the work; without work it sleeps. While a kernel holds the interpreter's lock the thread
cannot run, and completions are recorded afterwards.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import Any

import dpctl

from ishmem.runtime.graph_recording import RecordedEvent
from ishmem.runtime.trace_file import KERNELS, Execution

POLL = 2e-4
"""Seconds between polls."""
_COMPLETE = dpctl.event_status_type.complete


class Completions:
    """The work that this PE has submitted to queues.

    Attributes:
        done: The work that has completed.
        replay_facts: Numbers that describe replays of graphs, keyed by the number of the call.
    """

    def __init__(self, most: int) -> None:
        """Create an empty record, which keeps the last ``most`` completions."""
        self.done: deque[Execution] = deque(maxlen=most)
        self.replay_facts: dict[int, dict[str, int]] = {}
        self._open: dict[int, deque[tuple[int, int, Any]]] = {}
        self._queues: dict[Any, int] = {}
        self._ends: dict[int, int] = {}
        self._lock = threading.RLock()  # a handler of a signal may call in between
        self._more, self._closed = threading.Event(), False
        self._thread: threading.Thread | None = None

    def submitted(self, result: Any, call: int, queue: Any) -> None:
        """Record the event that a call returned, alone or last in a tuple; not for a call that a graph has recorded."""
        found = result if isinstance(result, tuple) else (result,)
        event = [each for each in found if isinstance(each, dpctl.SyclEvent)][-1]
        number = KERNELS if found is result or type(event) is dpctl.SyclEvent else self._number(queue)
        if replay_facts := getattr(event, "replay_facts", None):
            self.replay_facts[call] = replay_facts
        if isinstance(event, RecordedEvent):
            return
        with self._lock:
            self._open.setdefault(number, deque()).append((call, time.monotonic_ns(), event))
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, name="ishmem-trace", daemon=True)
                self._thread.start()
        self._more.set()

    def _number(self, queue: Any) -> int:
        return self._queues.setdefault(queue, len(self._queues))

    def _watch(self) -> None:
        while not self._closed:
            self._more.wait()
            self._more.clear()
            if self.poll():
                self._more.set()
            time.sleep(POLL)

    def poll(self) -> bool:
        """Record the time of each operation that has completed; return whether any is incomplete."""
        with self._lock:
            for number, waiting in self._open.items():
                for item in list(waiting):
                    if item[2].execution_status == _COMPLETE:
                        waiting.remove(item)
                        self._add(number, item[0], item[1], time.monotonic_ns())
                    elif number != KERNELS:  # the operations of a queue complete in turn
                        break
            return any(self._open.values())

    def _add(self, queue: int, call: int, submitted: int, end: int) -> None:
        begin = submitted if queue == KERNELS else max(submitted, self._ends.get(queue, 0))
        self._ends[queue] = end or begin
        self.done.append(Execution(call, queue, begin, end))

    def close(self) -> None:
        """Stop recording, after at most 1 s; operations that are still incomplete are recorded with the end 0."""
        self._closed = True
        self._more.set()
        if self._thread is not None:
            self._thread.join(1.0)
        self.poll()
        for number, waiting in self._open.items():
            for call, submitted, _event in waiting:
                self._add(number, call, submitted, 0)
