"""Items and groups in plain Python; kernels have the same methods (``dpex.language.index_spaces``)."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from .ranges import Range


def _linear(index: Sequence[int], extents: Sequence[int]) -> int:
    number = 0
    for at, extent in zip(index, extents):
        number = number * extent + at
    return number


class Group:
    """A work-group; ``leader`` is whether this work-item is the first one of it."""

    def __init__(self, global_range: Range, local_range: Range, group_range: Sequence[int], index: Sequence[int]):
        self._global_range, self._local_range = global_range, local_range
        self._group_range, self._index, self.leader = group_range, index, False

    def get_group_id(self, dim: int) -> int:
        """Return the index of the group in dimension ``dim``, from 0."""
        return self._index[dim]

    def get_group_linear_id(self) -> int:
        """Return the linear id of the group, from 0; the last dimension varies fastest."""
        return _linear(self._index, self._group_range)

    def get_group_range(self, dim: int) -> int:
        """Return the number of groups in dimension ``dim``, from 0."""
        return self._group_range[dim]

    def get_group_linear_range(self) -> int:
        """Return the number of groups of the launch."""
        return prod(self._group_range)

    def get_local_range(self, dim: int) -> int:
        """Return the number of work-items of a group in dimension ``dim``, from 0."""
        return self._local_range.get(dim)

    def get_local_linear_range(self) -> int:
        """Return the number of work-items of a group."""
        return self._local_range.size()

    @property
    def dimensions(self) -> int:
        """The number of dimensions."""
        return self._global_range.ndim


class SubGroup:
    """A sub-group: the work-items of a work-group that run in lockstep; kernels only.

    All its work-items must call the methods that have a value together: on a GPU, other results are undefined.
    """

    def _of_device(self) -> Any:
        raise NotImplementedError("sub-groups exist in kernels on a device only, not in plain Python")

    def get_local_id(self) -> int:
        """Return the index of the work-item in its sub-group, from 0."""
        return int(self._of_device())

    def get_local_range(self) -> int:
        """Return the number of work-items of the sub-group."""
        return int(self._of_device())

    def get_group_id(self) -> int:
        """Return the index of the sub-group in its work-group, from 0."""
        return int(self._of_device())

    def get_group_range(self) -> int:
        """Return the number of sub-groups in the work-group."""
        return int(self._of_device())

    def broadcast(self, value: Any, local_id: int) -> Any:
        """Return the ``value`` that the work-item ``local_id`` has passed.

        Args:
            value: A number of 32 or 64 bits.
            local_id: The index of a work-item in the sub-group; the same on all work-items.
        """
        return self._of_device()

    def shuffle(self, value: Any, local_id: int) -> Any:
        """Return the ``value`` passed by the work-item ``local_id``, an index that may differ between work-items."""
        return self._of_device()

    def shuffle_up(self, value: Any, delta: int) -> Any:
        """Return the ``value`` passed by the work-item whose index in the sub-group is smaller by ``delta``."""
        return self._of_device()

    def shuffle_down(self, value: Any, delta: int) -> Any:
        """Return the ``value`` passed by the work-item whose index in the sub-group is larger by ``delta``."""
        return self._of_device()

    def shuffle_xor(self, value: Any, mask: int) -> Any:
        """Return the ``value`` passed by the work-item whose index is this work-item's index XOR ``mask``."""
        return self._of_device()

    def reduce_add(self, value: Any) -> Any:
        """Return the sum of ``value``, a number of 32 or 64 bits, over the sub-group."""
        return self._of_device()

    def reduce_min(self, value: Any) -> Any:
        """Return the minimum of ``value``, a number of 32 or 64 bits, over the sub-group."""
        return self._of_device()

    def reduce_max(self, value: Any) -> Any:
        """Return the maximum of ``value``, a number of 32 or 64 bits, over the sub-group."""
        return self._of_device()


class Item:
    """A work-item of a launch over a `Range`."""

    def __init__(self, extent: Range, index: Sequence[int]):
        self._extent, self._index = extent, index

    def get_id(self, dim: int) -> int:
        """Return the index of the work-item in dimension ``dim``; both count from 0."""
        return self._index[dim]

    def get_linear_id(self) -> int:
        """Return the linear id of the work-item, from 0; the last dimension varies fastest."""
        return _linear(self._index, self._extent)

    def get_range(self, dim: int) -> int:
        """Return the number of work-items in dimension ``dim``, from 0."""
        return self._extent.get(dim)

    def get_linear_range(self) -> int:
        """Return the number of work-items of the launch."""
        return self._extent.size()

    @property
    def dimensions(self) -> int:
        """The number of dimensions."""
        return self._extent.ndim


class NdItem:
    """A work-item of a launch over an `NdRange`."""

    def __init__(self, global_item: Item, local_item: Item, group: Group):
        self._global, self._local, self._group = global_item, local_item, group
        group.leader = local_item.get_linear_id() == 0

    def get_global_id(self, dim: int) -> int:
        """Return the index of the work-item in the launch, in dimension ``dim``; both count from 0."""
        return self._global.get_id(dim)

    def get_global_linear_id(self) -> int:
        """Return the linear id of the work-item in the launch, from 0; the last dimension varies fastest."""
        return self._global.get_linear_id()

    def get_local_id(self, dim: int) -> int:
        """Return the index of the work-item in its work-group, in dimension ``dim``; both count from 0."""
        return self._local.get_id(dim)

    def get_local_linear_id(self) -> int:
        """Return the linear id of the work-item in its work-group, from 0; the last dimension varies fastest."""
        return self._local.get_linear_id()

    def get_global_range(self, dim: int) -> int:
        """Return the number of work-items of the launch in dimension ``dim``, from 0."""
        return self._global.get_range(dim)

    def get_local_range(self, dim: int) -> int:
        """Return the number of work-items of a work-group in dimension ``dim``, from 0."""
        return self._local.get_range(dim)

    def get_local_linear_range(self) -> int:
        """Return the number of work-items of a work-group."""
        return self._local.get_linear_range()

    def get_global_linear_range(self) -> int:
        """Return the number of work-items of the launch."""
        return self._global.get_linear_range()

    def get_group(self) -> Group:
        """Return the work-group of the work-item."""
        return self._group

    def get_sub_group(self) -> SubGroup:
        """Return the sub-group of the work-item; its methods raise in plain Python."""
        return SubGroup()

    @property
    def dimensions(self) -> int:
        """The number of dimensions."""
        return self._global.dimensions
