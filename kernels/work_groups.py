"""The work-groups of a launch: their barrier, the device form of ``ishmem.work_groups``, and tickets.

The counter of the barrier contains its number in the upper half, and the number of work-groups that have arrived in the
lower half. The last to arrive sets the lower half to 0 and increments the upper half; the others wait for this change.

By tickets, work-groups take units of work in ascending order, so on each PE the units that have begun are the first
ones. The first unit that is not complete everywhere is in progress, or a work-group that is not waiting will begin it.
So work-groups need not all run at once, nor in any order of the device's scheduler.
"""

from __future__ import annotations

from typing import Any

from ishmem import work_groups
from ishmem.common.constants import Cmp
from ishmem.common.violations import GROUPS, OUTSIDE, routine_number

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


SYNC = routine_number("sync_work_groups")
LOW_HALF = 0xFFFFFFFF

group_fence, publish_fence, seen_fence = map(memory_fence, (GROUP, FLAG, FLAG_SEEN))


@device_function
def groups_of(group):
    """Return the number of work-groups of the launch to which work-group ``group`` belongs."""
    require(isinstance(group, GroupType), f"sync_work_groups: group is a work-group, got {group}")
    if group.ndim == 1:
        return lambda group: group.get_group_range(0)
    if group.ndim == 2:
        return lambda group: group.get_group_range(0) * group.get_group_range(1)
    return lambda group: group.get_group_range(0) * group.get_group_range(1) * group.get_group_range(2)


@compiled
def groups_fit(counter, size, groups):
    """Return whether ``groups`` work-groups can run at once and the counter's ``size`` is not 0; report it if not."""
    if groups > xe_cores():
        report(SYNC, GROUPS, -1, 0, groups, 0, xe_cores())
        return False
    if size < 1:
        report(SYNC, OUTSIDE, -1, counter, 0, 1, size)
        return False
    return True


@compiled
def is_same_round(seen, before):
    """Return whether two values of the counter, ``seen`` and ``before``, belong to the same round of the barrier."""
    return seen >> 32 == before >> 32


poll_counter = make_word_poll(is_same_round)


@compiled
def await_groups(counter, groups, call_site):
    """Arrive, as one work-item of a work-group, at the barrier of ``groups`` work-groups, and wait for the others."""
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
    """Increment the counter at an address; return its old value, the ticket of a work-group, to all its work-items."""
    return group_sum(group, atomic_add_word(counter, 1) if rank_in(group) == 0 else 0)


@compiled
def end_launch(ticket, ended, number, step, group):
    """End a launch in this work-group: the last one resets the tickets and adds ``step`` to the number of the call.

    ``ticket``, ``ended`` and ``number`` are addresses in device memory, so each replay of a launch recorded in a graph
    has a new number.
    """
    groups = groups_of(group)
    publish_fence()
    group_barrier(group)
    if rank_in(group) == 0 and atomic_add_word(ended, 1) == groups - 1:
        seen_fence()
        atomic_store_word(ticket, 0)
        atomic_store_word(ended, 0)
        atomic_store_word(number, load_word(number) + step)
