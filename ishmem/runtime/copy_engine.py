"""The copy engine, an immediate command list of Level Zero, and the sizes from which it copies for the host."""

from __future__ import annotations

import contextlib
import ctypes
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Callable, NoReturn

from ishmem import _core
from ishmem.common.errors import LevelZeroError
from ishmem.environment import profile
from ishmem.ipc import pyze

if TYPE_CHECKING:
    from ishmem.common.algorithms import Table
    from ishmem.environment.settings import Settings

PIECE = 1 << 20
DISCRETE_CUTOVER = 16 << 10
DISCRETE_READ_CUTOVER = 512
"""Least bytes that the copy engine reads; fewer than it writes: a load across PCIe stalls for each cache line."""
NEVER = 2**63


class CopyEngine:
    """Copies between device addresses, and between host memory and device addresses.

    Attributes:
        outstanding: Whether a copy may be incomplete.
    """

    def __init__(self, context: int, device: int, far: Sequence[range], raise_lost: Callable[[str], NoReturn]) -> None:
        """Create the command list.

        Args:
            context: Level Zero handle of the context.
            device: Level Zero handle of the device.
            far: Address ranges that the host maps and the device does not reach.
            raise_lost: Raises the error of a copy, which it names, to or from a PE that is gone.
        """
        self._far, self._raise_lost = far, raise_lost
        group = pyze.copy_group(device) or 0  # behind kernels that wait, a copy might never end
        self._list = pyze.create_immediate(context, device, group, pyze.MODE_ASYNCHRONOUS)
        self._kept: list[Any] = []
        self._lock = threading.RLock()  # a handler of a signal may call in between
        self.outstanding = False

    def copy(self, dest: int, source: int, nbytes: int, keep: Any) -> None:
        """Start a copy of ``nbytes`` bytes between two addresses; ``keep`` is held until it completes.

        Not blocking, unless one address is in memory that the device does not reach: a mapping, or on another node.
        """
        if not nbytes:
            return
        _core.complete_late()  # complete held operations first: late delivery does not hold these copies
        if self._is_far(dest) or self._is_far(source):
            self._copy_far(dest, source, nbytes)
            return
        with self._lock:
            pyze.append_copy(self._list, dest, source, nbytes)
            self._kept.append(keep)
            self._mark(True)

    def copy_all(self, copies: list[tuple[int, int, int]]) -> None:
        """Start copies, each ``(dest, source, nbytes)``; not blocking. The caller keeps the memory alive."""
        for dest, source, nbytes in copies:
            self.copy(dest, source, nbytes, None)

    def _is_far(self, address: int) -> bool:
        return _core.is_far(address) or any(address in memory for memory in self._far)

    def _copy_far(self, dest: int, source: int, nbytes: int) -> None:
        """Copy in pieces through a host buffer; the host copies the far side."""
        buffer = (ctypes.c_char * min(nbytes, PIECE))()
        place = ctypes.addressof(buffer)
        for done in range(0, nbytes, PIECE):
            piece, from_far = min(PIECE, nbytes - done), self._is_far(source)
            if from_far:
                self._copy_by_host(place, source + done, piece)
            with self._lock:
                to, origin = (dest + done, place) if from_far else (place, source + done)
                pyze.append_copy(self._list, to, origin, piece)
                pyze.zeCommandListHostSynchronize(self._list, pyze.FOREVER)
            if not from_far:
                self._copy_by_host(dest + done, place, piece)

    def _copy_by_host(self, dest: int, source: int, nbytes: int) -> None:
        """Copy between host memory and memory that is mapped for the host or on another node."""
        if _core.copy(dest, source, nbytes) != _core.SATISFIED:
            self._raise_lost("a copy between nodes")

    def quiet(self) -> None:
        """Wait until every copy has completed."""
        if not self.outstanding:
            return
        with self._lock:
            pyze.zeCommandListHostSynchronize(self._list, pyze.FOREVER)
            self._kept.clear()
            self._mark(False)

    def _mark(self, outstanding: bool) -> None:
        """Record, also in the core, whether a copy may be incomplete."""
        if outstanding != self.outstanding:
            _core.count_busy(1 if outstanding else -1)
        self.outstanding = outstanding

    def close(self) -> None:
        """Complete all copies, unless the device is lost, and destroy the list."""
        with contextlib.suppress(LevelZeroError):
            self.quiet()
        pyze.zeCommandListDestroy(self._list)


def host_routes(shared: bool, settings: Settings, measured: list[tuple[int, str]] | None = None) -> tuple[int, bool]:
    """Return the bytes from which the copy engine copies for the host, and whether host atomics use the mapping.

    Args:
        shared: Whether the host's atomics on the device's memory are atomic for kernels too.
        settings: The settings of the job.
        measured: The profile's entry for ``put``: routes by least bytes; None without a profile.
    """
    cutover = _cutover(settings, measured, NEVER if shared else DISCRETE_CUTOVER)
    return cutover, settings.host_atomics == "mapped" or (settings.host_atomics == "auto" and shared)


def private_cutovers(shared: bool, settings: Settings, measured: Table) -> tuple[int, int]:
    """Return the least bytes of reads and of writes of private memory for which the host uses the copy engine.

    ``shared`` is as for `host_routes`; the entries for private memory are removed from the profile ``measured``.
    """
    defaults = (NEVER, NEVER) if shared else (DISCRETE_READ_CUTOVER, DISCRETE_CUTOVER)
    entries = [measured.pop(name, None) for name in (profile.PUT_PRIVATE, profile.GET_PRIVATE)]
    read, write = (_cutover(settings, *each) for each in zip(entries, defaults))
    return read, write


def _cutover(settings: Settings, measured: list[tuple[int, str]] | None, default: int) -> int:
    """Return the bytes from which the copy engine copies: by the setting, else the measurement, else ``default``."""
    if settings.copy_cutover is not None:
        return settings.copy_cutover
    if measured is not None:
        return next((start for start, route in measured if route == "engine"), NEVER)
    return default
