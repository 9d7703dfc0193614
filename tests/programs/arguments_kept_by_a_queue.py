"""Finalises while a queue has not released the arguments of a barrier."""

import dpctl
import dpctl.memory

import ishmem
from ishmem.runtime import job

size = 1 << 27
queue = dpctl.SyclQueue()
to, origin = (dpctl.memory.MemoryUSMDevice(size, queue=queue) for _ in range(2))
with ishmem.init():
    ishmem.barrier_all_on_queue()
    _array, events = job.current().queue_workers.barriers._busy[-1]
    assert len(events) == 2
    events.append(queue.memcpy_async(to, origin, size))  # takes longer than the release
assert all(event.execution_status == dpctl.event_status_type.complete for event in events)
