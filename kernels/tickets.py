"""Tickets by which the work-groups of a launch take units of work in ascending order.

So the units that have been begun are the first ones on each PE. Of the units that are not complete everywhere, the
first one has been begun, or a work-group that waits for nobody begins it: work-groups that do not all run at once need
no order of the device's scheduler.
"""

from __future__ import annotations

from .intrinsics import atomic_add_word, compiled, group_sum, rank_in


@compiled
def next_ticket(counter, group):
    """Take the next number of the counter at an address; all work-items of a work-group get the same."""
    return group_sum(group, atomic_add_word(counter, 1) if rank_in(group) == 0 else 0)
