"""Make a kernel on an in-order queue wait for the events of other queues that it depends on.

SYCL 2024.2 drops such events from kernels and barriers, but not from host tasks, and an in-order queue runs a kernel
after the host tasks before it. So a launch with events submits an empty host task that depends on them first.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils
from numba_dpex.core.utils.call_kernel_builder import KernelLaunchIRBuilder
from numba_dpex.dpctl_iface import libsyclinterface_bindings as sycl

_set_events = KernelLaunchIRBuilder.set_dependent_events_from_tuple


def install() -> None:
    """Change the launch code of numba-dpex."""
    KernelLaunchIRBuilder.set_dependent_events_from_tuple = _set_events_and_wait


def _set_events_and_wait(self: KernelLaunchIRBuilder, event_types: Any, events: ir.Instruction) -> None:
    _set_events(self, event_types, events)
    if len(event_types):
        with self.builder.if_then(_is_in_order(self.builder, self.arguments.sycl_queue_ref), likely=False):
            sycl.dpctl_event_delete(self.builder, _submit_host_task(self))


def _is_in_order(builder: ir.IRBuilder, queue: ir.Instruction) -> ir.Instruction:
    kind = ir.FunctionType(ir.IntType(8), [cgutils.voidptr_t])
    ask = cgutils.get_or_insert_function(builder.module, kind, "DPCTLQueue_IsInOrder")
    return builder.trunc(builder.call(ask, [queue]), ir.IntType(1))


def _submit_host_task(self: KernelLaunchIRBuilder) -> ir.Instruction:
    """Submit the task that releases the arguments of a launch, with no arguments; return its event."""
    given, size = self.arguments, ir.IntType(64)
    no_arguments = cgutils.get_null_value(cgutils.voidptr_t.as_pointer())
    status = cgutils.alloca_once(self.builder, size)
    api = self.context.nrt.get_nrt_api(self.builder)
    return self.dpexrt.acquire_meminfo_and_schedule_release(
        self.builder,
        [api, given.sycl_queue_ref, no_arguments, size(0), given.dep_events, given.dep_events_len, status],
    )
