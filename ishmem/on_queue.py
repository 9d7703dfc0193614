"""The on-queue forms: operations that SYCL queues and events order with kernels.

Each returns a ``dpctl.SyclEvent`` at once. The operation starts when all events of ``depends`` and the previous
on-queue operation of the same queue have completed. Pass the event to ``dpex.call_kernel_async`` as a dependence of a
kernel, and the events of kernels as ``depends``. On an in-order queue the operations are commands like all others, so
commands submitted after an on-queue wait run after it; on an out-of-order queue only events order other commands.
``sycl_queue`` has the device and context of the symmetric heap; by default it is the heap's own queue, which is
out-of-order. In the recording of a graph kernels do what the host does otherwise, or the call raises ``IshmemError``.

Arguments are checked when the function is called, with the errors of the host form, and ``TypeError`` or ``ValueError``
for an invalid queue or dependences. Arrays must not be changed until the event has completed; they stay allocated until
then. The event of a put completes at remote completion. ``quiet`` and ``barrier_all`` of the host do not wait for
on-queue operations; ``finalize`` does. If a PE dies during a wait, the event completes nevertheless, so that no command
waits forever, and the next on-queue call on the queue raises ``PeerLost``. No form blocks.
"""

from __future__ import annotations

import ctypes
import functools
import inspect
from typing import TYPE_CHECKING, Any, Callable, Union

import dpctl
import dpctl.memory
import numpy as np

from ishmem import collectives, order, rma, signals, strided, teams, wait, wait_sets
from ishmem.common.constants import SignalOp
from ishmem.common.errors import IshmemError, WaitTimeout
from ishmem.common.routines import exported
from ishmem.common.type_tables import SIGNAL_TYPES
from ishmem.environment import arrays
from ishmem.runtime import boxes, check, foreign, graph_recording, job
from ishmem.runtime.docstrings import as_on_queue, on_queue_sections
from ishmem.runtime.heap import UsmRange
from ishmem.runtime.queue_workers import Events, QueueWorker, Recorder, events_of
from ishmem.runtime.stubs import named, on_queue_form

if TYPE_CHECKING:
    from dpnp import ndarray

    from ishmem.common.indices import Index
    from ishmem.teams import Team

__all__ = exported(__name__)

_RESULT_TYPES = ("int64", "uint64")

Queue = Union[dpctl.SyclQueue, None]
Depends = Union[list[dpctl.SyclEvent], None]


@as_on_queue(rma.put)
def put_on_queue(
    dest: ndarray, source: Any, pe: int, sycl_queue: Queue = None, depends: Depends = None, nelems: int | None = None
) -> dpctl.SyclEvent:
    """Submit ``put`` to a queue; return its event. Not collective, not blocking.

    The copy engine copies; a kernel, where arrays are not contiguous; the host, what the device does not reach.

    Source: ishmemx_put_on_queue.
    """
    return _transfer("put_on_queue", dest, source, pe, nelems, True, _worker(sycl_queue), events_of(depends))


@as_on_queue(rma.get)
def get_on_queue(
    dest: Any, source: ndarray, pe: int, sycl_queue: Queue = None, depends: Depends = None, nelems: int | None = None
) -> dpctl.SyclEvent:
    """Submit ``get`` to a queue; return its event. Not collective, not blocking.

    The copy engine copies; a kernel, where arrays are not contiguous; the host, what the device does not reach.

    Source: ishmemx_get_on_queue.
    """
    return _transfer("get_on_queue", dest, source, pe, nelems, False, _worker(sycl_queue), events_of(depends))


