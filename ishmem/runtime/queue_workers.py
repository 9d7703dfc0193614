"""On-queue operations: one worker per SYCL queue runs them in the order of the calls.

Copies are submitted to the queue. A host step (a wait, a signal, a ``quiet``) runs on the worker's thread when the
operations before it have completed, and then signals a Level Zero event that a host task of SYCL waits for. The event
of the step is that of the task. So neither a kernel nor a command waits on the device for the host: a kernel could
starve the one that it waits for, and a command holds back all later ones of its engine, whose queues may share one
stream. SYCL submits commands that depend on a host task once the task has ended.

A device starts the commands of a queue in order, so one that has to wait for a kernel holds back all later ones. The
operations of an out-of-order queue are therefore commands of another queue. Each also submits a host task to the
program's queue: SYCL's waits and barriers wait for it, and other commands do not.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import logging
import threading
import time
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Callable, Union

import dpctl
import dpctl.memory

from ishmem import _core
from ishmem.common.errors import StateError
from ishmem.environment import arrays
from ishmem.ipc import native, pyze
from ishmem.runtime import foreign, graph_recording, unfinished_work

if TYPE_CHECKING:
    from ishmem.runtime.heap import SymmetricHeap

log = logging.getLogger("ishmem")

Events = list[dpctl.SyclEvent]
# The event of an operation, the objects that must live until it completes, and the Level Zero event that is free then.
_Submitted = tuple[dpctl.SyclEvent, Any, Union[int, None]]
_COMPLETE = dpctl.event_status_type.complete
_FUNCTIONS = "DPCTLEvent_GetCommandExecutionStatus", "DPCTLQueue_MemcpyWithEvents", "DPCTLEvent_Delete"
_POOL = 64  # events created per pool
_BARRIER_QUEUES = 64
POLL = 5e-5
_CLOSE = 2.0
"""Seconds for the thread of a worker to end with the job."""
_SLICE_OF_EVENT = 0.02  # seconds of a wait between checks for signals, the end of the job and a lost device
_YIELDING = 1e-3  # seconds in which a wait for an event yields; then it sleeps


class QueueEvent(dpctl.SyclEvent):  # type: ignore[misc]  # dpctl has no types
    """The event of an on-queue operation.

    A thread in SYCL's own wait holds a lock of the event. Another thread that submits to the queue waits for that lock
    and holds the interpreter's lock, so that the worker cannot complete the event. ``wait`` holds no lock.
    """

    worker: QueueWorker

    def wait(self) -> None:
        """Wait until the operation has completed; ``StateError`` if the job ended first."""
        if _core.wait_event(self.addressof_ref(), _YIELDING, _SLICE_OF_EVENT):
            return
        if not (self.worker.complete([self]) or self.execution_status == _COMPLETE):
            raise StateError("the job ended before this on-queue operation completed")


def _nothing_more() -> None:
    """Do nothing after events have completed."""


class _HostEvents:
    """A pool of Level Zero events that the host signals; events are reused."""

    def __init__(self, heap: SymmetricHeap) -> None:
        self._context, self._sycl_context = heap.context, heap.queue.sycl_context
        self._pools: list[int] = []
        self._made: list[int] = []
        self._free: list[int] = []
        self._lock = threading.RLock()  # a handler of a signal may call in between

    def take(self) -> tuple[int, dpctl.SyclEvent]:
        """Return an unsignalled event and the SYCL event that wraps it."""
        with self._lock:
            if not self._free:
                self._pools.append(pyze.create_event_pool(self._context, _POOL))
                self._free = [pyze.create_event(self._pools[-1], index) for index in range(_POOL)]
                self._made += self._free
            host_event = self._free.pop()
        return host_event, native.sycl_event(host_event, self._sycl_context)

    def give(self, host_event: int) -> None:
        """Reset an event, for which no command waits any more, and return it to the pool."""
        pyze.zeEventHostReset(host_event)
        with self._lock:
            self._free.append(host_event)

    def close(self) -> None:
        """Destroy all events and pools."""
        for host_event in self._made:
            pyze.zeEventDestroy(host_event)
        for pool in self._pools:
            pyze.zeEventPoolDestroy(pool)


class QueueWorker:
    """The on-queue operations of one SYCL queue.

    Attributes:
        queue: The queue of the commands: the program's queue when it is in-order, else one of the worker's own.
        problem: The error of a host step; the next call raises it.
    """

    def __init__(self, queue: dpctl.SyclQueue, host_events: _HostEvents, heap: SymmetricHeap) -> None:
        self._program_queue, self._tasks = queue, list[dpctl.SyclEvent]()
        self.queue = queue if queue.is_in_order else dpctl.SyclQueue(queue.sycl_context, queue.sycl_device)
        self.problem: Exception | None = None
        self._host_events, self._heap = host_events, heap
        self._side = dpctl.SyclQueue(queue.sycl_context, queue.sycl_device) if queue.is_in_order else self.queue
        self._nothing = dpctl.memory.MemoryUSMDevice(64, queue=self.queue)
        self._submitted: deque[_Submitted] = deque()
        self._address = self.queue.addressof_ref()
        self._last: QueueEvent | None = None
        self._at_once = False  # whether `_last` is a copy that waited for nothing but such copies
        self._is_task = False  # whether `_last` is the event of a host task
        self._lock, self._nested = threading.RLock(), 0
        self._steps: SimpleQueue[tuple[Events, Callable[[], object], int] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self.closing = threading.Event()

    @contextlib.contextmanager
    def as_one_operation(self) -> Iterator[None]:
        """Make the operations of this thread one operation; other threads submit none in between."""
        with self._lock:
            self._nested += 1
            try:
                yield
            finally:
                self._nested -= 1
                self._end_operation()

    def submit(
        self, depends: Events, start: Callable[[Events], dpctl.SyclEvent], keep: Any, collective: bool = False
    ) -> dpctl.SyclEvent:
        """Call ``start`` to submit commands after ``depends`` and the previous operation; return their event.

        ``start`` is passed the events to follow; ``keep`` is held until the commands complete. This method and
        ``run_on_host`` raise the error of an earlier step instead, except with ``collective``, since other PEs wait for
        the operation: its caller calls `take_problem` before and raises the error at the end.
        """
        with self._lock, self._heap.naming_loss():
            if not collective:
                self._raise_problem()
            return self._record(start(self._before(depends)), keep)

    def submit_elsewhere(
        self, depends: Events, start: Callable[[Events], dpctl.SyclEvent], keep: Any
    ) -> dpctl.SyclEvent:
        """Submit commands by ``start`` to another queue, as `submit`; those of an in-order queue follow them."""

        def between(before: Events) -> dpctl.SyclEvent:
            return self._mark([start([self._mark(before)])])

        return self.submit(depends, between if self.queue.is_in_order else start, keep)

    def copy(
        self, dest: Any, source: Any, pe: Any, nelems: Any, is_put: bool, depends: Events
    ) -> dpctl.SyclEvent | None:  # fmt: skip
        """Submit a put or get of these arguments; return its event, or None without submission if they need `submit`.

        After a large copy the caches contain the copied data, so that each call of a Python function costs some
        microseconds: this method is ``submit`` without such calls.
        """
        with self._lock:
            if self.problem:
                self._raise_problem()
            before = [event.addressof_ref() for event in depends if event.execution_status != _COMPLETE]
            at_once = not before
            if self._last is not None and not _core.is_complete(last := self._last.addressof_ref()):
                before.append(last)
                at_once = at_once and self._at_once
            try:
                capsule = _core.queue_copy(dest, source, pe, nelems, is_put, self._address, before)
            except RuntimeError:
                self._heap.raise_lost_device()
                raise
            return None if capsule is None else self._keep(capsule, (dest, source), None, at_once)

    def run_on_host(
        self, depends: Events, action: Callable[[], object], result: Any = None, keep: Any = None,
        collective: bool = False,
    ) -> dpctl.SyclEvent:  # fmt: skip
        """Run ``action`` on the host after ``depends`` and the previous operation; return the event of the step.

        ``result`` is ``(device memory, USM host memory)`` for bytes to copy to the device after the action, else None;
        ``keep`` is held until the step completes; ``collective`` is as for `submit`.
        """
        with self._lock, self._heap.naming_loss():
            if not collective:
                self._raise_problem()
            before = self._before(depends)
            if self.queue.is_in_order:  # after the user's own commands, too
                before = [self._mark(before)]
            host_event, ended = self._host_events.take()
            self._give(before, functools.partial(self._act, action, result), host_event)
            self._tasks = [self._task(ended)]
            return self._record(self._tasks[0], (result, keep), host_event)

    def _act(self, action: Callable[[], object], result: Any) -> None:
        """Run the action of a step, and copy its result, if there is one, to the device."""
        action()
        if result:
            to, origin = result
            self.complete([self._side.memcpy_async(to, origin, origin.nbytes)])

    def nothing(self, depends: Events, collective: bool = False) -> dpctl.SyclEvent:
        """Return the event of an empty operation after ``depends`` and the last one; ``collective``: see `submit`."""
        return self.submit(depends, self._mark, None, collective)

    def _mark(self, before: Events) -> dpctl.SyclEvent:
        return self.queue.memcpy_async(self._nothing, self._nothing, 1, before)

    def _before(self, depends: Events) -> Events:
        events = depends if self._last is None else [self._last, *depends]
        return [event for event in events if event.execution_status != _COMPLETE]

    def _record(self, event: dpctl.SyclEvent, keep: Any, host_event: int | None = None) -> QueueEvent:
        return self._keep(event._get_capsule(), keep, host_event, False)

    def _task(self, after: dpctl.SyclEvent) -> dpctl.SyclEvent:
        """Submit a host task to the program's queue, to end after an event; return its event.

        It follows the previous task, so that at most one of SYCL's few threads for host tasks waits for this queue.
        """
        return self._program_queue._submit_keep_args_alive(None, [after, *self._tasks])

    def _keep(self, capsule: Any, keep: Any, host_event: int | None, at_once: bool) -> QueueEvent:
        while self._submitted and _core.is_complete(self._submitted[0][0].addressof_ref()):
            _event, _kept, gone = self._submitted.popleft()
            if gone is not None:
                self._host_events.give(gone)
        last = self._last = QueueEvent(capsule)
        last.worker = self
        self._at_once, self._is_task = at_once, host_event is not None
        self._submitted.append((last, keep, host_event))
        self._end_operation()
        return last

    def _end_operation(self) -> None:
        """Make the waits and barriers of the program's queue, and those of dpnp, wait for the last operation."""
        last = self._last
        if self._nested or last is None or _core.is_complete(last.addressof_ref()):
            return
        if not (self.queue.is_in_order or self._is_task):
            self._leave_task(last)
        unfinished_work.let_dpnp_wait(self._program_queue, last if self.queue.is_in_order else self._tasks[0])

    def _leave_task(self, last: QueueEvent) -> None:
        """Submit a host task to the program's queue that ends after the operation ``last``.

        A thread that waits for an event of SYCL blocks others that submit to the event's queue, while they hold the
        interpreter's lock. So a task waits for an event that the worker's thread signals, unless the operation
        completes without that thread.
        """
        host_event, ended = (None, last) if self._at_once else self._host_events.take()
        self._tasks = [self._task(ended)]
        if host_event is not None:
            self._give([last], _nothing_more, host_event)
        self._submitted.append((self._tasks[0], None, host_event))

    def drain_too(self, event: dpctl.SyclEvent) -> None:
        """Make `drain` wait for an event that no operation follows; called while an operation is submitted."""
        self._submitted.append((event, None, None))

    def take_problem(self) -> Exception | None:
        """Return the error of an earlier step and clear it; None if there is none."""
        problem, self.problem = self.problem, None
        return problem

    def _raise_problem(self) -> None:
        if problem := self.take_problem():
            raise problem

    def _give(self, before: Events, action: Callable[[], object], host_event: int) -> None:
        """Make the worker's thread wait for ``before``, run ``action`` and signal the event."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="ishmem-worker", daemon=True)
            self._thread.start()
        self._steps.put((before, action, host_event))

    def _work(self) -> None:
        _core.follow_events()
        while (item := self._steps.get()) is not None:
            before, action, host_event = item
            try:
                if self.complete(before):
                    action()
            except Exception as error:
                # This thread has no caller: the next call of the worker raises it.
                log.error("an on-queue operation failed: %s", error)
                self.problem = error
            # When the job ends first, later commands wait for `_end_tasks`: the condition of this step does not hold.
            if not self.closing.is_set():
                pyze.zeEventHostSignal(host_event)

    def complete(self, events: Events) -> bool:
        """Wait for events without SYCL's locks; return false when the job ended before they completed."""
        for event in events:
            yielding = _YIELDING
            while not _core.wait_event(event.addressof_ref(), yielding, _SLICE_OF_EVENT):
                if self.closing.is_set():
                    return False
                self._heap.raise_lost_device()
                yielding = 0.0
        return not self.closing.is_set()

    @property
    def free(self) -> bool:
        """Whether no host task holds back commands."""
        return all(_core.is_complete(task.addressof_ref()) for task in self._tasks)

    @property
    def drained(self) -> bool:
        """Whether `drain` has found all submitted operations complete, or none was submitted."""
        return not self._submitted

    def drain(self, hopeless: Callable[[], bool], report_wait: Callable[[], None]) -> None:
        """Wait until everything has completed, or ``hopeless`` returns true; call ``report_wait`` in each round."""
        while self._submitted and not hopeless():
            if self._submitted[0][0].execution_status == _COMPLETE:
                self._submitted.popleft()
            else:
                report_wait()
                time.sleep(POLL)

    def close(self) -> None:
        """End the thread and all host tasks, after at most 4 s; steps that have not begun do not run."""
        self.closing.set()
        self._steps.put(None)
        if self._thread is not None:
            self._thread.join(_CLOSE)
        self._end_tasks()
        self._last = None  # an event refers to its worker

    def _end_tasks(self) -> None:
        """End all host tasks: neither a wait for the queue nor the exit may wait for steps that never complete."""
        for _event, _kept, host_event in self._submitted:
            if host_event is not None:
                pyze.zeEventHostSignal(host_event)
        end = time.monotonic() + _CLOSE
        while self._tasks and self._tasks[0].execution_status != _COMPLETE and time.monotonic() < end:
            time.sleep(POLL)


