"""Events of DeepEP's interface, for SYCL queues."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Callable

import dpctl

from ishmem.runtime import foreign, job


class EventHandle:
    """Event of the work on a queue before the creation of the handle.

    Attributes:
        event: The ``dpctl.SyclEvent``, which completes after that work.
    """

    def __init__(self, queue: dpctl.SyclQueue | None = None) -> None:
        """Create the event on ``queue``, by default that of torch's current stream, or without one the heap's queue."""
        queue = queue or foreign.queue() or job.current().heap.queue
        self.event: dpctl.SyclEvent = queue.submit_barrier()

    def current_stream_wait(self) -> None:
        """Order later work on torch's current stream after the event; without an XPU, wait for it on the host."""
        foreign.current_stream_wait(self.event)


class EventOverlap:
    """An event of a call; ``with event: ...`` waits for it at the end of the block.

    Attributes:
        event: The `EventHandle`; None after its release.
        extra_tensors: Tensors that must live as long as this object, or None.
    """

    def __init__(self, event: EventHandle | None = None, extra_tensors: tuple[Any, ...] | None = None) -> None:
        self.event, self.extra_tensors = event, extra_tensors
        self.hook_after_wait: Callable[[], Any] | None = None
        self._release = False

    def current_stream_wait(self, release_handle: bool = False) -> None:
        """Wait for the event as `EventHandle`, then call the hook; with ``release_handle`` set ``event`` to None."""
        if self.event is None:
            raise ValueError("event is None; this EventOverlap has no event, or has released it")
        self.event.current_stream_wait()
        hook, self.hook_after_wait = self.hook_after_wait, None
        if hook:
            hook()
        if release_handle:
            self.event = None

    def register_hook_after_wait(self, hook_after_wait: Callable[[], Any]) -> None:
        """Register a function that the next wait calls at its end; ``ValueError`` if one is registered already."""
        if self.hook_after_wait is not None:
            raise ValueError("a hook is registered already; allowed is one for each wait")
        self.hook_after_wait = hook_after_wait

    def __call__(self, release_handle: bool = False) -> EventOverlap:
        """Return the object itself for ``with event(True): ...``: the end of the block also releases the event."""
        self._release = release_handle
        return self

    def __enter__(self) -> EventOverlap:
        """Return the object itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, _error: BaseException | None, _: TracebackType | None) -> None:
        """Wait for the event if there is one, and release it after ``event(True)``; exceptions are passed on."""
        if self.event is not None:
            self.current_stream_wait(self._release)
        self._release = False


def put_after(queue: dpctl.SyclQueue, *events: Any) -> None:
    """Order later work on ``queue`` after events of this module or of SYCL, or None; ``TypeError`` for others."""
    for each in events:
        handle = each.event if isinstance(each, EventOverlap) else each
        event = handle.event if isinstance(handle, EventHandle) else handle
        if event is not None:
            if not isinstance(event, dpctl.SyclEvent):
                raise TypeError(f"previous_event is {type(each).__name__}; allowed are EventHandle and EventOverlap")
            queue.submit_barrier([event])
