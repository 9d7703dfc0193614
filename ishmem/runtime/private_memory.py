"""Host mappings of private memory: USM of this process that is not on the symmetric heap.

The compiled core copies between a private array and a symmetric one by itself once the array's allocation is mapped
(``ishmem/core/private_memory.cpp``). One mapping serves all arrays of an allocation, and SYCL takes many small arrays
from one allocation.
"""

from __future__ import annotations

import contextlib
import threading

from ishmem import _core
from ishmem.common.errors import IshmemError, LevelZeroError
from ishmem.ipc import handles, pyze

MOST = 256
"""Allocations that are known at a time."""
PART = 16
"""The mappings take at most this part of the device's memory: a mapping keeps the memory of a freed allocation."""
AT_ONCE = 4 << 20
"""A larger allocation is mapped at its second use: to touch its pages for the first time takes longer than the copy."""
NOTED = 4096
"""Allocations that are noted at most, as used once or as impossible to map."""


class PrivateMemory:
    """Maps the allocations that private arrays are in, and unmaps those that were freed."""

    def __init__(self, context: int, heap: int, device_bytes: int, cutovers: tuple[int, int]) -> None:
        """Start without mappings.

        Args:
            context: Level Zero handle of the context.
            heap: Device address of the symmetric heap, which is not private.
            device_bytes: Memory of the device.
            cutovers: Sizes from which the copy engine reads, and writes, private memory.
        """
        self._context = context
        self._heap = pyze.alloc_properties(context, heap)[0].id
        self._most_bytes = device_bytes // PART
        self._cutovers = cutovers
        self._maps: dict[int, handles.HostMap] = {}
        self._used_once: set[int] = set()
        self._refused: set[int] = set()
        self._lock = threading.Lock()
        _core.private_configure(pyze.address_of("zeMemGetAllocProperties"), context, *cutovers)

    def learn(self, address: int, nbytes: int, *, write: bool) -> bool:
        """Register the allocation of an address in the core, and map it where the host needs a mapping.

        Returns:
            Whether the core may now do the copy that it has declined.
        """
        with self._lock:
            properties, _device = pyze.alloc_properties(self._context, address)
            number, kind = properties.id, properties.type
            if kind == pyze.MEMORY_UNKNOWN or number == self._heap or not nbytes or _core.private_place(address, 1):
                return False
            base, size = pyze.address_range(self._context, address)
            if kind != pyze.MEMORY_DEVICE:  # the host reaches it as it is
                return self._register(base, size, number, None)
            if nbytes >= self._cutovers[write] or number in self._refused or not self._due(number, size):
                return False
            return self._map(base, size, number)

    def _due(self, number: int, size: int) -> bool:
        """Return whether this use of an allocation is to map it."""
        if size <= AT_ONCE or number in self._used_once:
            return size <= self._most_bytes
        _note(self._used_once, number)
        return False

    def _map(self, base: int, size: int, number: int) -> bool:
        """Map an allocation of the device; one that the driver does not export is left to the copy engine."""
        if not self._make_room(size):
            return False
        try:
            export = handles.export(self._context, base)
            try:
                mapped = handles.map_host(export.fds, size, export.fd_offset)
            finally:
                self._give_back(export)
        except (LevelZeroError, IshmemError):
            _note(self._refused, number)
            return False
        return self._register(base, size, number, mapped)

    def _give_back(self, export: handles.Export) -> None:
        """Let the driver close the descriptors; older drivers do that when the allocation is freed."""
        for handle in export.handles:
            with contextlib.suppress(LevelZeroError):
                pyze.put_ipc_handle(self._context, handle)

    def _register(self, base: int, size: int, number: int, mapped: handles.HostMap | None) -> bool:
        """Tell the core of an allocation; ``mapped`` is None where the host reaches the memory without a mapping."""
        if mapped is None and not self._make_room(0):
            return False
        if mapped:
            self._maps[number] = mapped
        self._used_once.discard(number)
        _core.private_add(base, size, number, mapped.address if mapped else base)
        return True

    def _make_room(self, nbytes: int) -> bool:
        """Unmap what was freed, and what was used longest ago, until there is room for a mapping."""
        forgotten, fits = _core.private_make_room(nbytes, self._most_bytes, MOST)
        for number in forgotten:
            if mapped := self._maps.pop(number, None):
                mapped.close()
        return bool(fits)

    def close(self) -> None:
        """Unmap everything."""
        _core.private_clear()
        for mapped in self._maps.values():
            mapped.close()
        self._maps.clear()


def _note(numbers: set[int], number: int) -> None:
    if len(numbers) >= NOTED:
        numbers.clear()
    numbers.add(number)
