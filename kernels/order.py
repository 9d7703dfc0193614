"""Memory ordering inside kernels: the device forms of ``ishmem.order``.

A kernel's stores and atomics go straight to the peer's memory, so nothing is ever outstanding that a
memory fence for all devices does not order and complete.
"""

from __future__ import annotations

from numba_dpex import kernel_api as kapi

from ishmem import order

from .intrinsics import device, fence


def _fence():
    return lambda: fence()


def _fence_work_group(group):
    def impl(group):
        kapi.group_barrier(group)
        fence()
        kapi.group_barrier(group)

    return impl


device(order.fence)(_fence)
device(order.quiet)(_fence)
device(order.fence_work_group)(_fence_work_group)
device(order.quiet_work_group)(_fence_work_group)
