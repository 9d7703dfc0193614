"""The events of DeepEP's interface, on SYCL queues."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Callable

import dpctl

from ishmem.runtime import foreign, job


class EventHandle:
    """The work on a queue at the time that the handle is made.

    Attributes:
        event: Its event, for SYCL queues.
    """

    def __init__(self, queue: dpctl.SyclQueue | None = None) -> None:
        """Capture the work on a queue: by default torch's current stream, or the queue of the job's device."""
        queue = queue or foreign.queue() or job.current().heap.queue
        self.event: dpctl.SyclEvent = queue.submit_barrier()

    def current_stream_wait(self) -> None:
        """Make later work on torch's current stream wait for the event; without an XPU, wait on the host."""
        foreign.current_stream_wait(self.event)


class EventOverlap:
    """An event of a call; ``with event: ...`` waits for it at the end of the block.

    Attributes:
        event: The `EventHandle`; None once it was released.
        extra_tensors: What the program wants to live as long as this object.
    """

    def __init__(self, event: EventHandle | None = None, extra_tensors: tuple[Any, ...] | None = None) -> None:
        self.event, self.extra_tensors = event, extra_tensors
        self.hook_after_wait: Callable[[], Any] | None = None
        self._release = False

    def current_stream_wait(self, release_handle: bool = False) -> None:
        """Wait for the event, then call the hook; with ``release_handle`` also drop the event."""
        if self.event is None:
            raise ValueError("event is None; this EventOverlap has no event, or has released it")
        self.event.current_stream_wait()
        hook, self.hook_after_wait = self.hook_after_wait, None
        if hook:
            hook()
        if release_handle:
            self.event = None

    def register_hook_after_wait(self, hook_after_wait: Callable[[], Any]) -> None:
        """Register a function to call after the next wait."""
        if self.hook_after_wait is not None:
            raise ValueError("a hook is registered already; allowed is one for each wait")
        self.hook_after_wait = hook_after_wait

    def __call__(self, release_handle: bool = False) -> EventOverlap:
        """Return the object itself, whose block is to release the event."""
        self._release = release_handle
        return self

    def __enter__(self) -> EventOverlap:
        """Return the object itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, _error: BaseException | None, _: TracebackType | None) -> None:
        """Wait for the event."""
        if self.event is not None:
            self.current_stream_wait(self._release)
        self._release = False


def put_after(queue: dpctl.SyclQueue, *events: Any) -> None:
    """Make later work on a queue wait for events: an `EventHandle`, `EventOverlap`, SYCL event, or None."""
    for each in events:
        handle = each.event if isinstance(each, EventOverlap) else each
        event = handle.event if isinstance(handle, EventHandle) else handle
        if event is not None:
            if not isinstance(event, dpctl.SyclEvent):
                raise TypeError(f"previous_event is {type(each).__name__}; allowed are EventHandle and EventOverlap")
            queue.submit_barrier([event])
