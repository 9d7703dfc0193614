"""Raise an error if the device's compiler rejects a kernel.

numba-dpex does not check the result of a kernel build and dereferences its null pointer. Before numba-dpex compiles a
launch, this module builds the kernel through the same build cache and checks the result; the launch then finds the
kernel in the cache.
"""

from __future__ import annotations

import ctypes
import re
from typing import Any

import dpctl
from numba.core.errors import NumbaError
from numba_dpex.core import config
from numba_dpex.core.runtime._dpexrt_python import c_helpers
from numba_dpex.core.types import USMNdArray
from numba_dpex.core.types.kernel_api.local_accessor import LocalAccessorType
from numba_dpex.core.utils.call_kernel_builder import (
    L0_OPT_DISABLE_FLAG,
    OPEN_CL_OPT_DISABLE_FLAG,
    KernelLaunchIRBuilder,
    SPIRVKernelModule,
)

from ishmem.common.errors import IshmemError, LevelZeroError
from ishmem.ipc import native, pyze

_pointer, _size, _text = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p
_build = ctypes.CFUNCTYPE(_pointer, _pointer, _pointer, _size, _text, _size, _text, _text)(
    c_helpers["DPEXRT_build_or_get_kernel"]
)
_sycl = ctypes.CDLL("libDPCTLSyclInterface.so.0")


class KernelBuildError(NumbaError, IshmemError):  # type: ignore[misc]
    """The device's compiler rejects a kernel; the message ends with the build log."""

    def add_context(self, _message: str) -> KernelBuildError:
        """Return the error unchanged: the context that numba would add does not explain it."""
        return self


def _sycl_function(name: str) -> Any:
    function = getattr(_sycl, name)
    function.restype, function.argtypes = _pointer, [_pointer]
    return function


_context_of, _device_of = _sycl_function("DPCTLQueue_GetContext"), _sycl_function("DPCTLQueue_GetDevice")
_delete_kernel = _sycl_function("DPCTLKernel_Delete")


def install() -> None:
    """Make numba-dpex check that a kernel builds before it compiles the launch."""
    KernelLaunchIRBuilder.set_kernel_from_spirv = _set_kernel


_launch_code = KernelLaunchIRBuilder.set_kernel_from_spirv


def _set_kernel(self: KernelLaunchIRBuilder, kernel_module: SPIRVKernelModule, debug: bool = False) -> None:
    for kind in self.cached_arguments.arg_ty_list:
        if isinstance(kind, USMNdArray) and not isinstance(kind, LocalAccessorType):
            if "level_zero" in kind.queue.sycl_device:
                _check(kind.queue.sycl_device, kernel_module, debug)
            break
    _launch_code(self, kernel_module, debug)


def _check(device: str, kernel_module: SPIRVKernelModule, debug: bool) -> None:
    """Build a kernel for a device into the build cache of numba-dpex.

    Raises:
        KernelBuildError: The device's compiler rejects the kernel.
    """
    queue = dpctl._sycl_queue_manager.get_device_cached_queue(device)
    flags = config.BUILD_KERNEL_OPTIONS or (f"{OPEN_CL_OPT_DISABLE_FLAG} {L0_OPT_DISABLE_FLAG}" if debug else "")
    code, ref = kernel_module.kernel_bitcode, queue.addressof_ref()
    kernel = _build(
        _context_of(ref), _device_of(ref), hash(code) & (1 << 64) - 1, code, len(code),
        flags.encode() or None, kernel_module.kernel_name.encode(),
    )  # fmt: skip
    if not kernel:
        reason = _reason(queue, code, flags)
        raise KernelBuildError(f"the kernel {_plain(kernel_module.kernel_name)} does not build: {reason}")
    _delete_kernel(kernel)


def _plain(mangled: str) -> str:
    """Return the kernel's name in the source; numba-dpex appends ``$`` (mangled as ``_24``) and a number."""
    rest = mangled.removeprefix("_ZN")
    while size := re.match(r"\d+", rest):
        end = size.end() + int(size[0])
        part, rest = rest[size.end() : end], rest[end:]
        if "_24" in part:
            return part.rpartition("_24")[0]
    return mangled


def _reason(queue: dpctl.SyclQueue, code: bytes, flags: str) -> str:
    try:
        pyze.create_module(native.context(queue.sycl_context), native.device(queue.sycl_device), code, flags)
    except LevelZeroError as error:
        return str(error)
    return "SYCL gives no reason"