@as_on_queue(signals.put_signal)
def put_signal_on_queue(
    dest: ndarray, source: Any, sig_addr: ndarray, signal: int, sig_op: int, pe: int, sycl_queue: Queue = None,
    depends: Depends = None, nelems: int | None = None, index: Index = 0,
) -> dpctl.SyclEvent:  # fmt: skip
    """Submit ``put_signal`` to a queue; return its event.

    It is ``put_on_queue``, then an update of the signal. Not collective, not blocking.

    Source: ishmemx_put_signal_on_queue.
    """
    worker, events = _worker(sycl_queue), events_of(depends)
    signals.check_signal("put_signal_on_queue", signals.Signal(sig_addr, signal, sig_op, index), pe)
    if not job.current().heap.reaches(pe):
        rma.plan("put_signal_on_queue", dest, source, pe, nelems, True)  # checks the arguments
        put = functools.partial(signals.put_signal, dest, source, sig_addr, signal, sig_op, pe, nelems, index)
        return worker.run_on_host(events, functools.partial(_complete, put), keep=(dest, source, sig_addr))
    with worker.as_one_operation():
        _transfer("put_signal_on_queue", dest, source, pe, nelems, True, worker, events)
        return _update_signal(worker, [], sig_op, sig_addr, signal, pe, index)


@as_on_queue(signals.signal_add)
def signal_add_on_queue(
    sig_addr: ndarray, signal: int, pe: int, sycl_queue: Queue = None, depends: Depends = None, index: Index = 0
) -> dpctl.SyclEvent:
    """Submit ``signal_add`` to a queue; return its event. Not collective, not blocking.

    The host adds, or a kernel, if host atomics are not atomic to those of kernels, and in a recording.

    Source: shmem_signal_add, in the manner of ishmemx_put_signal_on_queue.
    """
    return _signal("signal_add", SignalOp.ADD, sig_addr, signal, pe, sycl_queue, depends, index)


@as_on_queue(signals.signal_set)
def signal_set_on_queue(
    sig_addr: ndarray, signal: int, pe: int, sycl_queue: Queue = None, depends: Depends = None, index: Index = 0
) -> dpctl.SyclEvent:
    """Submit ``signal_set`` to a queue; return its event.

    The host updates the signal, in a recording a kernel. Not collective, not blocking.

    Source: shmem_signal_set, in the manner of ishmemx_put_signal_on_queue.
    """
    return _signal("signal_set", SignalOp.SET, sig_addr, signal, pe, sycl_queue, depends, index)


@as_on_queue(wait.wait_until)
def wait_until_on_queue(
    ivar: ndarray, cmp: int, cmp_value: Any, sycl_queue: Queue = None, depends: Depends = None, index: Index = 0
) -> dpctl.SyclEvent:
    """Submit ``wait_until`` to a queue; return its event.

    The host waits, in a recording a kernel, without a time limit. Not collective, not blocking.

    Source: ishmemx_wait_until_on_queue.
    """
    wait.test(ivar, cmp, cmp_value, index)  # checks the arguments
    worker, events = _worker(sycl_queue), events_of(depends)
    if isinstance(worker, Recorder):
        position = check.position(check.view(ivar, "ivar"), index)
        return _recorded_wait(worker, "wait_until", events, (ivar, cmp, cmp_value), position)
    return _wait(lambda: wait.wait_until(ivar, cmp, cmp_value, index), None, worker, events)


@as_on_queue(signals.signal_wait_until)
def signal_wait_until_on_queue(
    sig_addr: ndarray, cmp: int, cmp_value: int, ret: Any, sycl_queue: Queue = None, depends: Depends = None,
    index: Index = 0,
) -> dpctl.SyclEvent:  # fmt: skip
    """Submit ``signal_wait_until`` to a queue; its event completes once the value is in ``ret[0]``.

    The host waits, in a recording a kernel, without a time limit. Not collective, not blocking.

    Source: ishmemx_signal_wait_until_on_queue.
    """
    flag = check.view(sig_addr, "sig_addr", SIGNAL_TYPES, "signal_wait_until_on_queue")
    wait.test(sig_addr, cmp, cmp_value, index)  # checks the arguments
    result, worker, events = _result_view(ret), _worker(sycl_queue), events_of(depends)
    if isinstance(worker, Recorder):
        waited = sig_addr, cmp, cmp_value
        return _recorded_wait(worker, "signal_wait_until", events, waited, check.position(flag, index), ret)
    return _wait(lambda: signals.signal_wait_until(sig_addr, cmp, cmp_value, index), result, worker, events)


