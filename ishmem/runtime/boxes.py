"""Plans of strided copies for queues, and the errors of copies that are impossible.

The core divides a copy into boxes: blocks of consecutive elements at regular distances along some axes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ishmem import _core
from ishmem.runtime import check

Axis = tuple[int, int, int]
"""The length of an axis of blocks, and the distances from each block to the next in dest and source, in elements."""


@dataclass(frozen=True)
class Extent:
    """The range of a box in one array, in elements: its lowest offset, and the number of elements up to the highest."""

    low: int
    count: int


@dataclass(frozen=True)
class Box:
    """Blocks of ``block`` elements on a grid of ``axes``; ``to`` and ``origin``: first offsets in dest and source."""

    to: int
    origin: int
    block: int
    axes: list[Axis]

    @property
    def count(self) -> int:
        """The number of elements."""
        count = self.block
        for axis in self.axes:
            count *= axis[0]
        return count

    def extents(self) -> tuple[Extent, Extent]:
        """Return the ranges of elements that the box spans in dest and in source."""
        return self._extent(self.to, 1), self._extent(self.origin, 2)

    def _extent(self, first: int, which: int) -> Extent:
        spans = [(axis[0] - 1) * axis[which] for axis in self.axes]
        low = first + sum(min(span, 0) for span in spans)
        return Extent(low, first + sum(max(span, 0) for span in spans) + self.block - low)


@dataclass(frozen=True)
class Plan:
    """A strided put, if ``is_put``, or get of ``boxes``; ``remote`` is the address of the symmetric array on ``pe``."""

    dest: check.View
    source: check.View
    boxes: list[Box]
    pe: int
    is_put: bool
    remote: int

    @property
    def to(self) -> int:
        """The address of the first element of ``dest``, on PE ``pe`` for a put."""
        return self.remote if self.is_put else self.dest.address

    @property
    def origin(self) -> int:
        """The address of the first element of ``source``, on PE ``pe`` for a get."""
        return self.source.address if self.is_put else self.remote


def of_arrays(to: check.View, origin: check.View, nelems: Any, pe: int, is_put: bool) -> Plan:
    """Return the plan of a put or get of ``nelems`` elements (None: all) from ``origin`` to ``to``, with PE ``pe``.

    Raises:
        SymmetryError: The array on PE ``pe`` is not symmetric.
        TypeError: The dtypes differ, or ``nelems`` is not an integer.
        ValueError: ``to`` is read-only, ``nelems`` is out of range, sizes differ, or the copy has no regular boxes.
    """
    check.same_dtype(to, origin)
    check.writable(to)
    count = check.count(nelems, to, origin)
    contiguous = to.order & origin.order
    found = [(0, 0, count, [])] if contiguous else _core.boxes(to.array, origin.array, count)
    if isinstance(found, str):
        raise ValueError(_impossible(found, to, origin))
    boxes = [Box(*each) for each in found]
    far = to if is_put else origin
    extents = [box.extents()[0 if is_put else 1] for box in boxes] or [Extent(0, 0)]
    low = min(each.low for each in extents)
    part = max(each.low + each.count for each in extents) - low
    lowest = replace(far, address=far.address + low * far.itemsize, count=part)
    return Plan(to, origin, boxes, pe, is_put, check.remote(lowest, pe) - low * far.itemsize)


def _impossible(reason: str, to: check.View, origin: check.View) -> str:
    """Return the error message for a copy that the core cannot divide into boxes for ``reason``."""
    if reason == "overlap":
        return f"elements of {to.name} share memory: its shape is {to.shape}, its strides are {to.strides} elements"
    if reason == "rows":
        return (
            f"{to.name} has the shape {to.shape} and {origin.name} {origin.shape}, of which neither divides into rows "
            "of the other; copy one of them with dpnp.ascontiguousarray, or move a row at a time"
        )
    return f"{reason} has strides that are not multiples of its elements; copy it with dpnp.ascontiguousarray"
