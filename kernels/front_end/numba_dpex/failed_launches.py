"""Keep a launch that the driver refuses from crashing the process.

SYCL then gives numba-dpex no event, and its code for asynchronous launches dereferences the null pointer. This module
puts an empty event, which is complete, in its place. The next call of ishmem raises the error of the device.
"""

from __future__ import annotations

from llvmlite import ir
from numba.core import cgutils
from numba_dpex.core.utils.call_kernel_builder import KernelLaunchIRBuilder
from numba_dpex.dpctl_iface import libsyclinterface_bindings as sycl

_submit = KernelLaunchIRBuilder.submit


def install() -> None:
    """Make the launch code of numba-dpex check the event of a launch."""
    KernelLaunchIRBuilder.submit = _submit_checked


def _submit_checked(self: KernelLaunchIRBuilder) -> ir.Instruction:
    builder = self.builder
    event = cgutils.alloca_once_value(builder, _submit(self))
    with builder.if_then(cgutils.is_null(builder, builder.load(event)), likely=False):
        builder.store(sycl.dpctl_event_create(builder), event)
    self.cached_arguments.device_event_ref = builder.load(event)
    return self.cached_arguments.device_event_ref
