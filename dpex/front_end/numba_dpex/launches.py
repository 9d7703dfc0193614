"""Adds checks to numba-dpex's launches: that a kernel builds, that it is submitted, and that it completes.

numba-dpex does not check the result of a kernel build and dereferences its null pointer. Before it compiles a launch,
the kernel is built here through the same build cache, from which the launch then loads it.

If the driver rejects a launch, SYCL returns no event, and numba-dpex's code for asynchronous launches dereferences the
null pointer. An empty event, which is complete, is used instead. The next call of the extension raises the error of the
device. If a kernel fails while it runs, ``call_kernel`` raises an error, and so does ``wait`` of an event.

SYCL 2024.2 drops events of other queues from kernels and barriers on an in-order queue, but not from host tasks, and
such a queue runs a kernel after the host tasks before it. So a launch with events submits an empty host task that
depends on them first.
"""

from __future__ import annotations

import ctypes
import re
from typing import Any

import dpctl
from llvmlite import ir
from numba.core import cgutils
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
from numba_dpex.dpctl_iface import libsyclinterface_bindings as sycl

from ...errors import KernelBuildError
from ...extension import installed
from ...launch import events
from . import compile_errors

_pointer, _size, _text = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p
_build = ctypes.CFUNCTYPE(_pointer, _pointer, _pointer, _size, _text, _size, _text, _text)(
    c_helpers["DPEXRT_build_or_get_kernel"]
)
_sycl = ctypes.CDLL("libDPCTLSyclInterface.so.0")
_COMPLETE = 3  # of dpctl's enumeration of an event's states


def _sycl_function(name: str) -> Any:
    function = getattr(_sycl, name)
    function.restype, function.argtypes = _pointer, [_pointer]
    return function


_context_of, _device_of = _sycl_function("DPCTLQueue_GetContext"), _sycl_function("DPCTLQueue_GetDevice")
_delete_kernel = _sycl_function("DPCTLKernel_Delete")

_launch_code, _submit = KernelLaunchIRBuilder.set_kernel_from_spirv, KernelLaunchIRBuilder.submit
_set_events, _wait = KernelLaunchIRBuilder.set_dependent_events_from_tuple, sycl.dpctl_event_wait


def install() -> None:
    """Replace the functions that generate numba-dpex's launch code."""
    KernelLaunchIRBuilder.set_kernel_from_spirv = _set_kernel
    KernelLaunchIRBuilder.submit = _submit_checked
    KernelLaunchIRBuilder.set_dependent_events_from_tuple = _set_events_and_wait
    sycl.dpctl_event_wait = _wait_checked
    events.install()


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
        name = _plain(kernel_module.kernel_name)
        error = installed().build_error(name, queue, code, flags)
        raise compile_errors.noted(error or KernelBuildError(f"the kernel {name} does not build: SYCL gives no reason"))
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


def _submit_checked(self: KernelLaunchIRBuilder) -> ir.Instruction:
    builder = self.builder
    builder.launching = self.context
    event = cgutils.alloca_once_value(builder, _submit(self))
    with builder.if_then(cgutils.is_null(builder, builder.load(event)), likely=False):
        builder.store(sycl.dpctl_event_create(builder), event)
    self.cached_arguments.device_event_ref = builder.load(event)
    return self.cached_arguments.device_event_ref


def _wait_checked(builder: ir.IRBuilder, event: Any) -> None:
    """Emit the wait for an event, and an exception if it is the event of a launch and has not completed."""
    _wait(builder, event)
    if context := getattr(builder, "launching", None):
        state = _asked(builder, ir.IntType(32), "DPCTLEvent_GetCommandExecutionStatus", event)
        with builder.if_then(builder.icmp_unsigned("!=", state, ir.IntType(32)(_COMPLETE)), likely=False):
            context.call_conv.return_user_exc(builder, *installed().device_lost)


def _asked(builder: ir.IRBuilder, kind: ir.Type, name: str, of: ir.Value) -> ir.Instruction:
    """Emit a call of dpctl's function ``name`` on an object; return its result of type ``kind``."""
    function = ir.FunctionType(kind, [cgutils.voidptr_t])
    return builder.call(cgutils.get_or_insert_function(builder.module, function, name), [of])


def _set_events_and_wait(self: KernelLaunchIRBuilder, event_types: Any, events: ir.Instruction) -> None:
    _set_events(self, event_types, events)
    if len(event_types):
        is_in_order = _asked(self.builder, ir.IntType(8), "DPCTLQueue_IsInOrder", self.arguments.sycl_queue_ref)
        with self.builder.if_then(self.builder.trunc(is_in_order, ir.IntType(1)), likely=False):
            sycl.dpctl_event_delete(self.builder, _submit_host_task(self))


def _submit_host_task(self: KernelLaunchIRBuilder) -> ir.Instruction:
    """Emit the submission of an empty host task, which depends on the launch's events; return its event."""
    given, size = self.arguments, ir.IntType(64)
    no_arguments = cgutils.get_null_value(cgutils.voidptr_t.as_pointer())
    status = cgutils.alloca_once(self.builder, size)
    api = self.context.nrt.get_nrt_api(self.builder)
    return self.dpexrt.acquire_meminfo_and_schedule_release(
        self.builder,
        [api, given.sycl_queue_ref, no_arguments, size(0), given.dep_events, given.dep_events_len, status],
    )
