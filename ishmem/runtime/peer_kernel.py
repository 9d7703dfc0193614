"""The kernel with which a PE proves that its device's atomics work in the memory of other devices.

It is written in SPIR-V, because `init` does not load the compiler of kernels.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence

from ishmem.dpex.spirv import kernel_module
from ishmem.ipc import pyze

NAME = "increment"
ITEMS = 16
"""Work-items of a work-group, each of which adds 1 to the same number."""

(
    _VOID, _INT32, _INT64, _VECTOR, _INPUT, _TABLE, _WORDS, _SIGNATURE, _NONE, _ONE, _NEXT, _ID, _KERNEL, _ARGUMENT,
    _LABEL, _IDS, _ITEM, _FIRST, _SECOND, _FIRST_AT, _SECOND_AT, _FROM, _TO, _TARGET, _RESULT, _OLD,
) = range(1, 27)  # fmt: skip
_BOUND = 27
_TEXT = struct.unpack("<3I", NAME.encode().ljust(12, b"\0"))
_INSTRUCTIONS: tuple[tuple[int, ...], ...] = (
    (17, 4), (17, 6), (17, 11),  # OpCapability Addresses, Kernel, Int64
    (14, 2, 2),  # OpMemoryModel Physical64 OpenCL
    (15, 6, _KERNEL, *_TEXT, _ID),  # OpEntryPoint Kernel
    (71, _ID, 11, 28), (71, _ID, 22),  # OpDecorate BuiltIn GlobalInvocationId, Constant
    (19, _VOID), (21, _INT32, 32, 0), (21, _INT64, 64, 0), (23, _VECTOR, _INT64, 3),
    (32, _INPUT, 1, _VECTOR), (32, _TABLE, 5, _INT64), (32, _WORDS, 5, _INT32),  # OpTypePointer Input, CrossWorkgroup
    (33, _SIGNATURE, _VOID, _TABLE),
    (43, _INT32, _NONE, 0), (43, _INT32, _ONE, 1), (43, _INT64, _NEXT, 1, 0),
    (59, _INPUT, _ID, 1),
    (54, _VOID, _KERNEL, 0, _SIGNATURE), (55, _TABLE, _ARGUMENT), (248, _LABEL),
    (61, _VECTOR, _IDS, _ID), (81, _INT64, _ITEM, _IDS, 0),
    (128, _INT64, _FIRST, _ITEM, _ITEM), (128, _INT64, _SECOND, _FIRST, _NEXT),
    (70, _TABLE, _FIRST_AT, _ARGUMENT, _FIRST), (70, _TABLE, _SECOND_AT, _ARGUMENT, _SECOND),
    (61, _INT64, _FROM, _FIRST_AT, 2, 8), (61, _INT64, _TO, _SECOND_AT, 2, 8),  # OpLoad Aligned
    (120, _WORDS, _TARGET, _FROM), (120, _WORDS, _RESULT, _TO),  # OpConvertUToPtr
    (234, _INT32, _OLD, _TARGET, _NONE, _NONE, _ONE),  # OpAtomicIAdd, scope CrossDevice, relaxed
    (62, _RESULT, _OLD, 2, 4),  # OpStore Aligned
    (253,), (56,),
)  # fmt: skip


class Increments:
    """The kernel, in a command list; destroy it once its commands have ended."""

    def __init__(self, context: int, device: int, commands: int, places: Sequence[tuple[int, int]]) -> None:
        """Append a launch of the kernel to a command list.

        Each place is a pair of addresses of memory that is resident on the device. The kernel adds 1 atomically to the
        int32 at the first address, `ITEMS` times, and stores the old values from the second address on.
        """
        self._context = context
        self._module = pyze.create_module(context, device, kernel_module(_INSTRUCTIONS, _BOUND))
        self._kernel = pyze.create_kernel(self._module, NAME)
        entries = [each for target, old in places for item in range(ITEMS) for each in (target, old + 4 * item)]
        self._table = pyze.alloc_host(context, 8 * len(entries))
        ctypes.memmove(self._table, struct.pack(f"<{len(entries)}Q", *entries), 8 * len(entries))
        pyze.zeKernelSetGroupSize(self._kernel, ITEMS, 1, 1)
        pyze.set_argument(self._kernel, 0, self._table)
        pyze.append_launch(commands, self._kernel, (len(places), 1, 1))

    def destroy(self) -> None:
        """Free the kernel, its module and its arguments."""
        pyze.zeMemFree(self._context, self._table)
        pyze.zeKernelDestroy(self._kernel)
        pyze.zeModuleDestroy(self._module)
