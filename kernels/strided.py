"""Strided remote memory access inside kernels: the device forms of ``ishmem.strided``."""

from __future__ import annotations

from typing import Any

from ishmem import strided
from ishmem.common.shared_numbers import HELD
from ishmem.common.violations import STRIDE, number

from . import type_checks
from .copy import copy_elements
from .forms import forms, integers
from .front_end import device_func
from .intrinsics import address_of, as_words, compiled, group_barrier, item_bytes
from .proxy import Move, delta_if_reachable, move_by_proxy, reachable
from .regions import shift_of
from .runtime_checks import allowed, fits, report
from .work_division import work_item_share, workers_of

PUT, GET = map(number, ("iput or ibput", "iget or ibget"))


@compiled
def copy_blocks(like, move, workers):
    """Copy the blocks of a `Move` in elements of the dtype of ``like``: the share of one of the workers."""
    to, origin, rank, size = move.to, move.origin, workers.rank, workers.width
    to_step, from_step = move.to_step * item_bytes(like), move.from_step * item_bytes(like)
    if move.length < size:  # each work-item copies whole blocks; otherwise all share each block
        first, step, end = work_item_share(move.count, rank, size)
        for block in range(first, end, step):
            copy_elements(like, to + block * to_step, origin + block * from_step, move.length, 0, 1)
    else:
        for block in range(move.count):
            copy_elements(like, to + block * to_step, origin + block * from_step, move.length, rank, size)


@compiled
def move_blocks(put, like, move, pe, delta, workers):
    """Put (``put`` is 1) or get (0) the blocks of a `Move` in elements; both addresses are those on this PE.

    ``delta`` is that of `delta_if_reachable`.
    """
    to, origin, to_step, from_step, length, count = move
    if reachable(pe):
        away = delta + shift_of(put * to + (1 - put) * origin, pe)
        to, origin = to + put * away, origin + (1 - put) * away
        copy_blocks(like, Move(to, origin, to_step, from_step, length, count), workers)
    else:
        item = item_bytes(like)
        in_bytes = Move(to, origin, to_step * item, from_step * item, length * item, count)
        move_by_proxy(put + HELD, pe, in_bytes, workers)


@device_func
def extent(stride, bsize, nblocks):
    """Return the number of elements from the first block to the end of the last one, gaps included."""
    if nblocks > 0 and bsize > 0:
        return (nblocks - 1) * stride + bsize
    return min(nblocks, bsize, 0)


@compiled
def _put_fits(dest, source, move, pe):
    to_count, from_count = _extents(move)
    fit = _are_apart(PUT, move) and fits(PUT, dest, pe, to_count) and fits(PUT, source, -1, from_count)
    return fit and allowed(PUT, dest, pe, 0, 0)


@compiled
def _get_fits(dest, source, move, pe):
    to_count, from_count = _extents(move)
    fit = _are_apart(GET, move) and fits(GET, dest, -1, to_count) and fits(GET, source, pe, from_count)
    return fit and allowed(GET, source, pe, 0, 0)


@compiled
def _extents(move):
    """Return the numbers of elements that ``dest`` and ``source`` need."""
    return extent(move.to_step, move.length, move.count), extent(move.from_step, move.length, move.count)


@compiled
def _are_apart(routine, move):
    """Return whether the blocks do not overlap."""
    least = max(move.length, 1)
    if move.to_step >= least and move.from_step >= least:
        return True
    report(routine, STRIDE, -1, 0, move.to_step, move.from_step, least)
    return False


def _check(routine: str, dest: Any, source: Any, **others: Any) -> None:
    type_checks.contiguous(routine, dest=dest, source=source)
    type_checks.same_dtype(dest, source)
    integers(routine, **others)


def _register(name: str, put: int) -> None:
    """Register ``ib<name>``, ``i<name>`` and their work-group forms."""
    fitting = (_get_fits, _put_fits)[put]

    @compiled
    def transfer(dest, source, move, pe, group):
        """Put (``put`` is 1) or get (0) the blocks of a `Move` in elements."""
        group_barrier(group)
        delta = delta_if_reachable(pe)
        if fitting(dest, source, move, pe):
            move_blocks(put, dest, move, pe, delta, workers_of(group))
        group_barrier(group)

    def blocks(dest, source, dst, sst, bsize, nblocks, pe, group):
        move = Move(address_of(dest), address_of(source), dst, sst, bsize, nblocks)
        transfer(as_words(dest), as_words(source), move, pe, group)

    def elements(dest, source, dst, sst, nelems, pe, group):
        move = Move(address_of(dest), address_of(source), dst, sst, 1, nelems)
        transfer(as_words(dest), as_words(source), move, pe, group)

    forms(strided, f"ib{name}", _check, blocks)
    forms(strided, f"i{name}", _check, elements)


_register("put", 1)
_register("get", 0)
