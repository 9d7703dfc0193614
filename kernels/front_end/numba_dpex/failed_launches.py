"""Make a launch that fails an error.

Where the driver refuses a launch, SYCL gives numba-dpex no event, and its code for asynchronous launches dereferences
the null pointer. This module puts an empty event, which is complete, in its place. The next call of ishmem raises the
error of the device. Where a kernel that has begun fails, ``call_kernel`` raises, and so does ``wait`` of an event.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils
from numba_dpex.core.utils.call_kernel_builder import KernelLaunchIRBuilder
from numba_dpex.dpctl_iface import libsyclinterface_bindings as sycl

from ishmem.common.errors import LevelZeroError
from ishmem.dpex.launch import events

_COMPLETE = 3  # of dpctl's enumeration of an event's states
_LOST = "zeDeviceGetStatus", 0x70000001, "ZE_RESULT_ERROR_DEVICE_LOST"

_submit, _wait = KernelLaunchIRBuilder.submit, sycl.dpctl_event_wait


def install() -> None:
    """Make the launch code of numba-dpex check the event of a launch."""
    KernelLaunchIRBuilder.submit = _submit_checked
    sycl.dpctl_event_wait = _wait_checked
    events.install()


def _submit_checked(self: KernelLaunchIRBuilder) -> ir.Instruction:
    builder = self.builder
    builder.launching = self.context
    event = cgutils.alloca_once_value(builder, _submit(self))
    with builder.if_then(cgutils.is_null(builder, builder.load(event)), likely=False):
        builder.store(sycl.dpctl_event_create(builder), event)
    self.cached_arguments.device_event_ref = builder.load(event)
    return self.cached_arguments.device_event_ref


def _wait_checked(builder: ir.IRBuilder, event: Any) -> None:
    """Wait for an event; raise if it is that of a launch and has not completed."""
    _wait(builder, event)
    if context := getattr(builder, "launching", None):
        kind = ir.FunctionType(ir.IntType(32), [cgutils.voidptr_t])
        ask = cgutils.get_or_insert_function(builder.module, kind, "DPCTLEvent_GetCommandExecutionStatus")
        state = builder.call(ask, [event])
        with builder.if_then(builder.icmp_unsigned("!=", state, ir.IntType(32)(_COMPLETE)), likely=False):
            context.call_conv.return_user_exc(builder, LevelZeroError, _LOST)