class Recorder(QueueWorker):
    """Records on-queue operations of a queue that is recorded, and refuses those that need the host."""

    def __init__(self, queue: dpctl.SyclQueue, found: graph_recording.Recording, turns: defaultdict[int, Turn]) -> None:
        self.queue, self._recording, self._turns = queue, found, turns

    @contextlib.contextmanager
    def as_one_operation(self) -> Iterator[None]:
        """Do nothing: no other thread records."""
        yield

    def submit(
        self, depends: Events, start: Callable[[Events], dpctl.SyclEvent], keep: Any, collective: bool = False
    ) -> dpctl.SyclEvent:
        """Record a copy that follows ``depends`` and the commands recorded before; return its event."""
        self._recording.copies += 1
        return self._recording.keep(start(self._recording.before(depends)), keep)

    def copy(self, *_arguments: Any) -> None:
        """Return ``None``: recorded copies need `submit`."""

    def run_on_host(self, *_arguments: Any, **_keywords: Any) -> dpctl.SyclEvent:
        """Raise ``IshmemError``: the operation needs the host."""
        graph_recording.refuse(self.queue, "this on-queue operation")
        raise AssertionError("the recording has ended")

    def nothing(self, depends: Events, collective: bool = False) -> dpctl.SyclEvent:
        """Return an event that has completed."""
        return dpctl.SyclEvent()

    def take_problem(self) -> None:
        """Return ``None``: no step has failed."""

    def take_turns(self, team: int) -> None:
        """Record that replays and on-queue collectives of the team with handle ``team`` run one after another."""
        self._recording.calls.add(self._turns[team])


