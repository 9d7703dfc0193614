"""Host atomics by a device kernel, for device memory that the host cannot update atomically.

One work-item calls the device form of the routine, so host and kernel atomics are the same operation.

A kernel of the program may wait for this very operation. So nothing here lets the driver write a command that stalls
until earlier kernels have ended, as copies and the synchronisation with a queue do: the operands are arguments of the
kernel, the old value goes to host memory, and the host polls the event that the kernel itself signals.
"""

from __future__ import annotations

import functools
import time
from collections import deque
from typing import TYPE_CHECKING, Any, Callable
from weakref import WeakKeyDictionary

import dpctl.memory
import dpnp
import numpy as np

from ishmem import _core, dpex
from ishmem.common import kernel_wait
from ishmem.common.errors import IshmemError
from ishmem.dpex import kernel_api as kapi
from ishmem.environment import arrays
from ishmem.runtime import job, long_waits

if TYPE_CHECKING:
    import dpctl

    from ishmem.runtime.heap import SymmetricHeap
    from ishmem.runtime.job import Job
    from ishmem.runtime.queue_workers import Events

_ITEM = 8
_YIELDING, _SLICE = 1e-3, 0.02  # seconds of polling without sleep, and between checks of the job

_Place = tuple[Any, int, int]
"""An array, a PE and the position of an element."""

_results: WeakKeyDictionary[SymmetricHeap, deque[dpctl.memory.MemoryUSMHost]] = WeakKeyDictionary()
"""Host memory for old values that no kernel uses at present, by the heap of the job."""


@functools.cache
def _kernel(routine: Callable[..., Any], n_operands: int) -> Any:
    """Return the kernel ``(target, *operands, pe, index, old)`` of a fetching atomic."""

    def run_0(item: kapi.Item, target, pe, index, old):  # type: ignore[no-untyped-def]
        old[0] = routine(target, pe, index)

    def run_1(item: kapi.Item, target, value, pe, index, old):  # type: ignore[no-untyped-def]
        old[0] = routine(target, value, pe, index)

    def run_2(item: kapi.Item, target, cond, value, pe, index, old):  # type: ignore[no-untyped-def]
        old[0] = routine(target, cond, value, pe, index)

    return dpex.kernel((run_0, run_1, run_2)[n_operands])


def atomic_by_kernel(routine: Callable[..., Any], target: Any, pe: int, index: int, operands: list[Any]) -> Any:
    """Run a fetching atomic in a kernel and return the old value; blocking.

    ``routine`` is the public routine, ``index`` the position in ``target``, ``operands`` its arrays of one element.
    The kernel has a queue of its own: on one of the program it could wait behind a kernel that waits for this call.

    Raises:
        IshmemError: The device does not begin the kernel while another kernel of this PE waits.
        WaitTimeout: After ``ISHMEM_TIMEOUT``.
        LevelZeroError: The device is lost.
    """
    this = job.current()
    queue = this.heap.own_queue
    results = _results.setdefault(this.heap, deque())
    result = results.pop() if results else dpctl.memory.MemoryUSMHost(_ITEM, queue=queue)
    with this.heap.naming_loss():
        event = _submit(routine, (target, pe, index), operands, queue, [], result)
        _await(this, event, routine.__name__)
    found = np.frombuffer(result, target.dtype, 1)[0].item()
    results.append(result)
    return found


def _submit(
    routine: Callable[..., Any], place: _Place, operands: list[Any], queue: dpctl.SyclQueue, depends: Events,
    result: dpctl.memory.MemoryUSMHost,
) -> dpctl.SyclEvent:  # fmt: skip
    """Submit the kernel of an atomic, which writes the old value to ``result``."""
    target, pe, index = place
    old = dpnp.asarray(arrays.tensor.usm_ndarray(1, dtype=target.dtype, buffer=result))
    values = [operand[0] for operand in operands]
    kernel, there = _kernel(routine, len(operands)), target.to_device(queue)
    return dpex.call_kernel_async(kernel, kapi.Range(1), tuple(depends), there, *values, pe, index, old)[-1]


def _await(this: Job, event: dpctl.SyclEvent, name: str) -> None:
    """Wait for the event of a kernel by polling."""
    begun = time.monotonic()
    if _core.wait_event(event.addressof_ref(), _YIELDING, _SLICE):
        return
    with long_waits.patience(this, lambda: " for its kernel") as report:
        while not _core.wait_event(event.addressof_ref(), 0.0, _SLICE):
            this.heap.raise_lost_device()
            report()
            if time.monotonic() > begun + (this.settings.wait_notice or kernel_wait.NOTICE):
                _refuse(this, name)


def _refuse(this: Job, name: str) -> None:
    """Raise if other work waits on this PE's device: the device may never begin the atomic's kernel behind it."""
    waiting = _waits_on_device(this)
    if waiting:
        raise IshmemError(
            f"{name}: on this device the host's atomics are kernels, and the device does not begin this one behind "
            f"what waits there ({waiting}); use atomic_set, signal_set or p, which need no kernel"
        )


def _waits_on_device(this: Job) -> str:
    """Return a description of a kernel or on-queue operation that waits on this PE's device; empty if none does."""
    record = _core.read(this.pe, this.heap.layout.kernel_wait, kernel_wait.NBYTES)
    return kernel_wait.describe(record, this.n_pes) or ("" if this.queue_workers.drained else "an on-queue operation")
