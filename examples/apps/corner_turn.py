"""Corner turns of a 3-D array whose blocks are on several PEs: one axis is divided among them instead of another."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Callable

import dpnp
import numpy as np

import ishmem
from ishmem import dpex
from ishmem.dpex import kernel_api as kapi
from ishmem.examples.apps.frame import Blocks
from ishmem.examples.apps.stockham import bin_of, place_of

Shape = tuple[int, int, int]
Exchange = Callable[[Any, Any, list[int], list[int]], None]
"""Exchanges blocks among the members: ``received``, ``packed``, and the numbers of elements that arrive and leave."""


@dpex.kernel
def stage_and_put(item: kapi.Item, x, turned, roots, radix, done, table, block, outer_width, inner_width):
    """Do the last stage of an FFT and put each result, once it is computed, to the PE that owns it after the turn.

    A line of ``table`` has the PE of a member, strides of its array for the parts of an element's place, and an offset.
    The widths divide the outer and the inner index into these parts.
    """
    outer, i, k = item.get_id(0), item.get_id(1), item.get_id(2)
    for s in range(radix):
        column = place_of(i, radix, done, s)
        to = column // block
        place = outer // outer_width * table[to, 1] + outer % outer_width * table[to, 2] + table[to, 6]
        place += (column - to * block) * table[to, 3] + k // inner_width * table[to, 4] + k % inner_width * table[to, 5]
        ishmem.p(turned, bin_of(x, roots, outer, i, k, radix, done, s), table[to, 0], place)


@dataclass(frozen=True)
class Turn:
    """A corner turn.

    Attributes:
        split: The axis that is whole before and divided after.
        join: The axis that is divided before and whole after.
        length: Elements of the whole axis ``join``.
        pes: The PEs that take part.
        me: This PE's place in ``pes``.
    """

    split: int
    join: int
    length: int
    pes: tuple[int, ...]
    me: int

    def shape_of(self, shape: Shape, member: int) -> Shape:
        """Return the shape of a member's array after the turn, from the ``shape`` of this PE's before."""
        after = list(shape)
        after[self.split], after[self.join] = Blocks(shape[self.split], len(self.pes)).counts[member], self.length
        return (after[0], after[1], after[2])

    def exchange(self, buffers: list[Any], shape: Shape, alltoallv: Exchange) -> Shape:
        """Turn the array of ``shape`` in the first of three buffers, by ``alltoallv``; return the new shape."""
        data, packed, received = buffers
        x, leaving = array_in(data, shape), Blocks(shape[self.split], len(self.pes))
        sizes: list[int] = []
        for member in range(len(self.pes)):
            block = x[_part(self.split, leaving.part(member))]
            if block.size:
                packed[sum(sizes) : sum(sizes) + block.size] = block.reshape(-1)
            sizes.append(block.size)
        after, arriving = self.shape_of(shape, self.me), Blocks(self.length, len(self.pes))
        arrive = [math.prod(after) // self.length * count for count in arriving.counts]
        alltoallv(received, packed, arrive, sizes)
        y = array_in(data, after)
        for member, size in enumerate(arrive):
            if size:
                block, begin = y[_part(self.join, arriving.part(member))], sum(arrive[:member])
                block[...] = received[begin : begin + size].reshape(block.shape)
        return after

    def put_last_stage(self, x: Any, radix: int, done: int, *, shape: Shape, roots: Any, turned: Any) -> None:
        """Do the FFT's last ``stage`` (radix, product of those before) along ``split``, into ``turned`` on members."""
        table = []
        for member, pe in enumerate(self.pes):
            _rows, middle, last = self.shape_of(shape, member)
            strides = (middle * last, last, 1)
            outer = {0: (0, 0), 1: (strides[0], 0), 2: strides[:2]}[self.split]
            inner = {0: strides[1:], 1: (strides[2], 0), 2: (0, 0)}[self.split]
            first = Blocks(self.length, len(self.pes)).part(self.me).start * strides[self.join]
            table.append((pe, *outer, strides[self.split], *inner, first))
        widths = shape[1] if self.split == 2 else 1, shape[2] if self.split == 0 else 1
        block = Blocks(shape[self.split], len(self.pes)).size
        if x.size:
            items = kapi.Range(x.shape[0], roots.size // radix, x.shape[2])
            lines = dpnp.asarray(np.array(table, "i8"))
            dpex.call_kernel(stage_and_put, items, x, turned, roots, radix, done, lines, block, *widths)


def array_in(buffer: Any, shape: tuple[int, ...]) -> Any:
    """Return the array of a shape at the start of a buffer."""
    return buffer[: math.prod(shape)].reshape(shape)


def _part(axis: int, part: slice) -> tuple[slice, ...]:
    return (*[slice(None)] * axis, part)
