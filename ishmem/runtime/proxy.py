"""The proxy: a host thread that serves operations which this PE's kernels cannot do by themselves.

A kernel posts a request of 64 bytes into a ring in host memory (``ishmem.kernels.proxy``), and a compiled thread serves
the requests in order (``ishmem/core/proxy.cpp``). It runs only in jobs in which a pair of PEs needs it. Copies, stores
and atomics go through the host's mappings of the heaps.

On a discrete card the host's atomics are not atomic for kernels. Atomics are exact there only when one kind of agent
does all of them: the atomics of all PEs on that memory, its owner's kernels included, go through the proxies, which
share a lock. A kernel on the owner's device is no alternative: two PEs that fill their devices with work-items, each
waiting for such a kernel on the other, would deadlock.
"""

from __future__ import annotations

import ctypes
import struct
from typing import TYPE_CHECKING

from ishmem import _core
from ishmem.common.errors import IshmemError
from ishmem.common.layout import LINE, PROXY_RING_SLOTS
from ishmem.common.shared_numbers import Problem
from ishmem.ipc import handles, pyze

if TYPE_CHECKING:
    from ishmem.runtime.heap import SymmetricHeap

STAGING = 1 << 20


class Proxy:
    """The ring of requests and the thread that serves it."""

    def __init__(self, heap: SymmetricHeap) -> None:
        """Start the thread; ``heap`` is attached."""
        size = LINE * (PROXY_RING_SLOTS + 1)
        self._context = heap.context
        self._memory = [pyze.alloc_host(heap.context, nbytes, 4096) for nbytes in (size, STAGING)]
        self._list = pyze.create_immediate(heap.context, heap.device, pyze.copy_group(heap.device) or 0)
        ring, staging = self._memory
        ctypes.memset(ring, 0, size)
        handles.make_resident(heap.context, heap.device, ring, size)
        _core.write(heap.pe, heap.layout.proxy, struct.pack("<q", ring))
        _core.write(heap.pe, heap.layout.routes, struct.pack(f"<{len(heap.near)}q", *heap.kernel_routes()))
        copy = pyze.function_address("zeCommandListAppendMemoryCopy")
        setup = _core.ProxySetup(
            ring=ring, slots=PROXY_RING_SLOTS, tickets=heap.layout.tickets, append_copy=copy, list=self._list,
            staging=staging, room=STAGING,
        )  # fmt: skip
        _core.start_proxy(setup)

    def close(self) -> None:
        """End the thread; requests that were not served are dropped."""
        _core.stop_proxy()
        pyze.zeCommandListDestroy(self._list)
        for memory in self._memory:
            pyze.zeMemFree(self._context, memory)


def raise_problem() -> bool:
    """Raise the error of a request that failed; return whether one has ended because its PE is lost.

    Raises:
        LevelZeroError: The driver refused a copy or a kernel.
        IshmemError: The request had an address outside the heap.
    """
    code = _core.proxy_problem()
    if code == Problem.OUTSIDE:
        raise IshmemError("an operation in a kernel reaches outside the symmetric heap; ISHMEM_CHECK=1 says which")
    if code not in (0, Problem.LOST_PE):
        raise pyze.failure("a request of a kernel to the host", code)
    return bool(code)