def _order(routine: Callable[[], None], sycl_queue: Queue, depends: Depends) -> dpctl.SyclEvent:
    worker, events = _worker(sycl_queue), events_of(depends)
    if isinstance(worker, Recorder):
        return recorded(worker, routine.__name__, events)
    return worker.run_on_host(events, routine)


def recorded(
    worker: Recorder, name: str, events: Events, *arguments: Any, team: int | None = None, dtype: str | None = None
) -> dpctl.SyclEvent:
    """Record a kernel that calls the routine ``name`` with ``arguments`` after ``events``; return its event.

    ``worker`` is that of the recorded queue; ``team`` the handle of the team of a collective, else None; ``dtype``
    "bfloat16" if 16-bit integers hold its bits, else None.
    """
    if team is not None:
        worker.take_turns(team)
    return _submit_kernel(name, worker.queue, arguments, events, dtype)


def _submit_kernel(
    name: str, queue: dpctl.SyclQueue, arguments: tuple[Any, ...], events: Events, dtype: str | None = None
) -> dpctl.SyclEvent:
    from ishmem.kernels.on_queue import submit

    return submit(name, queue, events, arguments, dtype)


def _recorded_wait(
    worker: Recorder, name: str, events: Events, waited: tuple[Any, Any, Any], last: Any, *results: Any
) -> dpctl.SyclEvent:  # fmt: skip
    """Record the wait ``name`` for ``waited``, a tuple ``(ivars, cmp, values)``; ``last`` is an index or a status."""
    check_waits(name)
    ivars, cmp, values = waited
    if not name.endswith("_vector"):
        values = check.as_element(ivars, values)[0]
    if last is None:
        last = arrays.tensor.zeros(len(ivars), dtype="int8", sycl_queue=job.current().heap.own_queue)
    given = [foreign.native(each) for each in (ivars, int(cmp), values, last, *results)]
    if any(isinstance(each, np.ndarray) for each in given):
        graph_recording.refuse(worker.queue, f"{name}_on_queue with an array in host memory")
    return recorded(worker, name, events, *given)


def check_waits(name: str) -> None:
    """Raise ``IshmemError`` for on-queue form ``name``, a kernel, if kernels of this job may not wait for other PEs."""
    if reason := job.current().no_waits:
        raise IshmemError(f"{name}_on_queue is a kernel: {reason}")


def _worker(queue: Queue) -> QueueWorker:
    return job.current().queue_workers.of(queue)


def _bytes_at(worker: QueueWorker, address: int, nbytes: int) -> dpctl.memory.MemoryUSMDevice:
    """Return device memory of ``nbytes`` bytes at ``address`` as a memory object of dpctl, on the worker's queue."""
    return UsmRange(address, nbytes, worker.queue).memory()


def _transfer(
    routine: str, dest: Any, source: Any, pe: Any, nelems: Any, is_put: bool, worker: QueueWorker, events: Events
) -> dpctl.SyclEvent:
    dest, source = foreign.native(dest), foreign.native(source)
    if event := worker.copy(dest, source, pe, nelems, is_put, events):
        return event
    plan = rma.plan(routine, dest, source, pe, nelems, is_put)
    move = functools.partial(_complete, rma.put) if is_put else rma.get
    by_host = functools.partial(move, dest, source, plan.pe, nelems)
    to, origin = plan.dest, plan.source
    if not to.order & origin.order:
        return _strided(routine, plan, by_host, worker, events)
    nbytes, target, start = plan.boxes[0].count * to.itemsize, plan.to, plan.origin
    if not nbytes:
        return worker.nothing(events)
    if not (to.device or origin.device) or not job.current().heap.reaches(plan.pe):
        return worker.run_on_host(events, by_host, keep=(dest, source))
    kept = to.array, origin.array
    if not origin.device:
        return _from_host(worker, events, _bytes_at(worker, target, nbytes), start, kept)
    if not to.device:
        return _to_host(worker, events, target, _bytes_at(worker, start, nbytes), kept)
    copy = functools.partial(
        worker.queue.memcpy_async, _bytes_at(worker, target, nbytes), _bytes_at(worker, start, nbytes), nbytes
    )
    return worker.submit(events, copy, kept)


