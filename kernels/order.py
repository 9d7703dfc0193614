"""Memory ordering inside kernels: the device forms of ``ishmem.order``.

A kernel's stores and atomics go directly to the memory of reachable peers, so a memory fence of cross-device scope
orders and completes them. If the job uses the proxy, ``fence`` and ``quiet`` also wait for all requests to it. In a job
on several nodes ``quiet`` also waits for remote completion of the puts of this PE's host to other nodes.
"""

from __future__ import annotations

from typing import Any

from numba.core import types

from ishmem import order
from ishmem.common.violations import routine_number

from .forms import form, forms, no_check
from .intrinsics import group_barrier, require
from .proxy import complete, complete_locally, order_stores
from .rendezvous import group_sync
from .runtime_checks import are_pes

PE_QUIET = routine_number("pe_quiet")


# Models: tests/models/signal.pml and quiet.pml, and work_group.pml for groups.
def _make_body(operation: Any) -> Any:
    """Make the body that runs ``operation`` in one work-item, or in each work-item of a group."""

    def body(group):
        group_sync(group)
        operation()
        group_barrier(group)

    return body


def _check_pes(routine: str, target_pes: Any) -> None:
    is_list = isinstance(target_pes, types.Array) and target_pes.ndim == 1
    numbers = is_list or isinstance(target_pes, types.UniTuple)
    kind = target_pes.dtype if numbers else target_pes
    words = f"{routine}: target_pes is a PE number, or a tuple or an array of one dimension of them"
    require(isinstance(kind, types.Integer), f"{words}, got {target_pes}")


def _pe_quiet(target_pes):
    if are_pes(PE_QUIET, target_pes):
        complete()


for _name, _operation in (("fence", order_stores), ("quiet", complete), ("flush", complete_locally)):
    forms(order, _name, no_check, _make_body(_operation))
form(order.pe_quiet, _check_pes, _pe_quiet)
