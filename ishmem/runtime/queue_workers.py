"""What the on-queue operations run on: per SYCL queue a *worker*, in which each operation follows the one before.

Copies are submitted to the queue itself. A step of the host (a wait, a signal, a ``quiet``) runs on a thread of
the worker when its turn has come, and opens a *gate*, an event that commands of the queue wait for: so nothing spins on
the device, where it could keep the kernel away that it waits for.
"""

from __future__ import annotations

import ctypes
import logging
import threading
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Callable

import dpctl
import dpctl.memory
import dpctl.tensor

from ishmem import _core
from ishmem.common.errors import WaitTimeout
from ishmem.ipc import native, pyze

if TYPE_CHECKING:
    from ishmem.ipc.exchange import Links
    from ishmem.runtime.heap import SymmetricHeap

log = logging.getLogger("ishmem")

Events = list[dpctl.SyclEvent]
_COMPLETE = dpctl.event_status_type.complete
_POOL = 64  # native events made at a time
POLL = 5e-5
SLICE = 0.1
"""Seconds after which a wait of a worker's thread looks whether the job has ended."""


@dataclass
class _Submitted:
    """An operation, and what must live until it has completed."""

    event: dpctl.SyclEvent
    keep: Any
    gate: int | None = None


class _Gates:
    """Native events that the host opens, used again and again."""

    def __init__(self, heap: SymmetricHeap) -> None:
        self._context, self._sycl_context = heap.context, heap.queue.sycl_context
        self._pools: list[int] = []
        self._made: list[int] = []
        self._free: list[int] = []
        self._lock = threading.Lock()

    def take(self) -> tuple[int, dpctl.SyclEvent]:
        """Return a closed gate and the SYCL event that stands for it."""
        with self._lock:
            if not self._free:
                self._pools.append(pyze.create_event_pool(self._context, _POOL))
                self._free = [pyze.create_event(self._pools[-1], index) for index in range(_POOL)]
                self._made += self._free
            gate = self._free.pop()
        return gate, native.sycl_event(gate, self._sycl_context)

    def give(self, gate: int) -> None:
        """Take back a gate that no command waits for any more."""
        pyze.zeEventHostReset(gate)
        with self._lock:
            self._free.append(gate)

    def close(self) -> None:
        """Destroy all."""
        for gate in self._made:
            pyze.zeEventDestroy(gate)
        for pool in self._pools:
            pyze.zeEventPoolDestroy(pool)


