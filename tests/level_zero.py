"""Calls of Level Zero that tests need beside those of ``ishmem.ipc.pyze``."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from ishmem.ipc import pyze


def sub_devices(device: int) -> list[int]:
    """Return the handles of a device's tiles; none for a tile or a device of one tile."""
    return pyze._handles("zeDeviceGetSubDevices", device)


def compute_properties(device: int) -> ctypes.Structure:
    """Return a device's limits on work-groups."""
    return pyze._properties("zeDeviceGetComputeProperties", "ze_device_compute_properties_t", device)


def create_context(driver: int) -> int:
    """Return a new context; destroy it with ``zeContextDestroy``."""
    return pyze._handle("zeContextCreate", driver, pyze._desc("context"))


def alloc_device(context: int, device: int, size: int, alignment: int = 64) -> int:
    """Return the address of new device memory; free it with ``zeMemFree``."""
    return pyze._handle("zeMemAllocDevice", context, pyze._desc("device_mem_alloc"), size, alignment, device)


def alloc_shared(context: int, device: int, size: int, alignment: int = 64) -> int:
    """Return the address of new shared memory; free it with ``zeMemFree``."""
    desc = (pyze._desc("device_mem_alloc"), pyze._desc("host_mem_alloc"))
    return pyze._handle("zeMemAllocShared", context, *desc, size, alignment, device)


def append_fill(
    clist: int, dest: int, pattern: bytes, size: int, signal: int | None = None, waits: Sequence[int] = ()
) -> None:
    """Append a fill of ``size`` bytes with a pattern, whose length is a power of two."""
    value = ctypes.create_string_buffer(pattern, len(pattern))
    call = pyze._bind("zeCommandListAppendMemoryFill")
    call(clist, dest, ctypes.addressof(value), len(pattern), size, signal, len(waits), pyze._array(waits))


def create_fence(queue: int) -> int:
    """Return a new fence of a queue; destroy it with ``zeFenceDestroy``."""
    return pyze._handle("zeFenceCreate", queue, pyze._desc("fence"))


def kernel_names(module: int) -> list[str]:
    """Return the names of a module's kernels."""
    count = ctypes.c_uint32()
    pyze._bind("zeModuleGetKernelNames")(module, ctypes.byref(count), None)
    names = (ctypes.c_char_p * count.value)()
    pyze._bind("zeModuleGetKernelNames")(module, ctypes.byref(count), names)
    return [name.decode() for name in names[: count.value] if name]


def kernel_properties(kernel: int) -> ctypes.Structure:
    """Return number of arguments and sizes of a kernel."""
    return pyze._properties("zeKernelGetProperties", "ze_kernel_properties_t", kernel)
