"""Staging buffers: host memory through which MPI sends from the heap of a discrete GPU.

The copy engine fills them. The engine of the network (``ishmem/core/staging.hpp``) uses them for payloads from the size
on from which the copy engine copies for the host, unless MPI handles Level Zero memory itself.
"""

from __future__ import annotations

import contextlib

from ishmem import _core
from ishmem.common.errors import LevelZeroError
from ishmem.ipc import pyze


class Staging:
    """The buffers, with a command list and an event for each.

    Attributes:
        setup: The addresses of Level Zero functions, and the handles, for the core.
    """

    def __init__(self, context: int, device: int, group: int) -> None:
        """Create the buffers; ``group`` is the ordinal of a queue group that copies while kernels run."""
        self._context = context
        self._buffers = pyze.alloc_host(context, _core.STAGES * _core.STAGE_BYTES, 4096)
        self._list = pyze.create_immediate(context, device, group, pyze.MODE_ASYNCHRONOUS)
        self._pool = pyze.create_event_pool(context, _core.STAGES)
        self._events = [pyze.create_event(self._pool, index) for index in range(_core.STAGES)]
        self.setup = _core.StagingSetup(
            append_copy=pyze.function_address("zeCommandListAppendMemoryCopy"),
            query=pyze.function_address("zeEventQueryStatus"),
            reset=pyze.function_address("zeEventHostReset"),
            list=self._list,
            buffers=self._buffers,
            events=self._events,
        )

    def close(self, sent: bool) -> None:
        """Destroy all after the engine has stopped; the buffers only with ``sent``: MPI reads them no more."""
        with contextlib.suppress(LevelZeroError):  # the device is lost
            pyze.zeCommandListHostSynchronize(self._list, pyze.FOREVER)
        pyze.zeCommandListDestroy(self._list)
        for event in self._events:
            pyze.zeEventDestroy(event)
        pyze.zeEventPoolDestroy(self._pool)
        if sent:
            pyze.zeMemFree(self._context, self._buffers)


def create(context: int, device: int) -> Staging | None:
    """Return the `Staging` of a Level Zero context and device; None if no queue of it copies while kernels run."""
    group = pyze.copy_group(device)
    return None if group is None else Staging(context, device, group)
