"""Tickets by which the work-groups of a launch take units of work in ascending order.

So the units that have been begun are the first ones on each PE. Of the units that are not complete everywhere, the
first one has been begun, or a work-group that waits for nobody begins it: work-groups that do not all run at once need
no order of the device's scheduler.
"""

from __future__ import annotations

from .intrinsics import (
    atomic_add_word,
    atomic_store_word,
    compiled,
    group_barrier,
    group_sum,
    load_word,
    memory_fence,
    rank_in,
)
from .memory_orders import FLAG, FLAG_SEEN
from .work_groups import groups_of

_publish, _see = memory_fence(FLAG), memory_fence(FLAG_SEEN)


@compiled
def next_ticket(counter, group):
    """Take the next number of the counter at an address; all work-items of a work-group get the same."""
    return group_sum(group, atomic_add_word(counter, 1) if rank_in(group) == 0 else 0)


@compiled
def end_launch(ticket, ended, number, step, group):
    """Let the last work-group that ends reset the tickets and add ``step`` to the number of the call, by addresses.

    The number lives on the device, so that a launch that is recorded in a graph has another one in each replay.
    """
    groups = groups_of(group)
    _publish()
    group_barrier(group)
    if rank_in(group) == 0 and atomic_add_word(ended, 1) == groups - 1:
        _see()
        atomic_store_word(ticket, 0)
        atomic_store_word(ended, 0)
        atomic_store_word(number, load_word(number) + step)
