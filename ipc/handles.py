"""Memory of one process opened in another: export, import, residency, and the host's view."""

from __future__ import annotations

import ctypes
import mmap
import os
import struct
from dataclasses import dataclass

from ishmem.errors import IshmemError, LevelZeroError

from . import pyze

_PACKED = struct.Struct(f"<QQ{pyze.IPC_HANDLE_SIZE}s")
_FD = struct.Struct("<i")


@dataclass(frozen=True)
class Export:
    """What a peer needs to open an allocation; the file descriptor travels beside it.

    Attributes:
        offset: Distance of the exported address from the base of its allocation.
        size: Size of the whole allocation, in bytes.
        handle: The 64 bytes of the IPC handle of the base.
    """

    offset: int
    size: int
    handle: bytes

    @property
    def fd(self) -> int:
        """The exporter's file descriptor; the driver owns it, never close it."""
        return int(_FD.unpack_from(self.handle)[0])

    def pack(self) -> bytes:
        """Return the bytes to send."""
        return _PACKED.pack(self.offset, self.size, self.handle)

    @classmethod
    def unpack(cls, data: bytes) -> Export:
        """Return the export that a peer has packed.

        Raises:
            IshmemError: The bytes are no packed export.
        """
        if len(data) != _PACKED.size:
            raise IshmemError(f"a packed export has {_PACKED.size} bytes, got {len(data)}")
        offset, size, handle = _PACKED.unpack(data)
        if offset >= max(size, 1):
            raise IshmemError(f"an export of {size} bytes cannot start at offset {offset}")
        return cls(offset, size, handle)


class Mapping:
    """Device memory of a peer, opened here.

    Attributes:
        pointer: Device address of what the peer exported.
    """

    def __init__(self, context: int, base: int, offset: int) -> None:
        """Take over the opened ``base``."""
        self._context = context
        self._base: int | None = base
        self.pointer = base + offset

    def close(self) -> None:
        """Close the memory; a second call does nothing."""
        base, self._base = self._base, None
        if base is not None:
            pyze.zeMemCloseIpcHandle(self._context, base)


def export(context: int, pointer: int) -> Export:
    """Export the allocation that a device address belongs to.

    The allocation must live until every peer has opened it.

    Raises:
        LevelZeroError: Not device memory of this context.
    """
    base, size = pyze.address_range(context, pointer)
    return Export(pointer - base, size, pyze.get_ipc_handle(context, base))


def open_export(context: int, device: int, export: Export, fd: int) -> Mapping:
    """Open the memory that a peer has exported; ``fd`` is closed whether that succeeds or not.

    Raises:
        LevelZeroError: The driver cannot open it.
    """
    patched = _FD.pack(fd) + export.handle[_FD.size :]
    try:
        base = _open(context, device, patched, export.handle)
    finally:
        os.close(fd)
    return Mapping(context, base, export.offset)


def _open(context: int, device: int, patched: bytes, original: bytes) -> int:
    try:
        return pyze.open_ipc_handle(context, device, patched)
    except LevelZeroError as error:
        if error.code != pyze.INVALID_ARGUMENT:
            raise
    # Some drivers check the handle as a whole and fetch the descriptor from the exporter themselves.
    return pyze.open_ipc_handle(context, device, original)


def make_resident(context: int, device: int, pointer: int, size: int) -> None:
    """Let kernels of a device reach memory through raw addresses.

    Raises:
        LevelZeroError: The driver refuses.
    """
    pyze.zeContextMakeMemoryResident(context, device, pointer, size)


class HostMap:
    """A mapping of exported device memory for the host's own loads and stores.

    Attributes:
        address: Host address of the wanted offset.
    """

    def __init__(self, memory: mmap.mmap, skip: int) -> None:
        """Take over ``memory``; the wanted offset is ``skip`` bytes into it."""
        self._memory: mmap.mmap | None = memory
        anchor = ctypes.c_char.from_buffer(memory)
        self.address = ctypes.addressof(anchor) + skip
        del anchor  # an exported buffer would forbid to close the map

    def close(self) -> None:
        """Unmap; a second call does nothing. No address into the map may be used afterwards."""
        memory, self._memory = self._memory, None
        if memory is not None:
            memory.close()


def map_host(fd: int, size: int, offset: int = 0) -> HostMap:
    """Map ``size`` bytes at ``offset`` of an exported descriptor, readable and writable by the host.

    Must be done before ``fd`` is closed; ``fd`` stays open.

    Raises:
        IshmemError: The descriptor cannot be mapped, or is too small.
    """
    start = offset - offset % mmap.ALLOCATIONGRANULARITY
    try:
        if size <= 0 or offset < 0:
            raise ValueError("there is no such range")
        held = os.fstat(fd).st_size
        # A device file or dma-buf may report no size: then only the kernel can tell.
        if 0 < held < offset + size:
            raise ValueError(f"it holds {held} bytes")
        memory = mmap.mmap(fd, offset + size - start, mmap.MAP_SHARED, offset=start)
    except (OSError, ValueError, OverflowError) as error:
        message = f"cannot map {size} bytes at offset {offset} of file descriptor {fd}: {error}"
        raise IshmemError(message) from error
    return HostMap(memory, offset - start)
