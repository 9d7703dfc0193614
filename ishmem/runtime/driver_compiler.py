"""Loads the driver's compiler in a thread while the SPIR-V of a kernel is still generated.

A driver loads it for the first module that a process builds, so this builds an empty one, in a thread.
"""

from __future__ import annotations

import contextlib
import os
import struct
import threading

from ishmem.common.errors import LevelZeroError
from ishmem.dpex.spirv import kernel_module
from ishmem.ipc import pyze

_NAME = struct.unpack("<2I", b"nothing\0")
_INSTRUCTIONS: tuple[tuple[int, ...], ...] = (
    (17, 4), (17, 6),  # OpCapability Addresses, Kernel
    (14, 2, 2),  # OpMemoryModel Physical64 OpenCL
    (15, 6, 3, *_NAME),  # OpEntryPoint Kernel
    (19, 1), (33, 2, 1),  # OpTypeVoid, OpTypeFunction
    (54, 1, 3, 0, 2), (248, 4), (253,), (56,),  # OpFunction, OpLabel, OpReturn, OpFunctionEnd
)  # fmt: skip
_BOUND = 5

_has_begun = False


def load() -> None:
    """Start loading the compiler for the device of the running job, if there is one; once in a process."""
    global _has_begun
    from . import job

    if _has_begun or not job.running():
        return
    _has_begun = True
    heap = job.current().heap
    # Not a daemon: the interpreter waits for it, so no library is unloaded under it.
    thread = threading.Thread(target=_build, args=(heap.context, heap.device), name="ishmem: driver's compiler")
    thread.start()
    os.register_at_fork(before=thread.join)  # a fork has no such thread, and would keep its locks


def _build(context: int, device: int) -> None:
    with contextlib.suppress(LevelZeroError):  # a kernel that fails in the same way reports why
        pyze.zeModuleDestroy(pyze.create_module(context, device, empty_module()))


def empty_module() -> bytes:
    """Return the SPIR-V of a kernel that does nothing."""
    return kernel_module(_INSTRUCTIONS, _BOUND)
