"""Symmetric host objects, which correspond to the global and static variables of a C program.

A static object is a numpy array in the host memory of every PE. Host calls accept it like a symmetric array, except
locks, ``free``, ``realloc`` and ``register``. PEs map its memory by a memfd, which the kernel removes after the job.
"""

from __future__ import annotations

import math
import mmap
import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from ishmem import _core
from ishmem.common.errors import HeapExhausted
from ishmem.common.routines import exported
from ishmem.environment import arrays
from ishmem.ipc import wire
from ishmem.runtime import agreement, check, job

__all__ = exported(__name__)

_LONGEST = 64


@dataclass(frozen=True)
class _Request:
    name: str
    shape: tuple[int, ...]
    dtype: str

    def __str__(self) -> str:
        return f"of shape {self.shape}, dtype {self.dtype}, name {self.name!r}"

    @property
    def nbytes(self) -> int:
        return max(math.prod(self.shape) * np.dtype(self.dtype).itemsize, 1)


def static(name: str, shape: Any, dtype: Any = "float64") -> np.ndarray[Any, Any]:
    """Return the static object ``name``, a symmetric numpy array in host memory; the first call makes it, of zeros.

    All PEs pass the same shape and dtype; a second call with the same name returns the same object. It is symmetric
    until ``finalize``; the numpy array stays usable after that. Puts, gets, atomics, signals, waits, collectives and
    ``ptr`` of the host accept it and its contiguous parts. Kernels cannot access it; copy to and from a symmetric array
    with ``put`` and ``get``. Collective, blocking.

    Args:
        name: 1 to 64 bytes of printable text, which identifies the object.
        shape: A number of elements, or a tuple of them. The same on all PEs.
        dtype: Any dtype of dpnp, the same on all PEs.

    Raises:
        StateError: Not between ``init`` and ``finalize``.
        SymmetryError: The PEs pass different names, shapes or dtypes, or the arguments of another PE are invalid.
        ValueError: A name that is in use with another shape or dtype, or a shape or name that is not allowed.
        HeapExhausted: The host has too little memory.
        TypeError: A name that is not a string, or a dtype that operations do not support.
        PeerLost: A PE died, or finalised without this call.

    Example:
        >>> table = ishmem.static("table", 8, "i4")
        >>> ishmem.put(table, np.full(8, me, "i4"), right)
        >>> ishmem.barrier_all()
        >>> bool((table == (me - 1) % n).all())
        True

    Source: OpenSHMEM 1.5, 2 (global and static variables).
    """
    this = job.current()
    request, _notes = agreement.check_and_agree(this, "static", lambda: _request(name, shape, dtype), str)
    statics: Statics = this.statics
    return statics.get(request)


def _request(name: Any, shape: Any, dtype: Any) -> _Request:
    if not isinstance(name, str):
        raise TypeError(f"name is a string, got {type(name).__name__}")
    if not 0 < len(name.encode(errors="replace")) <= _LONGEST or not name.isprintable():
        raise ValueError(f"name is {name!r}; allowed are 1 to {_LONGEST} bytes of printable text")
    sizes, kind = check.creation("static", name, shape, dtype)
    request = _Request(name, sizes, kind.name)
    job.current().statics.check(request)
    return request


def _mapped(this: job.Job, fds: list[int], nbytes: int) -> dict[int, np.ndarray[Any, Any]]:
    """Return the bytes of the object on each PE of this node; ``HeapExhausted`` if they cannot be mapped."""
    try:
        return {pe: np.frombuffer(mmap.mmap(each, nbytes), np.uint8) for pe, each in zip(this.node.pes, fds)}
    except OSError as error:
        raise HeapExhausted(f"static: {nbytes} bytes of each PE of this node cannot be mapped: {error}") from error


def _memory(request: _Request) -> int:
    """Return the file descriptor of a new memfd of ``request.nbytes`` bytes; ``HeapExhausted`` if memory is short."""
    try:
        fd = os.memfd_create(f"ishmem-{request.name}"[:_LONGEST], os.MFD_CLOEXEC)
        try:
            os.ftruncate(fd, request.nbytes)
        except (OSError, OverflowError):
            os.close(fd)
            raise
    except (OSError, OverflowError) as error:
        raise HeapExhausted(f"static: no {request.nbytes} bytes of host memory for {request.name!r}: {error}") from None
    return fd


class Statics:
    """The static objects of a job."""

    def __init__(self) -> None:
        self._objects: dict[str, tuple[_Request, np.ndarray[Any, Any]]] = {}
        self._maps: dict[int, dict[int, np.ndarray[Any, Any]]] = {}  # its memory by PE, by its address on this one

    def check(self, request: _Request) -> None:
        """Raise ``ValueError`` if the name of a request is in use with another shape or dtype."""
        known = self._objects.get(request.name)
        if known and known[0] != request:
            raise ValueError(f"static {request.name!r} is {known[0]}; this call requests one {request}")

    def get(self, request: _Request) -> np.ndarray[Any, Any]:
        """Return the array of a request that is equal on all PEs; collective in the first call for a name."""
        if request.name not in self._objects:
            self._objects[request.name] = request, self._make(request)
        return self._objects[request.name][1]

    def _make(self, request: _Request) -> np.ndarray[Any, Any]:
        this, nbytes = job.current(), request.nbytes
        fd, _notes = agreement.check_and_agree(this, "static", lambda: _memory(request), lambda _: "made")
        try:
            fds = [got[0] for _payload, got in this.links.allgather(b"", [fd], what="static")]
        finally:
            os.close(fd)
        try:
            maps, _notes = agreement.check_and_agree(
                this, "static", lambda: _mapped(this, fds, nbytes), lambda _: "mapped"
            )
        finally:
            wire.close_fds(fds)
        addresses = [maps[pe].ctypes.data if pe in maps else 0 for pe in range(this.n_pes)]
        _core.add_static(addresses[this.pe], nbytes, addresses, [])
        self._maps[addresses[this.pe]] = maps
        if this.network:
            this.barrier("static")  # else a PE of another node may put into an object that is not registered here
        mine: np.ndarray[Any, Any] = np.ndarray(request.shape, request.dtype, buffer=maps[this.pe])
        return mine

    def ptr(self, a: Any, pe: int) -> np.ndarray[Any, Any] | None:
        """Return the array on PE ``pe`` that corresponds to ``a``, a static object or a view of one.

        ``None`` if ``a`` is neither, or the PE is on another node.
        """
        if not isinstance(a, np.ndarray):
            return None
        low, high = arrays.byte_bounds(a)
        for first, maps in self._maps.items():
            if first <= low and high <= first + maps[job.current().pe].nbytes:
                if pe not in maps:
                    return None
                place = a.ctypes.data - first
                return a if pe == job.current().pe else np.ndarray(a.shape, a.dtype, maps[pe], place, a.strides)
        return None