class QueueWorker:
    """The on-queue operations of one SYCL queue.

    Attributes:
        queue: Where the commands go: an in-order queue itself. For others a queue of the worker's own, since a command
            that waits would hold up all that the user and dpnp submit to the same queue after it.
        problem: The error of a step of the host, for the next call.
    """

    def __init__(self, queue: dpctl.SyclQueue, gates: _Gates, heap: SymmetricHeap) -> None:
        self.queue = queue if queue.is_in_order else dpctl.SyclQueue(queue.sycl_context, queue.sycl_device)
        self.problem: Exception | None = None
        self._gates, self._heap = gates, heap
        self._nothing = dpctl.memory.MemoryUSMDevice(64, queue=self.queue)
        self._submitted: deque[_Submitted] = deque()
        self._last: dpctl.SyclEvent | None = None
        self._lock = threading.RLock()
        self._steps: SimpleQueue[tuple[Events, Callable[[], None], int] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self.closing = threading.Event()

    def together(self) -> threading.RLock:
        """Return the lock that keeps the operations of other threads from between those of this one."""
        return self._lock

    def submit(
        self, depends: Events, start: Callable[[Events], dpctl.SyclEvent], keep: Any, collective: bool = False
    ) -> dpctl.SyclEvent:
        """Submit commands that start after ``depends`` and after the operation before.

        Here and in ``step``: the error of an earlier step is raised instead, unless this is a part of a collective
        operation, for which other PEs wait: its caller takes the error before, and raises it afterwards.
        """
        with self._lock, self._heap.naming_loss():
            if not collective:
                self._raise_problem()
            return self._record(start(self._before(depends)), keep)

    def step(
        self, depends: Events, action: Callable[[], None], result: Any = None, keep: Any = None,
        collective: bool = False,
    ) -> dpctl.SyclEvent:  # fmt: skip
        """Let the host do ``action`` after ``depends`` and the operation before.

        ``result`` is ``(device memory, host buffer)`` when bytes that the action has left are to be copied; ``keep``
        is held until all is done.
        """
        with self._lock, self._heap.naming_loss():
            if not collective:
                self._raise_problem()
            before = self._before(depends)
            if self.queue.is_in_order:  # what the user has submitted comes before, too
                before = [self._mark(before)]
            gate, opened = self._gates.take()
            to, origin = result or (self._nothing, self._nothing)
            event = self.queue.memcpy_async(to, origin, result[1].nbytes if result else 1, [opened])
            self._start_thread()
            self._steps.put((before, action, gate))
            return self._record(event, (result, keep), gate)

    def nothing(self, depends: Events, collective: bool = False) -> dpctl.SyclEvent:
        """Return an event that comes after ``depends`` and the operation before."""
        return self.submit(depends, self._mark, None, collective)

    def _mark(self, before: Events) -> dpctl.SyclEvent:
        return self.queue.memcpy_async(self._nothing, self._nothing, 1, before)

    def _before(self, depends: Events) -> Events:
        events = depends if self._last is None else [self._last, *depends]
        return [event for event in events if event.execution_status != _COMPLETE]

    def _record(self, event: dpctl.SyclEvent, keep: Any, gate: int | None = None) -> dpctl.SyclEvent:
        while self._submitted and self._submitted[0].event.execution_status == _COMPLETE:
            gone = self._submitted.popleft()
            if gone.gate is not None:
                self._gates.give(gone.gate)
        self._submitted.append(_Submitted(event, keep, gate))
        self._last = event
        return event

    def take_problem(self) -> Exception | None:
        """Return the error of an earlier step, which is then no longer to be raised."""
        problem, self.problem = self.problem, None
        return problem

    def _raise_problem(self) -> None:
        if problem := self.take_problem():
            raise problem

    def _start_thread(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="ishmem-worker", daemon=True)
            self._thread.start()

    def _work(self) -> None:
        while (item := self._steps.get()) is not None:
            before, action, gate = item
            try:
                if self._complete(before):
                    action()
            except Exception as error:
                # There is nobody to raise it to: the next call of the worker does.
                log.error("an on-queue operation failed: %s", error)
                self.problem = error
            # When the job ends without it, what comes after it must not run: its condition does not hold.
            if not self.closing.is_set():
                pyze.zeEventHostSignal(gate)

    def _complete(self, events: Events) -> bool:
        """Wait for events; return whether they have completed, not just the job ended."""
        # Not by event.wait(), which in one thread can keep the wait of another from ending.
        for event in events:
            while event.execution_status != _COMPLETE:
                if self.closing.is_set():
                    return False
                self._heap.raise_lost_device()
                time.sleep(POLL)
        return not self.closing.is_set()

    @property
    def drained(self) -> bool:
        """Whether nothing has been submitted that ``drain`` has not seen complete."""
        return not self._submitted

    def drain(self, hopeless: Callable[[], bool], look: Callable[[], None]) -> None:
        """Wait until everything has completed, or nothing more is to be hoped for."""
        while self._submitted and not hopeless():
            if self._submitted[0].event.execution_status == _COMPLETE:
                self._submitted.popleft()
            else:
                look()
                time.sleep(POLL)

    def close(self) -> None:
        """End the thread; steps that have not begun are left out."""
        self.closing.set()
        self._steps.put(None)
        if self._thread is not None:
            self._thread.join(20 * SLICE)


class QueueWorkers:
    """The workers of a job; every method may be called from any thread."""

    def __init__(self, heap: SymmetricHeap, links: Links) -> None:
        self._heap, self._links = heap, links
        self._gates = _Gates(heap)
        self._workers: dict[dpctl.SyclQueue, QueueWorker] = {}
        self._lock = threading.Lock()
        self._turns: dict[int, dpctl.SyclEvent] = {}
        self._order = threading.Lock()
        self._anchor: dpctl.tensor.usm_ndarray | None = None

    @property
    def anchor(self) -> dpctl.tensor.usm_ndarray:
        """An array on a queue of its own, for kernels that synchronise PEs: they would hold up those of any other."""
        with self._lock:
            if self._anchor is None:
                heap = self._heap.queue
                queue = dpctl.SyclQueue(heap.sycl_context, heap.sycl_device)
                self._anchor = dpctl.tensor.empty(1, dtype="int64", sycl_queue=queue)
            return self._anchor

    @property
    def used(self) -> bool:
        """Whether there were on-queue operations."""
        return bool(self._workers)

    def of(self, queue: dpctl.SyclQueue | None) -> QueueWorker:
        """Return the worker of a queue: by default, of the heap's.

        Raises:
            TypeError: Not a queue.
            ValueError: A queue of another device or context.
        """
        heap = self._heap.queue
        if queue is None:
            queue = heap
        if not isinstance(queue, dpctl.SyclQueue):
            raise TypeError(f"sycl_queue is a dpctl.SyclQueue, got {type(queue).__name__}")
        if queue.sycl_context != heap.sycl_context or queue.sycl_device != heap.sycl_device:
            raise ValueError(
                f"sycl_queue is of {queue.sycl_device.name} in another context than the symmetric heap, or of another "
                "device; make it with dpctl.SyclQueue(a.sycl_context, a.sycl_device) of a symmetric array a"
            )
        with self._lock:
            if queue not in self._workers:
                self._workers[queue] = QueueWorker(queue, self._gates, self._heap)
            return self._workers[queue]

    def in_turn(self, team: int, depends: Events, submit: Callable[[Events], dpctl.SyclEvent]) -> dpctl.SyclEvent:
        """Submit a collective operation of a team, to come after the one before it on whichever queue."""
        with self._order:
            before = self._turns.get(team)
            self._turns[team] = submit(depends if before is None else [*depends, before])
            return self._turns[team]

    def drain(self, look: Callable[[], None]) -> None:
        """Wait until everything has completed, unless a PE is lost; ``look`` is called meanwhile."""
        for worker in list(self._workers.values()):
            worker.drain(lambda: bool(self._links.lost or _core.device_status()), look)

    def close(self) -> bool:
        """End all workers; return whether everything has completed."""
        for worker in self._workers.values():
            worker.close()
            if not worker.drained:  # its queue holds commands that never start, and its end would wait for them
                ctypes.pythonapi.Py_IncRef(ctypes.py_object(worker))
        drained = all(worker.drained for worker in self._workers.values())
        if drained:
            self._gates.close()
        self._workers.clear()
        return drained


def in_slices(worker: QueueWorker, wait: Callable[[float], Any]) -> Any:
    """Do a host wait that takes a timeout, in slices, so that it ends with the job."""
    while not worker.closing.is_set():
        try:
            return wait(SLICE)
        except WaitTimeout:
            continue
    return 0


def events_of(depends: Iterable[dpctl.SyclEvent] | None) -> Events:
    """Return ``depends`` as a list.

    Raises:
        TypeError: Not SYCL events.
    """
    if isinstance(depends, dpctl.SyclEvent):
        return [depends]
    events = list(depends) if isinstance(depends, Iterable) else [] if depends is None else [depends]
    for event in events:
        if not isinstance(event, dpctl.SyclEvent):
            raise TypeError(f"depends is a list of dpctl.SyclEvent, got {type(event).__name__}")
    return events
