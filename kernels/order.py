"""Memory ordering inside kernels: the device forms of ``ishmem.order``.

A kernel's stores and atomics go directly to the memory of reachable peers, so a memory fence of cross-device scope
orders and completes them. If the job uses the proxy, ``fence`` and ``quiet`` also wait for all requests to it. In a job
on several nodes ``quiet`` also waits for remote completion of the puts of this PE's host to other nodes.
"""

from __future__ import annotations

from numba.core import types

from ishmem import order
from ishmem.common.violations import number

from .intrinsics import device, group_barrier, require
from .proxy import complete, complete_locally, order_stores
from .rendezvous import group_sync
from .runtime_checks import are_pes

PE_QUIET = number("pe_quiet")


# Model: tests/models/signal.pml.
def _fence():
    return lambda: order_stores()


# Model: tests/models/quiet.pml.
def _quiet():
    return lambda: complete()


def _pe_quiet(target_pes):
    is_list = isinstance(target_pes, types.Array) and target_pes.ndim == 1
    numbers = is_list or isinstance(target_pes, types.UniTuple)
    kind = target_pes.dtype if numbers else target_pes
    words = "pe_quiet: target_pes is a PE number, or a tuple or an array of one dimension of them"
    require(isinstance(kind, types.Integer), f"{words}, got {target_pes}")

    def impl(target_pes):
        if are_pes(PE_QUIET, target_pes):
            complete()

    return impl


def _flush():
    return lambda: complete_locally()


# Model: tests/models/work_group.pml.
def _fence_work_group(group):
    def impl(group):
        group_sync(group)
        order_stores()
        group_barrier(group)

    return impl


# Model: tests/models/work_group.pml.
def _quiet_work_group(group):
    def impl(group):
        group_sync(group)
        complete()
        group_barrier(group)

    return impl


def _flush_work_group(group):
    def impl(group):
        group_sync(group)
        complete_locally()
        group_barrier(group)

    return impl


device(order.fence)(_fence)
device(order.quiet)(_quiet)
device(order.pe_quiet)(_pe_quiet)
device(order.flush)(_flush)
device(order.fence_work_group)(_fence_work_group)
device(order.quiet_work_group)(_quiet_work_group)
device(order.flush_work_group)(_flush_work_group)
