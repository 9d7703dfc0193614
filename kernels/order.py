"""Memory ordering inside kernels: the device forms of ``ishmem.order``.

A kernel's stores and atomics go directly to the memory of reachable peers, so a memory fence of cross-device scope
orders and completes them. If the job uses the proxy, ``fence`` and ``quiet`` also wait for all requests to it. In a job
on several nodes ``quiet`` also waits for remote completion of the puts of this PE's host to other nodes.
"""

from __future__ import annotations

from typing import Any

from numba.core import types

from ishmem import order
from ishmem.common.violations import number

from .forms import form, forms, no_check
from .intrinsics import group_barrier, require
from .proxy import complete, complete_locally, order_stores
from .rendezvous import group_sync
from .runtime_checks import are_pes

PE_QUIET = number("pe_quiet")


# Model: tests/models/signal.pml, and work_group.pml for groups.
def _fence(group):
    group_sync(group)
    order_stores()
    group_barrier(group)


# Model: tests/models/quiet.pml, and work_group.pml for groups.
def _quiet(group):
    group_sync(group)
    complete()
    group_barrier(group)


def _flush(group):
    group_sync(group)
    complete_locally()
    group_barrier(group)


def _check_pes(routine: str, target_pes: Any) -> None:
    is_list = isinstance(target_pes, types.Array) and target_pes.ndim == 1
    numbers = is_list or isinstance(target_pes, types.UniTuple)
    kind = target_pes.dtype if numbers else target_pes
    words = f"{routine}: target_pes is a PE number, or a tuple or an array of one dimension of them"
    require(isinstance(kind, types.Integer), f"{words}, got {target_pes}")


def _pe_quiet(target_pes):
    if are_pes(PE_QUIET, target_pes):
        complete()


forms(order, "fence", no_check, _fence)
forms(order, "quiet", no_check, _quiet)
forms(order, "flush", no_check, _flush)
form(order.pe_quiet, _check_pes, _pe_quiet)
