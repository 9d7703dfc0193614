"""The barrier of a group."""

from __future__ import annotations

from .enums import MemoryScope
from .index_spaces import Group, SubGroup


def group_barrier(group: Group | SubGroup, fence_scope: int = MemoryScope.WORK_GROUP) -> None:
    """Wait until all work-items of the group have called; their earlier stores are visible to the group afterwards.

    Args:
        group: The work-group or sub-group.
        fence_scope: The work-items to which stores become visible, a `MemoryScope`; a literal in kernels.

    Raises:
        NotImplementedError: In plain Python, where work-items run one after the other.
    """
    raise NotImplementedError("group_barrier works in kernels only: plain Python runs work-items one after the other")