def _from_host(worker: QueueWorker, events: Events, target: Any, start: int, kept: Any) -> dpctl.SyclEvent:
    """Submit a copy of ordinary host memory at address ``start`` to the device, through USM host memory.

    Intel's driver copies ordinary host memory itself, up to some size, during submission: the caller would block until
    the predecessors of the copy have completed. The host forms could deadlock: their copies may be queued behind the
    command that waits for the step.
    """
    staged = dpctl.memory.MemoryUSMHost(target.nbytes, queue=worker.queue)
    load = functools.partial(ctypes.memmove, staged._pointer, start, target.nbytes)
    return worker.run_on_host(events, load, (target, staged), kept)


def _to_host(worker: QueueWorker, events: Events, target: int, start: Any, kept: Any) -> dpctl.SyclEvent:
    """Submit a copy of device memory to ordinary host memory at address ``target``, through USM host memory."""
    staged = dpctl.memory.MemoryUSMHost(start.nbytes, queue=worker.queue)
    copy = functools.partial(worker.queue.memcpy_async, staged, start, start.nbytes)
    with worker.as_one_operation():
        worker.submit(events, copy, (kept, staged))
        store = functools.partial(ctypes.memmove, target, staged._pointer, start.nbytes)
        return worker.run_on_host([], store, keep=(kept, staged))


def _signal(
    name: str, sig_op: SignalOp, sig_addr: ndarray, signal: int, pe: int, queue: Queue, depends: Depends, index: Index
) -> dpctl.SyclEvent:
    worker, events = _worker(queue), events_of(depends)
    signals.check_signal(f"{name}_on_queue", signals.Signal(sig_addr, signal, sig_op, index), pe)
    return _update_signal(worker, events, sig_op, sig_addr, signal, pe, index)


def _update_signal(
    worker: QueueWorker, events: Events, sig_op: int, sig_addr: ndarray, signal: int, pe: int, index: Index
) -> dpctl.SyclEvent:
    """Submit the update of a signal, on the host if its atomics are atomic to those of kernels, else as a kernel."""
    heap, name = job.current().heap, "signal_add" if sig_op == SignalOp.ADD else "signal_set"
    if isinstance(worker, Recorder) or (sig_op == SignalOp.ADD and heap.reaches(pe) and not heap.host_adds(pe)):
        flag = check.view(sig_addr, "sig_addr")
        given = flag.array, check.as_element(sig_addr, signal)[0], int(pe), check.position(flag, index)
        if flag.device and isinstance(worker, Recorder):
            return recorded(worker, name, events, *given)
        if flag.device:
            # A host step could deadlock: its kernel may be queued behind a command that waits for the step.
            update_by_kernel = functools.partial(_submit_kernel, name, heap.own_queue, given)
            return worker.submit_elsewhere(events, update_by_kernel, sig_addr)
    update = signals.signal_add if sig_op == SignalOp.ADD else signals.signal_set
    if heap.reaches(pe):
        return worker.run_on_host(events, functools.partial(update, sig_addr, signal, pe, index), keep=sig_addr)
    return worker.run_on_host(events, functools.partial(_complete, update, sig_addr, signal, pe, index), keep=sig_addr)


def _call_strided(
    routine: Callable[..., None], dest: Any, source: Any, pe: int, sycl_queue: Queue, depends: Depends, **blocks: int
) -> dpctl.SyclEvent:
    worker, events, name = _worker(sycl_queue), events_of(depends), f"{routine.__name__}_on_queue"
    nblocks = blocks.get("nblocks", blocks.get("nelems"))
    given = strided.Blocks(blocks["dst"], blocks["sst"], blocks.get("bsize", 1), nblocks)
    plan = strided.plan_blocks(name, dest, source, given, pe, routine in (strided.iput, strided.ibput))
    by_host = functools.partial(_complete, routine, dest, source, *blocks.values(), pe)
    return _strided(name, plan, by_host, worker, events)


