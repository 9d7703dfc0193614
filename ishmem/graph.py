"""Graphs: commands submitted to a queue in a block are recorded once and replayed by one call, on the same arrays.

A recording may contain kernels of programs, the calls of `inference.Communicator`, ``low_latency_dispatch`` and
``low_latency_combine`` of `moe.Buffer`, and the on-queue forms that run on the device without the host. Replayed
commands run in the order of the recorded calls. A queue that SYCL's own graphs record works too; `Graph` is for Python.

Recorded calls return at once, with events that only later calls of the recording may depend on. All PEs record the same
collective calls, and replay them equally often. Other calls, and operations of dpnp, must not be in a recording: an
on-queue form that needs the host raises ``IshmemError`` there.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import dpctl

from ishmem import _core
from ishmem.common.errors import IshmemError, StateError
from ishmem.ipc import pyze
from ishmem.runtime import graph_recording, job, unfinished_work
from ishmem.runtime.queue_workers import events_of

if TYPE_CHECKING:
    from ishmem.on_queue import Depends, Queue

__all__ = ["Graph"]


class Graph:
    """Commands of a queue, recorded once and replayed.

    It holds references to the arrays of its commands. Call collective ``free`` routines only after the last replay.
    With a SYCL library before that of 2026, its construction raises ``IshmemError``.

    Example:
        >>> x = dpnp.zeros(4)
        >>> tp = ishmem.inference.Communicator(1 << 10)
        >>> y, graph = dpnp.ones(4, dtype="f4"), ishmem.graph.Graph()
        >>> with graph.record(y.sycl_queue):
        ...     event = tp.all_reduce(y)
        >>> graph.replay().wait()
        >>> bool((y == n).all())
        True
        >>> tp.free()
    """

    def __init__(self) -> None:
        if not graph_recording.HAS_GRAPHS:
            raise IshmemError("this SYCL library has no graphs that can be recorded; allowed are those from 2026 on")
        self._executable: Any = None
        self._queue: dpctl.SyclQueue | None = None
        self._recorded: graph_recording.Recording | None = None
        self._replay_facts: dict[str, int] = {}  # figures of one replay, for a trace

    @contextlib.contextmanager
    def record(self, queue: Queue = None) -> Iterator[Graph]:
        """Record the commands that the ``with`` block submits to a queue; none of them runs before the first replay.

        The value of the block's ``as`` is the graph. Not collective.

        Args:
            queue: The queue of the arrays, or a stream of torch; by default torch's current stream if torch has the
                device of the heap, else the heap's queue.

        Raises:
            StateError: The graph has a recording already, or not between ``init`` and ``finalize``.
            ValueError: The queue is being recorded already.

        Source: torch.cuda.graph; SYCL, command_graph::begin_recording.
        """
        if self._queue is not None:
            raise StateError("the graph was recorded before; make another one")
        queue = job.current().queue_workers.given(queue)
        if graph_recording.of(queue) is not None:
            raise ValueError("the queue is recorded already; a queue has one recording at a time")
        observer = job.current().observer
        moved = observer.bytes_of_calls() if observer else 0
        with graph_recording.to_graph(queue) as begun:
            yield self
        self._recorded, self._queue = begun, queue
        if observer:
            self._replay_facts = observer.facts_of_graph(begun.nodes, begun.copies, observer.bytes_of_calls() - moved)
        self._executable = _core.finalize_graph(begun.graph)

    def replay(self, queue: Queue = None, depends: Depends = None) -> dpctl.SyclEvent:
        """Submit all recorded commands to a queue and return the event of their completion.

        Not collective, not blocking. They start after ``depends``, after the previous replay, after the last direct
        call of each recorded `inference.Communicator` and `moe.Buffer`, and after dpnp's earlier operations on the
        queue; dpnp's later operations on the queue start after them.

        Args:
            queue: A queue or a stream of torch; by default the recorded queue.
            depends: Events that must have completed before the commands start.

        Raises:
            StateError: Nothing was recorded, or not between ``init`` and ``finalize``.

        Source: torch.cuda.CUDAGraph.replay.
        """
        this = job.current()
        if self._recorded is None or self._queue is None:
            raise StateError("the graph has no recording; record one before the first replay")
        queue = self._queue if queue is None else this.queue_workers.given(queue)
        before = [*events_of(depends), *unfinished_work.before(queue)]
        before += [each.last for each in self._recorded.calls if each.last is not None]
        calls = pyze.driver_calls() if self._replay_facts else None
        capsule = _core.submit_graph(self._executable, queue.addressof_ref(), [each.addressof_ref() for each in before])
        event = graph_recording.ReplayEvent(capsule)
        event.replay_facts = dict(self._replay_facts)
        if calls is not None:
            event.replay_facts["driver calls"] = (pyze.driver_calls() or 0) - calls
        for each in self._recorded.calls:
            each.last = event
        unfinished_work.put_before_dpnp(queue, event)
        this.waits.submitted("of a graph", event)
        return event
