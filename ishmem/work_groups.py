"""Work-groups of one launch: the number that run at the same time, and a barrier of all of them.

Not part of OpenSHMEM. ``sync_work_groups`` is called inside kernels only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ishmem.common.routines import exported
from ishmem.runtime import job

if TYPE_CHECKING:
    from dpnp import ndarray

__all__ = exported(__name__)


def max_work_groups() -> int:
    """Return the number of work-groups of a launch, of any size, that are guaranteed to run at the same time.

    It is the smallest number of Xe cores of any PE's device, as each core has room for a work-group of any size. So the
    same launch is possible on all PEs. Work-groups that wait for each other must all run at the same time, and no other
    kernel may run on the device meanwhile. Not collective, not blocking.

    Raises:
        StateError: Not between ``init`` and ``finalize``.

    Example:
        >>> ishmem.max_work_groups() >= 1
        True
    """
    return job.current().heap.least_cores


def sync_work_groups(counter: ndarray, group: Any) -> None:
    """Wait for all work-groups of this launch; in kernels only.

    All work-items of all work-groups of a launch of at most `max_work_groups` work-groups call, each as often as the
    others. Writes of any of them to the memory of this PE before the call are visible to all afterwards. PEs do not
    wait for each other: call ``quiet`` and ``barrier_all`` for that. Blocking; begins and ends with a group barrier.

    Args:
        counter: Array of int64 in memory of this PE, whose first element is 0 before the first call. The same in all
            calls of a launch, and of no other launch that runs at the same time. It need not be reset.
        group: The work-group.

    Raises:
        ValueError: The launch has more work-groups. The call then returns without waiting, and the next ``quiet``,
            barrier or other blocking call of this PE's host raises.
        IndexError: ``counter`` is empty; raised in the same way.
        TypeError: Called on the host.

    Example: in a kernel
        ``partial[item.get_group().get_group_id(0)] = mine``
        ``ishmem.sync_work_groups(counter, item.get_group())``

    Source: CUDA, ``grid.sync``; SYCL, ``group_barrier`` of a root-group.
    """
    raise TypeError("ishmem.sync_work_groups is called inside kernels only")


sync_work_groups.kernel_only = True  # type: ignore[attr-defined]
