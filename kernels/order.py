"""Memory ordering inside kernels: the device forms of ``ishmem.order``.

A kernel's stores and atomics go straight to the memory of peers that it reaches, so nothing is outstanding that a
memory fence for all devices does not order and complete. What the proxy does for others is waited for, if there is any.
"""

from __future__ import annotations

from numba_dpex import kernel_api as kapi

from ishmem import order

from .intrinsics import device
from .proxy import complete


def _fence():
    return lambda: complete()


def _fence_work_group(group):
    def impl(group):
        kapi.group_barrier(group)
        complete()
        kapi.group_barrier(group)

    return impl


device(order.fence)(_fence)
device(order.quiet)(_fence)
device(order.fence_work_group)(_fence_work_group)
device(order.quiet_work_group)(_fence_work_group)