class Turn:
    """The order of the on-queue collectives of a team.

    Attributes:
        last: The event of the last one; None before the first.
    """

    last: dpctl.SyclEvent | None = None


class BarrierQueues:
    """Queues for kernels that wait for other PEs; each has one kernel at a time.

    numba-dpex has a thread of SYCL wait for the event of each asynchronous launch. Until the event completes, that
    wait can block all submissions to the event's queue: SYCL's Level Zero backend locks the queue while it cleans up
    the queue's events, and for each event it waits until no thread waits for it.
    """

    def __init__(self, heap: SymmetricHeap) -> None:
        self._heap = heap
        self._busy: deque[tuple[arrays.tensor.usm_ndarray, Events]] = deque()

    def submit(self, launch: Callable[[arrays.tensor.usm_ndarray], tuple[dpctl.SyclEvent, ...]]) -> dpctl.SyclEvent:
        """Call ``launch`` with an array on an idle queue; return the kernel's event, the last that ``launch`` returns.

        Calls must not be concurrent.
        """
        array = self._idle()
        events = list(launch(array))
        self._busy.append((array, events))
        return events[-1]

    @property
    def drained(self) -> bool:
        """Whether all kernels have completed and their arguments are released."""
        return all(event.execution_status == _COMPLETE for _array, events in self._busy for event in events)

    def drain(self, hopeless: Callable[[], bool], report_wait: Callable[[], None]) -> None:
        """Wait until ``drained``, or ``hopeless`` returns true; call ``report_wait`` in each round.

        A thread of SYCL releases the arguments under the interpreter's lock: the interpreter must not end before.
        """
        while not self.drained and not hopeless():
            report_wait()
            time.sleep(POLL)

    def _idle(self) -> arrays.tensor.usm_ndarray:
        most = len(self._busy) == _BARRIER_QUEUES  # a further kernel may block the caller
        if most or (self._busy and all(event.execution_status == _COMPLETE for event in self._busy[0][1])):
            return self._busy.popleft()[0]
        heap = self._heap.queue
        return arrays.tensor.empty(1, dtype="int64", sycl_queue=dpctl.SyclQueue(heap.sycl_context, heap.sycl_device))


