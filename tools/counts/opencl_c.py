"""Compiles OpenCL C to SPIR-V by the front end of the OpenCL runtime in the SYCL stack.

The driver's compiler translates the SPIR-V to the card's instructions, as for kernels in Python. The interface is that
of Intel's public header ``common_clang.h``.
"""

from __future__ import annotations

import ctypes
from typing import Any

from ishmem.environment import stack

_OPTIONS, _VERSION = b"-cl-std=CL2.0 -triple spir64-unknown-unknown", b"200"
_INTERNAL = b"-emit-spirv -O2 -spirv-ext=-SPV_KHR_untyped_pointers"  # the driver refuses modules with that extension
_SIZE, _CODE, _LOG, _RELEASE = 0, 1, 4, 5  # virtual functions of IOCLFEBinaryResult


def compiled(text: str) -> bytes:
    """Return the SPIR-V of a program in OpenCL C 2.0, whose source is ``text``.

    Raises:
        OSError: The front end is not installed.
        ValueError: The program does not compile; the message is the compiler's.
    """
    pointer, size, string = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p
    front_end = ctypes.CDLL(str(stack.library_folder() / "libcommon_clang.so"))
    front_end.Compile.argtypes = [
        string, pointer, ctypes.c_uint, pointer, pointer, size, string, string, string, pointer
    ]  # fmt: skip
    result = pointer()
    given = text.encode(), None, 0, None, None, 0, _OPTIONS, _INTERNAL, _VERSION, ctypes.byref(result)
    failed = front_end.Compile(*given)
    try:
        if failed:
            raise ValueError(_call(result, _LOG, string).decode())
        return ctypes.string_at(_call(result, _CODE, pointer), _call(result, _SIZE, size))
    finally:
        if result:
            _call(result, _RELEASE, None)


def _call(result: ctypes.c_void_p, number: int, returned: Any) -> Any:
    table = ctypes.cast(result, ctypes.POINTER(ctypes.POINTER(ctypes.c_void_p))).contents
    return ctypes.CFUNCTYPE(returned, ctypes.c_void_p)(table[number])(result)