def _strided(
    routine: str, plan: boxes.Plan, by_host: Callable[[], None], worker: QueueWorker, events: Events
) -> dpctl.SyclEvent:
    """Submit device copies of the boxes of a plan, or ``by_host`` in a recording or if the device lacks access."""
    if not plan.boxes:
        return worker.nothing(events)
    if not plan.dest.device and any(box.extents()[0].count != box.count for box in plan.boxes):
        raise ValueError(f"{routine}: dest is in host memory, where the blocks must leave no gaps; pass a dst equal to "
                         "the block size, or a device array as dest")  # fmt: skip
    kept: list[Any] = [plan.dest.array, plan.source.array]
    on_device = plan.dest.device and plan.source.device and job.current().heap.reaches(plan.pe)
    if isinstance(worker, Recorder) or not on_device:  # dpctl's copy runs a host task to release its arguments
        return worker.run_on_host(events, by_host, keep=kept)
    with worker.as_one_operation():
        for box in plan.boxes:
            event = worker.submit(events, _BoxCopy(worker, plan, box, kept).copy, kept)
            events = []
        return event


def _complete(move: Callable[..., None], *arguments: Any) -> None:
    move(*arguments)
    order.quiet()


class _End:
    """Memory of a box in one of its arrays: address, size in bytes, and offset ``first`` of its first element."""

    def __init__(self, worker: QueueWorker, address: int, extent: boxes.Extent, first: int, item: int):
        self.address, self.nbytes = address + extent.low * item, extent.count * item
        self.memory, self.first = _bytes_at(worker, self.address, self.nbytes), first - extent.low


class _BoxCopy:
    """A copy of the elements of a box between its two arrays, on the queue of a worker."""

    def __init__(self, worker: QueueWorker, plan: boxes.Plan, box: boxes.Box, kept: list[Any]) -> None:
        self.worker, self.box, self.dtype, self.kept = worker, box, np.dtype(plan.dest.storage), kept
        item, (to, origin) = self.dtype.itemsize, box.extents()
        self.to = _End(worker, plan.to, to, box.to, item)
        self.origin = _End(worker, plan.origin, origin, box.origin, item)

    def copy(self, before: Events) -> dpctl.SyclEvent:
        """Submit the copy, through new device memory if source and destination overlap; return its event."""
        source = self._array(self.origin.memory, self.origin.first, 2)
        if self._overlap():
            packed = dpctl.memory.MemoryUSMDevice(self.box.count * self.dtype.itemsize, queue=self.worker.queue)
            self.kept.append(packed)
            whole = arrays.tensor.usm_ndarray(source.shape, dtype=self.dtype, buffer=packed)
            before, source = [self._move(whole, source, before)], whole
        return self._move(self._array(self.to.memory, self.to.first, 1), source, before)

    def _overlap(self) -> bool:
        to, origin = self.to, self.origin
        return to.address < origin.address + origin.nbytes and origin.address < to.address + to.nbytes

    def _move(self, dest: Any, source: Any, before: Events) -> dpctl.SyclEvent:
        released, event = arrays.tensor_impl._copy_usm_ndarray_into_usm_ndarray(
            src=source, dst=dest, sycl_queue=self.worker.queue, depends=before
        )
        self.worker.drain_too(released)  # a host task with the GIL, which must end before the interpreter
        return event

    def _array(self, memory: Any, first: int, which: int) -> arrays.tensor.usm_ndarray:
        """Return the box's elements from element ``first`` of ``memory`` on as array; ``which``: 1 dest, 2 source."""
        shape, strides = [axis[0] for axis in self.box.axes], [axis[which] for axis in self.box.axes]
        return arrays.tensor.usm_ndarray(
            (*shape, self.box.block), dtype=self.dtype, buffer=memory, strides=(*strides, 1), offset=first
        )


