"""Export of device memory to other processes: IPC handles, import, residency, and mappings for the host."""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import stat
import struct
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ishmem.common import limits, processes
from ishmem.common.errors import IshmemError, LevelZeroError

from . import pyze, wire

_PACKED = struct.Struct("<QQQQI")
_FD = struct.Struct("<i")
_POOL_OFFSET = struct.Struct("<8xQ")  # zero in the handles of drivers without pools
_MAX_PARTS = 16  # tiles of a device
_OTHER_NAMESPACE = (
    "; this driver finds memory by process number, and these processes are in different namespaces of processes: start "
    "their containers with one (--pid=host, or shareProcessNamespace: true)"
)


@dataclass(frozen=True)
class Export:
    """An exported allocation, as sent to a peer; the file descriptors are sent separately.

    Attributes:
        offset: Offset of the exported address from the base of its allocation, in bytes.
        size: Size of the whole allocation, in bytes.
        fd_offset: Offset of the exported address in the concatenated contents of the descriptors; larger than
            ``offset`` when the driver has placed the allocation inside a pool.
        handles: The 64-byte IPC handle of each part of the allocation; there is one part per tile it spans.
        namespace: The number of the exporter's PID namespace; 0 if unknown.
    """

    offset: int
    size: int
    fd_offset: int
    handles: tuple[bytes, ...]
    namespace: int = 0

    @property
    def fds(self) -> list[int]:
        """The exporter's file descriptors, one per part; the driver owns them, so the caller must not close them."""
        return [int(_FD.unpack_from(handle)[0]) for handle in self.handles]

    def pack(self) -> bytes:
        """Return the export as bytes for `unpack`."""
        head = _PACKED.pack(self.offset, self.size, self.fd_offset, self.namespace, len(self.handles))
        return head + b"".join(self.handles)

    @classmethod
    def unpack(cls, data: bytes) -> Export:
        """Return the export for the bytes that `pack` returned in a peer; ``IshmemError`` for any other bytes."""
        if len(data) < _PACKED.size:
            raise IshmemError(f"a packed export has at least {_PACKED.size} bytes, got {len(data)}")
        offset, size, fd_offset, namespace, count = _PACKED.unpack_from(data)
        wanted = _PACKED.size + count * pyze.IPC_HANDLE_SIZE
        if not 1 <= count <= _MAX_PARTS or len(data) != wanted:
            raise IshmemError(f"a packed export of {count} handles has {wanted} bytes, got {len(data)}")
        if offset >= max(size, 1) or fd_offset < offset:
            raise IshmemError(f"{offset} and {fd_offset} are no offsets of an export of {size} bytes")
        starts = range(_PACKED.size, wanted, pyze.IPC_HANDLE_SIZE)
        parts = tuple(data[start : start + pyze.IPC_HANDLE_SIZE] for start in starts)
        return cls(offset, size, fd_offset, parts, namespace)


class Mapping:
    """Device memory of a peer, opened in this process.

    Attributes:
        pointer: Address in this process of the device address that the peer exported.
    """

    def __init__(self, context: int, base: int, offset: int) -> None:
        """Take ownership of the opened memory at ``base``; ``offset`` is that of the exported address, in bytes."""
        self._context = context
        self._base: int | None = base
        self.pointer = base + offset

    def close(self) -> None:
        """Close the memory, whose address is then invalid; a second call does nothing."""
        base, self._base = self._base, None
        if base is not None:
            pyze.zeMemCloseIpcHandle(self._context, base)


def export(context: int, pointer: int) -> Export:
    """Return the export of the allocation that contains device address ``pointer`` of a Level Zero context.

    The allocation must not be freed before every peer has opened it.

    Raises:
        LevelZeroError: The address is not in device memory of this context.
    """
    base, size = pyze.address_range(context, pointer)
    handles = pyze.get_ipc_handles(context, base)
    pool_offset = _POOL_OFFSET.unpack_from(handles[0])[0]
    return Export(pointer - base, size, pool_offset + pointer - base, tuple(handles), processes.namespace())


def open_export(context: int, device: int, export: Export, fds: Sequence[int]) -> Mapping:
    """Open memory that a peer has exported for a device; ``fds``, one for each part, are closed even after an error.

    Raises:
        LevelZeroError: The driver cannot open it.
        IshmemError: The number of descriptors is not the number of parts of the allocation.
    """
    try:
        if len(fds) != len(export.handles):
            raise IshmemError(f"an export of {len(export.handles)} parts came with {len(fds)} file descriptors")
        patched = [_FD.pack(fd) + handle[_FD.size :] for fd, handle in zip(fds, export.handles)]
        base = _open(context, device, patched, export)
    finally:
        wire.close_fds(fds)
    return Mapping(context, base, export.offset)