class QueueWorkers:
    """The workers of a job; methods may be called from any thread."""

    def __init__(self, heap: SymmetricHeap, loss_ends_waits: Callable[[], bool]) -> None:
        self._heap, self._loss_ends_waits = heap, loss_ends_waits
        self._host_events = _HostEvents(heap)
        _core.use_dpctl(*native.functions(*_FUNCTIONS))
        _core.set_device_peers([base if heap.reaches(pe) else 0 for pe, base in enumerate(heap.peers)])
        self._workers: dict[dpctl.SyclQueue, QueueWorker] = {}
        self._recent: tuple[dpctl.SyclQueue | None, QueueWorker] | None = None
        self._lock = threading.RLock()  # a handler of a signal may call in between
        self._turns: defaultdict[int, Turn] = defaultdict(Turn)
        self._order = threading.RLock()  # a handler of a signal may call in between
        self.barriers = BarrierQueues(heap)

    @property
    def used(self) -> bool:
        """Whether any on-queue operation was called."""
        return bool(self._workers)

    @property
    def _all(self) -> list[QueueWorker | BarrierQueues]:
        return [*self._workers.values(), self.barriers]

    def of(self, queue: dpctl.SyclQueue | None) -> QueueWorker:
        """Return the worker of a queue or a stream of torch; ``None`` is torch's current stream, else the heap's queue.

        Raises:
            TypeError: Not a queue.
            ValueError: A queue of another device or context.
        """
        queue = self.given(queue)
        if found := graph_recording.of(queue):
            return Recorder(queue, found, self._turns)
        recent = self._recent
        if recent and recent[0] is queue:
            return recent[1]
        worker = self._find(queue)
        self._recent = (queue, worker)
        return worker

    def given(self, queue: Any) -> dpctl.SyclQueue:
        """Return the queue of an argument ``sycl_queue``: a queue, a stream of torch, or None as for `of`.

        Raises:
            TypeError: Neither a queue nor a stream of torch.
        """
        if queue is None:
            return foreign.queue() or self._heap.queue
        if isinstance(address := getattr(queue, "sycl_queue", None), int):
            return native.sycl_queue(address)
        if not isinstance(queue, dpctl.SyclQueue):
            raise TypeError(f"sycl_queue is a dpctl.SyclQueue, got {type(queue).__name__}")
        return queue

    def _find(self, queue: dpctl.SyclQueue) -> QueueWorker:
        heap = self._heap.queue
        if queue.sycl_context != heap.sycl_context or queue.sycl_device != heap.sycl_device:
            raise ValueError(
                f"sycl_queue is of {queue.sycl_device.name} in another context than the symmetric heap, or of another "
                "device; make it with dpctl.SyclQueue(a.sycl_context, a.sycl_device) of a symmetric array a"
            )
        with self._lock:
            if queue not in self._workers:
                self._workers[queue] = QueueWorker(queue, self._host_events, self._heap)
            return self._workers[queue]

    @property
    def free(self) -> bool:
        """Whether no host task holds back commands."""
        return all(worker.free for worker in list(self._workers.values()))

    def settle(self, event: dpctl.SyclEvent) -> None:
        """Wait for an event without SYCL's locks while a host task may hold back its command.

        SYCL's own wait for such a command locks its graph, so that the step that ends the task cannot submit.
        """
        while not (self.free or _core.wait_event(event.addressof_ref(), _YIELDING, _SLICE_OF_EVENT)):
            self._heap.raise_lost_device()

    def in_turn(self, team: int, depends: Events, submit: Callable[[Events], dpctl.SyclEvent]) -> dpctl.SyclEvent:
        """Return the event of ``submit(events)``, an operation after ``depends`` and the last one of the team."""
        with self._order:
            turn = self._turns[team]
            turn.last = submit(depends if turn.last is None else [*depends, turn.last])
            return turn.last

    @property
    def drained(self) -> bool:
        """Whether all operations have been found complete."""
        return all(each.drained for each in self._all)

    def drain(self, report_wait: Callable[[], None]) -> None:
        """Wait until everything has completed or a PE is lost; call ``report_wait`` in each round."""
        for each in self._all:
            each.drain(lambda: self._loss_ends_waits() or bool(_core.device_status()), report_wait)

    def close(self) -> bool:
        """End all workers; return whether everything has completed; if not, what it uses is never freed."""
        for worker in self._workers.values():
            worker.close()
            if not worker.drained:  # destroying its queue would wait for commands that never start, as below
                ctypes.pythonapi.Py_IncRef(ctypes.py_object(worker))
        drained = self.drained
        if drained:
            self._host_events.close()
        else:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self.barriers))
        self._workers.clear()
        self._recent = None
        return drained


def events_of(depends: Iterable[dpctl.SyclEvent] | None) -> Events:
    """Return ``depends``, a SYCL event, several or None, as a list; ``TypeError`` for anything else."""
    if depends is None:
        return []
    if isinstance(depends, dpctl.SyclEvent):
        return [depends]
    events = list(depends) if isinstance(depends, Iterable) else [depends]
    for event in events:
        if not isinstance(event, dpctl.SyclEvent):
            raise TypeError(f"depends is a list of dpctl.SyclEvent, got {type(event).__name__}")
    return events