def _wait(
    wait: Callable[[], Any], to: check.View | None, worker: QueueWorker, events: Events
) -> dpctl.SyclEvent:  # fmt: skip
    """Submit a wait on the host that stores the result of ``wait()`` in ``to``, if given; return its event."""
    to_device = None
    if to and to.device:
        to_device = _bytes_at(worker, to.address, 8), dpctl.memory.MemoryUSMHost(8, queue=worker.queue)

    def action() -> None:
        found = _until_closed(worker, wait)
        if to is not None:
            address = to_device[1]._pointer if to_device else to.address
            ctypes.c_uint64.from_address(address).value = found & (2**64 - 1)

    return worker.run_on_host(events, action, to_device, keep=to)


def _until_closed(worker: QueueWorker, wait: Callable[[], Any]) -> Any:
    """Run host wait ``wait()`` in the worker's thread; return its result, or 0 if the job ends before."""
    this = job.peek()
    if this is None or worker.closing.is_set():
        return 0
    with this.waits.ending_with(worker.closing):
        try:
            return wait()
        except WaitTimeout:
            if worker.closing.is_set():
                return 0
            raise


def _wait_set(
    routine: Callable[..., Any], ivars: Any, cmp: Any, sycl_queue: Queue, depends: Depends, status: Any,
    ret: Any = None, **others: Any,
) -> dpctl.SyclEvent:  # fmt: skip
    worker, events, name = _worker(sycl_queue), events_of(depends), routine.__name__
    indices = [others.pop("indices")] if "indices" in others else []
    (cmp_values,) = others.values()
    test = wait_sets.test_any_vector if name.endswith("_vector") else wait_sets.test_any
    test(ivars, cmp, cmp_values, status)  # checks the arguments
    result = None if "all" in name else _result_view(ret)
    if indices:
        wait_sets.check_indices(f"{name}_on_queue", check.view(ivars, "ivars"), indices[0])
    if isinstance(worker, Recorder):
        results = [ret, *indices] if result else []
        return _recorded_wait(worker, name, events, (ivars, cmp, cmp_values), status, *results)
    arguments = ivars, *indices, cmp, cmp_values, status
    return _wait(lambda: routine(*arguments), result, worker, events)


def _result_view(ret: Any) -> check.View:
    array = check.view(ret, "ret", _RESULT_TYPES, "on_queue")
    check.writable(array)
    if not array.count:
        raise ValueError("ret is empty; it must have at least one element")
    return array


def _collective(
    routine: Callable[..., Any], sycl_queue: Queue, depends: Depends, team: Team | None = None
) -> dpctl.SyclEvent:
    name, workers, handle = routine.__name__, job.current().queue_workers, 0
    if team is not None:
        handle = teams.find(team).handle
        teams.find(team).shape  # noqa: B018  # raises unless this PE is in it
    if routine is collectives.barrier_all:
        job.current().engine.quiet()
    check_waits(name)
    try:
        worker, events = workers.of(sycl_queue), events_of(depends)
    except Exception:
        _submit_collective(name, handle, workers.of(None), [])  # the kernels of the other PEs wait for it
        raise
    if isinstance(worker, Recorder):
        return recorded(worker, name, events, handle, team=handle)
    problem = worker.take_problem()
    event = _submit_collective(name, handle, worker, events)
    if problem:
        raise problem
    return event


def _submit_collective(name: str, team: int, worker: QueueWorker, events: Events) -> dpctl.SyclEvent:
    from ishmem.kernels.on_queue import launch

    workers = job.current().queue_workers

    def submit(before: Events) -> dpctl.SyclEvent:
        with worker.as_one_operation():
            ready = worker.nothing(before, collective=True)
            done = workers.barriers.submit(lambda anchor: launch(name, team, anchor, ready))
            return worker.nothing([done], collective=True)

    return workers.in_turn(team, events, submit)


