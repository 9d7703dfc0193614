"""The work-groups of a launch: their barrier, the device form of ``ishmem.work_groups``, and tickets.

The counter of the barrier has its number in the upper half, and that of the work-groups that have arrived in the lower
half. The last one to arrive sets the lower half to 0 and increments the upper half, for which the others wait.

By tickets, work-groups take units of work in ascending order. So the units that have been begun are the first ones on
each PE. Of the units that are not complete everywhere, the first one has been begun, or a work-group that waits for
nobody begins it: work-groups that do not all run at once need no order of the device's scheduler.
"""

from __future__ import annotations

from typing import Any

from ishmem import work_groups
from ishmem.common.constants import Cmp
from ishmem.common.violations import GROUPS, OUTSIDE, number

from . import type_checks
from .atomic_instructions import atomic_add_word, atomic_store_word, memory_fence
from .forms import form
from .front_end import GroupType
from .intrinsics import address_of, compiled, device_function, group_barrier, group_sum, load_word, rank_in, require
from .long_waits import clear_wait_record, make_word_poll, record_variable_wait
from .memory_orders import FLAG, FLAG_SEEN, GROUP
from .runtime_checks import report
from .spec_constants import xe_cores

# ---- the barrier


SYNC = number("sync_work_groups")
LOW_HALF = 0xFFFFFFFF

group_fence, publish_fence, seen_fence = map(memory_fence, (GROUP, FLAG, FLAG_SEEN))


@device_function
def groups_of(group):
    """Return the number of work-groups of the launch."""
    require(isinstance(group, GroupType), f"sync_work_groups: group is a work-group, got {group}")
    if group.ndim == 1:
        return lambda group: group.get_group_range(0)
    if group.ndim == 2:
        return lambda group: group.get_group_range(0) * group.get_group_range(1)
    return lambda group: group.get_group_range(0) * group.get_group_range(1) * group.get_group_range(2)


@compiled
def groups_fit(counter, size, groups):
    """Return whether a device runs that many work-groups at the same time, and the counter has an element."""
    if groups > xe_cores():
        report(SYNC, GROUPS, -1, 0, groups, 0, xe_cores())
        return False
    if size < 1:
        report(SYNC, OUTSIDE, -1, counter, 0, 1, size)
        return False
    return True


@compiled
def is_same_round(seen, before):
    """Return whether a counter is of the same round as before."""
    return seen >> 32 == before >> 32


poll_counter = make_word_poll(is_same_round)


@compiled
def await_groups(counter, groups, call_site):
    """Wait, as one work-item of its work-group, for the other work-groups."""
    at, recorded = address_of(counter), False
    before = atomic_add_word(at, 1)
    if (before & LOW_HALF) == groups - 1:
        atomic_add_word(at, (1 << 32) - groups)
        return
    seen = poll_counter(at, before)
    while is_same_round(seen, before):
        recorded = record_variable_wait(counter, 0, seen, Cmp.GE, ((before >> 32) + 1) << 32, call_site, recorded)
        seen = poll_counter(at, before)
    if recorded:
        clear_wait_record()


def _check(routine: str, counter: Any) -> None:
    type_checks.array(routine, "counter", counter, ("int64",))
    type_checks.contiguous(routine, counter=counter)


# Model: tests/models/work_groups.pml.
def _sync_work_groups(counter, group, call_site=None):
    groups = groups_of(group)
    group_fence()
    group_barrier(group)
    if rank_in(group) == 0 and groups_fit(address_of(counter), counter.size, groups):
        publish_fence()
        await_groups(counter, groups, call_site)
        seen_fence()
    group_barrier(group)


form(work_groups.sync_work_groups, _check, _sync_work_groups)


# ---- tickets


@compiled
def next_ticket(counter, group):
    """Take the next number of the counter at an address; all work-items of a work-group get the same."""
    return group_sum(group, atomic_add_word(counter, 1) if rank_in(group) == 0 else 0)


@compiled
def end_launch(ticket, ended, number, step, group):
    """Let the last work-group that ends reset the tickets and add ``step`` to the number of the call, by addresses.

    The number is in device memory, so each replay of a launch that is recorded in a graph has another one.
    """
    groups = groups_of(group)
    publish_fence()
    group_barrier(group)
    if rank_in(group) == 0 and atomic_add_word(ended, 1) == groups - 1:
        seen_fence()
        atomic_store_word(ticket, 0)
        atomic_store_word(ended, 0)
        atomic_store_word(number, load_word(number) + step)