def _open(context: int, device: int, patched: Sequence[bytes], export: Export) -> int:
    try:
        return pyze.open_ipc_handles(context, device, patched)
    except LevelZeroError as error:
        if error.code != pyze.INVALID_ARGUMENT:
            raise
        if 0 not in (export.namespace, processes.namespace()) and export.namespace != processes.namespace():
            raise pyze.failure(error.call, error.code, _OTHER_NAMESPACE) from None
    # Some drivers refuse a patched handle: they fetch the descriptor from the exporting process themselves.
    return pyze.open_ipc_handles(context, device, export.handles)


def make_resident(context: int, device: int, pointer: int, size: int) -> None:
    """Make ``size`` bytes at ``pointer`` resident, so that kernels of a device can access them by raw addresses.

    Raises:
        LevelZeroError: The driver returns an error.
    """
    pyze.zeContextMakeMemoryResident(context, device, pointer, size)


class HostMap:
    """A mapping of exported device memory for loads and stores by the host.

    Attributes:
        address: Host address of the first requested byte.
    """

    def __init__(self, base: int, size: int, skip: int) -> None:
        """Take ownership of ``size`` mapped bytes at ``base``; the first requested byte has the offset ``skip``."""
        self._base: int | None = base
        self._size = size
        self._windows: list[weakref.ref[Any]] = []
        self.address = base + skip

    def window(self, offset: int, nbytes: int) -> ctypes.Array[ctypes.c_char]:
        """Return ``nbytes`` bytes at ``offset`` as a buffer; while a reference to it exists, `close` does not unmap."""
        made = (ctypes.c_char * nbytes).from_address(self.address + offset)
        self._windows = [*(window for window in self._windows if window() is not None), weakref.ref(made)]
        return made

    def close(self) -> None:
        """Unmap the memory, or leave it mapped if a buffer of `window` is referenced; a second call does nothing."""
        base, self._base = self._base, None
        if base is not None and not any(window() is not None for window in self._windows):
            _libc.munmap(base, self._size)


_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *(ctypes.c_int,) * 3, ctypes.c_long)
_libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
_FAILED = ctypes.c_void_p(-1).value
_FIXED = 0x10


def map_host(fds: Sequence[int], size: int, offset: int = 0) -> HostMap:
    """Return a host mapping of ``size`` bytes at ``offset`` of exported descriptors, readable and writable.

    Several descriptors are mapped contiguously, as the driver maps the parts of an allocation. They stay open and
    may be closed afterwards.

    Raises:
        IshmemError: A descriptor cannot be mapped, ``size`` is not positive, or the descriptors are too small.
    """
    try:
        if size <= 0 or offset < 0:
            raise ValueError("size must be positive and offset not negative")
        pieces = _pieces(fds, size, offset)
        total = sum(length for _fd, _start, length in pieces)
        return HostMap(_map_pieces(pieces, total), total, offset - _whole_pages(offset))
    except (OSError, ValueError, OverflowError, ctypes.ArgumentError) as error:
        message = f"cannot map {size} bytes at offset {offset} of file descriptors {list(fds)}: {error}"
        if isinstance(error, OSError):
            message += limits.advice(error)
        raise IshmemError(message) from error


def _whole_pages(offset: int) -> int:
    return offset - offset % mmap.ALLOCATIONGRANULARITY


def _pieces(fds: Sequence[int], size: int, offset: int) -> list[tuple[int, int, int]]:
    """Return descriptor, start offset and length in bytes of each range to map."""
    if len(fds) == 1 and not _held(fds[0]) and not stat.S_ISREG(os.fstat(fds[0]).st_mode):
        # A device file may not report its size; mmap then checks the range.
        return [(fds[0], _whole_pages(offset), size + offset - _whole_pages(offset))]
    pieces, at = [], 0  # `at` is the descriptor's offset in the concatenation
    for fd in fds:
        held = _held(fd)
        start, end = max(_whole_pages(offset), at), min(offset + size, at + held)
        if start < end:
            pieces.append((fd, start - at, end - start))
        at += held
    if offset + size > at:
        raise ValueError(f"they hold {at} bytes")
    return pieces


def _held(fd: int) -> int:
    """Return the size of a descriptor's contents in bytes; a dma-buf has it by lseek, not by fstat."""
    with contextlib.suppress(OSError):
        return os.lseek(fd, 0, os.SEEK_END)
    return os.fstat(fd).st_size


def _map_pieces(pieces: Sequence[tuple[int, int, int]], total: int) -> int:
    base = _mmap(None, total, 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)  # reserves the range
    at = base
    try:
        for fd, start, length in pieces:
            _mmap(at, length, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED | _FIXED, fd, start)
            at += length
    except OSError:
        _libc.munmap(base, total)
        raise
    return base


def _mmap(at: int | None, length: int, protection: int, flags: int, fd: int, offset: int) -> int:
    address: int = _libc.mmap(at, length, protection, flags, fd, offset)
    if address == _FAILED:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return address
