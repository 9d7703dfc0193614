"""Base of `inference.Communicator` and `moe.Buffer`: symmetric memory, and kernels on it that run one at a time."""

from __future__ import annotations

import math
import weakref
from collections.abc import Sequence
from types import TracebackType
from typing import Any, TypeVar

import dpctl
import numpy as np

from ishmem import memory
from ishmem.common.errors import StateError
from ishmem.common.type_tables import RMA_TYPES
from ishmem.environment import arrays
from ishmem.runtime import check, graph_recording, job, unfinished_work
from ishmem.runtime.heap import UsmRange
from ishmem.teams import Team

T = TypeVar("T", bound="KernelCalls")


class KernelCalls:
    """Symmetric arrays, which are the first arguments of all its kernels, and the event of the last kernel.

    As a context manager it is freed on exit, unless an exception ended the block.

    Attributes:
        last: Event of the last call or replay of one, after which the next call starts; None before the first call.
    """

    _KIND = "object"
    """Name of the object in error messages."""

    _left: Team
    """The team whose PEs take part in the next call."""

    def __init__(self, workspace: Sequence[Any]) -> None:
        self._workspace = tuple(workspace)
        self._of_queue: dict[dpctl.SyclQueue, tuple[Any, ...]] = {}
        self.last: dpctl.SyclEvent | None = None

    def free(self) -> None:
        """Wait for completion of this PE's last call, and free the symmetric arrays.

        Collective over all PEs of the job, blocking.

        Raises:
            StateError: Freed already, or not between ``init`` and ``finalize``.
            PeerLost: A PE died, or finalised without this call.
        """
        self._check_alive()
        if self.last is not None:
            self.last.wait()
        self._of_queue.clear()
        workspace, self._workspace = self._workspace, ()
        for each in workspace:
            memory.free(each)

    def __enter__(self: T) -> T:
        """Return the object itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, _error: BaseException | None, _: TracebackType | None) -> None:
        """Free the memory, unless an exception ended the block: the other PEs may not call."""
        if kind is None and self._workspace:
            self.free()

    def _check_alive(self) -> None:
        if not self._workspace:
            raise StateError(f"the {self._KIND} was freed")

    def _check_callable(self) -> None:
        """Raise before a call changes anything: if the memory was freed, or a PE of the call is lost."""
        self._check_alive()
        job.current().losses.refuse(self._left.shape)

    def _submit(
        self, kernel: Any, groups: int, items: int, arguments: Sequence[Any], events: list[dpctl.SyclEvent]
    ) -> dpctl.SyclEvent:
        """Submit a kernel of ``groups`` work-groups of ``items`` work-items, after ``events`` and the last call.

        Its arguments are the symmetric arrays, then ``arguments``; its queue is that of ``arguments[0]``. Operations of
        dpnp on this queue run before or after it, in program order. Returns the kernel's event.
        """
        from ishmem.kernels.front_end import NdRange, call_kernel_async

        queue, space = arguments[0].sycl_queue, NdRange((groups * items,), (items,))
        recorded = graph_recording.of(queue)
        before = tuple(events if recorded or self.last is None else [*events, self.last])
        _, event = call_kernel_async(kernel, space, before, *self._on(queue), *arguments)
        if recorded:
            recorded.calls.add(self)
            return event
        self.last = event
        unfinished_work.put_before_dpnp(queue, event)
        return event

    def _on(self, queue: dpctl.SyclQueue) -> tuple[Any, ...]:
        """Return the symmetric arrays as arrays on ``queue``, without a copy."""
        if queue not in self._of_queue:
            self._of_queue[queue] = tuple(arrays.usm_array(each).to_device(queue) for each in self._workspace)
        return self._of_queue[queue]


class Results:
    """Pool of device memory for results; memory is reused when the program has no more references to arrays on it.

    So calls in a loop allocate nothing: an allocation may wait for the device, and new memory has no pages yet.
    """

    def __init__(self) -> None:
        self._free: dict[tuple[dpctl.SyclQueue, int], list[Any]] = {}

    def empty(self, shape: tuple[int, ...], dtype: str, queue: dpctl.SyclQueue) -> Any:
        """Return an uninitialised dpnp array of a shape and dtype on ``queue``, in memory of the pool if possible."""
        import dpnp

        nbytes = math.prod(shape) * np.dtype(dtype).itemsize
        if not nbytes:
            return dpnp.empty(shape, dtype=dtype, sycl_queue=queue)
        free = self._free.setdefault((queue, nbytes), [])
        memory = free.pop() if free else dpctl.memory.MemoryUSMDevice(nbytes, queue=queue)
        used = UsmRange(memory._pointer, nbytes, queue)
        weakref.finalize(used, free.append, memory).atexit = False
        return dpnp.asarray(arrays.tensor.usm_ndarray(shape, dtype=dtype, buffer=used.memory()))

    def clear(self) -> None:
        """Free the memory in the pool that no array uses."""
        self._free.clear()


def device_array(array: Any, name: str, dtypes: tuple[str, ...] = RMA_TYPES, routine: str = "ishmem") -> check.View:
    """Return a view of ``array``, an argument of a kernel, after checking it; ``name`` and ``routine`` are for errors.

    Raises:
        TypeError: Not an array in device memory, or of a dtype that is not in ``dtypes``.
        ValueError: Not in C order.
        SymmetryError: The array was freed.
    """
    found = check.view(array, name, dtypes, routine)
    if not arrays.on_device(found.array):
        raise TypeError(f"{name} is in host memory; it must be a dpnp array, in device memory")
    if not found.order & 1:
        raise ValueError(f"{name} is not C-contiguous; dpnp.ascontiguousarray({name}) is a copy that is")
    return found


def same_queue(first: check.View, *others: check.View) -> None:
    """Raise ``ValueError`` unless all arrays are on one queue."""
    for other in others:
        if other.array.sycl_queue != first.array.sycl_queue:
            raise ValueError(f"{first.name} and {other.name} are on different queues; a.to_device(queue) moves one")


def flat(array: Any, dtype: str) -> Any:
    """Return a 1-D dpctl array on the memory of a contiguous device array, with its bytes as elements of ``dtype``."""
    usm, size = arrays.usm_array(array), np.dtype(dtype).itemsize
    if not usm.size:  # dpctl's memory of it may be shorter than one element
        return arrays.tensor.empty(0, dtype=dtype, sycl_queue=usm.sycl_queue)
    count, offset = usm.size * usm.itemsize // size, usm._element_offset * usm.itemsize // size
    return arrays.tensor.usm_ndarray((count,), dtype=dtype, buffer=usm.usm_data, offset=offset)