def _nonblocking(form: Callable[..., dpctl.SyclEvent], routine: Callable[..., None]) -> Callable[..., dpctl.SyclEvent]:
    """Return ``<routine>_on_queue`` of a nonblocking routine: a function that calls ``form`` of the blocking one."""
    name = f"{routine.__name__}_on_queue"

    def same(*arguments: Any, **keywords: Any) -> dpctl.SyclEvent:
        return form(*arguments, **keywords)

    same.__signature__, same.__name__ = inspect.signature(form), name  # type: ignore[attr-defined]
    text = f"Submit ``{routine.__name__}`` to a queue: the same as ``{form.__name__}``, which is nonblocking too."
    text += f"\n\nReturns its event. Not collective, not blocking.\n\n{on_queue_sections(same, routine)}"
    return named(same, name, __name__, text, f"ishmemx_{name}")


_ALONE = ".\n\nReturns its event. Not collective, not blocking."
_FROM = f", as a kernel if the device reaches both arrays; ``dest`` in host memory must have {{}}{_ALONE}"
_TO = f", as a kernel if the device reaches both arrays; a static object ``dest`` must have {{}}{_ALONE}"
_RESULT = f"; the host waits, in a recording a kernel, and stores the {{}} in ``ret[0]``{_ALONE}"
_KERNEL = (
    ", as a kernel of one work-item.\n\n"
    "Returns its event. Collective{}, not blocking: all PEs call such forms in one order."
)
_BY_HOST = f"; the host waits, in a recording a kernel{_ALONE}"

put_nbi_on_queue = _nonblocking(put_on_queue, rma.put_nbi)
get_nbi_on_queue = _nonblocking(get_on_queue, rma.get_nbi)
put_signal_nbi_on_queue = _nonblocking(put_signal_on_queue, signals.put_signal_nbi)
iput_on_queue = on_queue_form(strided.iput, _call_strided, _TO.format("stride 1"))
iget_on_queue = on_queue_form(strided.iget, _call_strided, _FROM.format("stride 1"))
ibput_on_queue = on_queue_form(strided.ibput, _call_strided, _TO.format("no gaps between blocks"))
ibget_on_queue = on_queue_form(strided.ibget, _call_strided, _FROM.format("no gaps between blocks"))
wait_until_all_on_queue = on_queue_form(wait_sets.wait_until_all, _wait_set, _BY_HOST)
wait_until_all_vector_on_queue = on_queue_form(wait_sets.wait_until_all_vector, _wait_set, _BY_HOST)
wait_until_any_on_queue = on_queue_form(wait_sets.wait_until_any, _wait_set, _RESULT.format("index"))
wait_until_any_vector_on_queue = on_queue_form(wait_sets.wait_until_any_vector, _wait_set, _RESULT.format("index"))
wait_until_some_on_queue = on_queue_form(wait_sets.wait_until_some, _wait_set, _RESULT.format("count"))
wait_until_some_vector_on_queue = on_queue_form(wait_sets.wait_until_some_vector, _wait_set, _RESULT.format("count"))
fence_on_queue = on_queue_form(
    order.fence, _order, ": it orders what was started before its turn and what starts after.\n\n"
    "The on-queue operations of one queue are in order without it. Not collective, not blocking.",
)  # fmt: skip
quiet_on_queue = on_queue_form(
    order.quiet, _order, f": it completes all operations that were started before its turn{_ALONE}"
)
barrier_all_on_queue, sync_all_on_queue = (
    on_queue_form(getattr(collectives, name), _collective, _KERNEL.format("")) for name in ("barrier_all", "sync_all")
)
team_sync_on_queue = on_queue_form(
    collectives.team_sync, _collective, _KERNEL.format(" over the team") + "\n\nRaises:\n"
    "    ValueError: This PE is not in the team.\n    StateError: Destroyed, or not between ``init`` and ``finalize``.",
)  # fmt: skip
