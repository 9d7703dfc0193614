"""The index spaces of launches."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from math import prod
from typing import Any

from ..errors import UnmatchedNumberOfRangeDimsError, UnsupportedGroupWorkItemSizeError


class Range(tuple):  # type: ignore[type-arg]
    """The number of work-items in each of one to three dimensions; the last dimension varies fastest."""

    def __new__(cls, dim0: int, dim1: int | None = None, dim2: int | None = None) -> Range:
        """Make a range of one to three extents.

        Raises:
            TypeError: An extent is not an int.
            ValueError: An extent is negative.
        """
        extents = [dim0] + [extent for extent in (dim1, dim2) if extent is not None]
        return super().__new__(cls, (_extent(number, extent) for number, extent in enumerate(extents)))

    def get(self, index: int) -> int:
        """Return the extent of dimension ``index``, from 0."""
        return int(self[index])

    def size(self) -> int:
        """Return the number of work-items."""
        return prod(self)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self)

    @property
    def dim0(self) -> int:
        """The first extent."""
        return self._extent(0)

    @property
    def dim1(self) -> int:
        """The second extent; -1 if there is none."""
        return self._extent(1)

    @property
    def dim2(self) -> int:
        """The third extent; -1 if there is none."""
        return self._extent(2)

    def _extent(self, dimension: int) -> int:
        return int(self[dimension]) if dimension < len(self) else -1


class NdRange:
    """The numbers of work-items of a launch and of each work-group."""

    def __init__(self, global_size: Iterable[int], local_size: Iterable[int]):
        """Make a range of work-groups.

        Args:
            global_size: The number of work-items of the launch in each dimension.
            local_size: The number of work-items of a work-group in each dimension; it divides ``global_size``.

        Raises:
            TypeError: A size is not iterable, has no or more than three extents, or one that is not an int.
            UnmatchedNumberOfRangeDimsError: The sizes differ in their number of dimensions.
            UnsupportedGroupWorkItemSizeError: A local extent does not divide the global one.
            ValueError: An extent is negative, or a local extent is 0.
        """
        self._global_range, self._local_range = _range("global_size", global_size), _range("local_size", local_size)
        if len(self._global_range) != len(self._local_range):
            raise UnmatchedNumberOfRangeDimsError("", len(self._global_range), len(self._local_range))
        for dim, (work_items, in_group) in enumerate(zip(self._global_range, self._local_range)):
            if in_group == 0:
                raise ValueError(f"local_size[{dim}] is 0; a work-group has at least 1 work-item in each dimension")
            if work_items % in_group:
                raise UnsupportedGroupWorkItemSizeError("", dim, work_items, in_group)

    @property
    def global_range(self) -> Range:
        """The number of work-items of the launch in each dimension."""
        return self._global_range

    @property
    def local_range(self) -> Range:
        """The number of work-items of a work-group in each dimension."""
        return self._local_range

    def get_global_range(self) -> Range:
        """Return the number of work-items of the launch in each dimension."""
        return self._global_range

    def get_local_range(self) -> Range:
        """Return the number of work-items of a work-group in each dimension."""
        return self._local_range

    def __str__(self) -> str:
        return f"({self._global_range}, {self._local_range})"

    def __repr__(self) -> str:
        return f"NdRange{self}"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, NdRange):
            return NotImplemented
        return (self._global_range, self._local_range) == (other._global_range, other._local_range)

    def __hash__(self) -> int:
        return hash((self._global_range, self._local_range))


def _extent(number: int, extent: Any) -> int:
    try:
        found = operator.index(extent)
    except TypeError:
        raise TypeError(f"dim{number} of a Range is an int, got {extent!r}") from None
    if found < 0:
        raise ValueError(f"dim{number} of a Range is {found}; it is at least 0")
    return found


def _range(name: str, size: Iterable[int]) -> Range:
    if isinstance(size, Range):
        return size
    if not isinstance(size, Iterable):
        raise TypeError(f"Unknown argument type for NdRange {name}: a Range or an iterable of ints, got {size!r}")
    extents = tuple(size)
    if not 1 <= len(extents) <= 3:
        raise TypeError(f"NdRange {name} has one to three extents, got {extents}")
    return Range(*extents)
