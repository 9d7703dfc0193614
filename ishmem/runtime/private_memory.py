"""Host mappings of private memory: USM of this process outside the symmetric heap.

After the allocation of a private array is mapped, the compiled core copies between it and symmetric arrays without
Python (``ishmem/core/private_memory.cpp``). One mapping serves all arrays in an allocation; SYCL places many small
arrays in one allocation.
"""

from __future__ import annotations

import contextlib
import threading

from ishmem import _core
from ishmem.common.errors import IshmemError, LevelZeroError
from ishmem.ipc import handles, pyze

MOST = 256
"""Largest number of allocations that are registered in the core."""
PART = 16
"""Mappings take at most 1/PART of the device's memory, because a mapping keeps a freed allocation in memory."""
AT_ONCE = 4 << 20
"""Size in bytes above which an allocation is mapped at its second use: its page faults cost more than one copy."""
NOTED = 4096
"""Largest number of allocations remembered as used once, and of those remembered as impossible to map."""


class PrivateMemory:
    """Maps allocations of private arrays, and unmaps allocations that were freed."""

    def __init__(self, context: int, heap: int, device_bytes: int, cutovers: tuple[int, int]) -> None:
        """Start without mappings.

        Args:
            context: Level Zero handle of the context.
            heap: Device address of the symmetric heap, which is never mapped here.
            device_bytes: Size of the device's memory in bytes.
            cutovers: Sizes in bytes from which the copy engine is used to read and to write private memory.
        """
        self._context = context
        self._heap = pyze.alloc_properties(context, heap)[0].id
        self._most_bytes = device_bytes // PART
        self._cutovers = cutovers
        self._maps: dict[int, handles.HostMap] = {}
        self._used_once: set[int] = set()
        self._refused: set[int] = set()
        self._lock = threading.RLock()  # a handler of a signal may call in between
        _core.private_configure(pyze.function_address("zeMemGetAllocProperties"), context, *cutovers)

    def register(self, address: int, nbytes: int, *, write: bool) -> bool:
        """Register the allocation that contains an address in the core; map it if the host needs a mapping.

        The core has declined a copy of ``nbytes`` bytes, to the address if ``write``, else from it.

        Returns:
            Whether the core can now do the copy that it declined.
        """
        with self._lock:
            properties, _device = pyze.alloc_properties(self._context, address)
            number, kind = properties.id, properties.type
            if kind == pyze.MEMORY_UNKNOWN or number == self._heap or not nbytes or _core.private_place(address, 1):
                return False
            base, size = pyze.address_range(self._context, address)
            if kind != pyze.MEMORY_DEVICE:  # host and shared USM need no mapping
                return self._register(base, size, number, None)
            if nbytes >= self._cutovers[write] or number in self._refused or not self._due(number, size):
                return False
            return self._map(base, size, number)

    def _due(self, number: int, size: int) -> bool:
        """Return whether to map allocation ``number`` now: it fits ``_most_bytes``, and is small or was used before."""
        if size <= AT_ONCE or number in self._used_once:
            return size <= self._most_bytes
        _note(self._used_once, number)
        return False

    def _map(self, base: int, size: int, number: int) -> bool:
        """Map a device allocation; return False if the driver cannot export it: then the copy engine copies."""
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
        """Make the driver close the file descriptors; older drivers close them when the allocation is freed."""
        for handle in export.handles:
            with contextlib.suppress(LevelZeroError):
                pyze.put_ipc_handle(self._context, handle)

    def _register(self, base: int, size: int, number: int, mapped: handles.HostMap | None) -> bool:
        """Register an allocation in the core; ``mapped`` is None if the host can access it without a mapping."""
        if mapped is None and not self._make_room(0):
            return False
        if mapped:
            self._maps[number] = mapped
        self._used_once.discard(number)
        _core.private_add(base, size, number, mapped.address if mapped else base)
        return True

    def _make_room(self, nbytes: int) -> bool:
        """Unmap freed, then least recently used allocations until ``nbytes`` more fit; return whether they do."""
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
