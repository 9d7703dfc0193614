"""What objects share that hold symmetric memory and whose calls are kernels, one after the other on each PE."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Any, TypeVar

import dpctl

from ishmem import memory
from ishmem.common.errors import StateError
from ishmem.environment import arrays

T = TypeVar("T", bound="KernelCalls")


class KernelCalls:
    """Symmetric arrays that kernels get first, and the event of the last kernel.

    As a context manager it is freed on exit, unless an exception ended the block.
    """

    _KIND = "object"
    """What errors call it."""

    def __init__(self, workspace: Sequence[Any]) -> None:
        self._workspace = tuple(workspace)
        self._of_queue: dict[dpctl.SyclQueue, tuple[Any, ...]] = {}
        self._last: dpctl.SyclEvent | None = None

    def free(self) -> None:
        """Wait for this PE's last call, and free the memory.

        Collective over all PEs of the job, blocking.

        Raises:
            StateError: Freed already, or not between ``init`` and ``finalize``.
            PeerLost: A PE died or finalised and will not call.
        """
        self._check_alive()
        if self._last is not None:
            self._last.wait()
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

    def _submit(
        self, kernel: Any, groups: int, items: int, arguments: Sequence[Any], events: list[dpctl.SyclEvent]
    ) -> dpctl.SyclEvent:
        """Submit a kernel of ``groups`` work-groups of ``items`` after the events and the last call.

        Its arguments are the symmetric arrays, on the queue of the first of the others, and then these.
        """
        from ishmem.kernels.front_end import NdRange, call_kernel_async

        before = tuple(events if self._last is None else [*events, self._last])
        workspace = self._on(arguments[0].sycl_queue)
        _, self._last = call_kernel_async(kernel, NdRange((groups * items,), (items,)), before, *workspace, *arguments)
        return self._last

    def _on(self, queue: dpctl.SyclQueue) -> tuple[Any, ...]:
        """Return the symmetric arrays on a queue."""
        if queue not in self._of_queue:
            self._of_queue[queue] = tuple(arrays.usm_array(each).to_device(queue) for each in self._workspace)
        return self._of_queue[queue]
