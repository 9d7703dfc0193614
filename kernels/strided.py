"""Strided remote memory access inside kernels: ``ishmem.strided``, and ``put`` and ``get`` of views.

Views that are not contiguous are 1-D slices with a step, 2-D tiles, and transposed arrays. `move_view` describes an
array as rows: element ``i`` in C order lies ``i // columns`` rows and ``i % columns`` columns from the first one. A
contiguous array and a 1-D slice are one row, which divides into rows of any length.
"""

from __future__ import annotations

from typing import Any

from ishmem import strided
from ishmem.common.shared_numbers import FROM_PROGRAM
from ishmem.common.violations import STRIDE, routine_number

from . import type_checks
from .copy import copy_elements
from .forms import forms, integers
from .front_end import device_func
from .intrinsics import address_of, as_words, compiled, device_function, group_barrier, item_bytes, require
from .peers import shift_of
from .proxy import Move, delta_if_reachable, move_by_proxy, reachable
from .runtime_checks import allowed, fits, report
from .work_division import Workers, work_item_share, workers_of

PUT_ROUTINE, GET_ROUTINE = map(routine_number, ("iput or ibput", "iget or ibget"))


@compiled
def copy_blocks(like, move, workers):
    """Copy this work-item's share, as one of ``workers``, of a `Move` in elements of the dtype of ``like``."""
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
def move_blocks(is_put, like, move, pe, delta, workers):
    """Put or get the blocks of a `Move` in elements of the dtype of ``like``; blocking.

    Its addresses are those on this PE; this work-item of ``workers`` moves its share. ``delta``: see
    `delta_if_reachable`.
    """
    to, origin, to_step, from_step, length, count = move
    if reachable(pe):
        if is_put:
            to += delta + shift_of(to, pe)
        else:
            origin += delta + shift_of(origin, pe)
        copy_blocks(like, Move(to, origin, to_step, from_step, length, count), workers)
    else:
        item = item_bytes(like)
        in_bytes = Move(to, origin, to_step * item, from_step * item, length * item, count)
        move_by_proxy(is_put, FROM_PROGRAM, pe, in_bytes, workers)


@device_func
def extent(stride, bsize, nblocks):
    """Return the elements from the first to the end of the last of ``nblocks`` blocks of ``bsize``, ``stride`` apart.

    It is at most 0 if there is no block or element.
    """
    if nblocks > 0 and bsize > 0:
        return (nblocks - 1) * stride + bsize
    return min(nblocks, bsize, 0)


@compiled
def _extents(move):
    """Return the numbers of elements that a `Move` in elements needs in ``dest`` and in ``source``."""
    return extent(move.to_step, move.length, move.count), extent(move.from_step, move.length, move.count)


@compiled
def _are_apart(routine, move):
    """Return whether the blocks of a `Move` do not overlap; report a violation if they do."""
    least = max(move.length, 1)
    if move.to_step >= least and move.from_step >= least:
        return True
    report(routine, STRIDE, -1, 0, move.to_step, move.from_step, least)
    return False


def _check(routine: str, dest: Any, source: Any, **others: Any) -> None:
    type_checks.contiguous(routine, dest=dest, source=source)
    type_checks.same_dtype(dest, source)
    integers(routine, **others)


def _register(name: str, is_put: bool) -> None:
    """Register ``ib<name>``, ``i<name>`` and their work-group forms."""
    routine = PUT_ROUTINE if is_put else GET_ROUTINE

    @compiled
    def is_allowed(dest, source, move, pe):
        to_count, from_count = _extents(move)
        fit = _are_apart(routine, move) and fits(routine, dest, pe if is_put else -1, to_count)
        fit = fit and fits(routine, source, -1 if is_put else pe, from_count)
        return fit and allowed(routine, dest if is_put else source, pe, 0, 0)

    @compiled
    def transfer(dest, source, move, pe, group):
        """Put or get the blocks of a `Move` in elements."""
        group_barrier(group)
        delta = delta_if_reachable(pe)
        if is_allowed(dest, source, move, pe):
            move_blocks(is_put, dest, move, pe, delta, workers_of(group))
        group_barrier(group)

    def blocks(dest, source, dst, sst, bsize, nblocks, pe, group):
        move = Move(address_of(dest), address_of(source), dst, sst, bsize, nblocks)
        transfer(as_words(dest), as_words(source), move, pe, group)

    def elements(dest, source, dst, sst, nelems, pe, group):
        move = Move(address_of(dest), address_of(source), dst, sst, 1, nelems)
        transfer(as_words(dest), as_words(source), move, pe, group)

    forms(strided, f"ib{name}", _check, blocks)
    forms(strided, f"i{name}", _check, elements)


_register("put", True)
_register("get", False)


def is_view(array: Any) -> bool:
    """Return whether an array type is that of a view that is not contiguous."""
    return getattr(array, "layout", "C") not in "CF"


def are_views(dest: Any, source: Any) -> bool:
    """Return whether to use `move_view` for two array types: for views, or 2-D arrays in different memory orders."""
    transposed = type_checks.orders_differ(dest, source) and dest.ndim == source.ndim == 2
    return is_view(dest) or is_view(source) or transposed


def check_views(routine: str, nelems: Any, **arrays: Any) -> None:
    """Raise ``TypingError`` for arrays that `move_view` does not support, or if ``nelems`` is given."""
    for name, kind in arrays.items():
        type_checks.element_type(routine, name, kind)
        words = (
            f"{routine}: {name} is a view of {kind.ndim} dimensions that is not contiguous; kernels take contiguous "
            "arrays, 1-D slices and 2-D tiles: pass a 2-D part at a time"
        )
        require(kind.ndim <= 2 or kind.layout == "C", words)
    given = type_checks.absent(nelems)
    require(given, f"{routine}: nelems is for contiguous arrays in the same memory order; pass a shorter slice")


def _is_row(array: Any) -> bool:
    return bool(array.ndim < 2 or array.layout == "C")


@device_function
def steps_of(array):
    """Return the number of columns of an array, and the strides of its rows and of its columns in elements."""
    if array.layout == "C":
        return lambda array: (array.size, 0, 1)
    if array.ndim == 1:
        return lambda array: (array.size, 0, array.strides[0] // item_bytes(array))
    if array.layout == "F":  # numba-dpex gives such an array the strides of one in C order
        return lambda array: (array.shape[1], 1, array.shape[0])

    def tile(array):
        item = item_bytes(array)
        return array.shape[1], array.strides[0] // item, array.strides[1] // item

    return tile


@device_function
def move_view(is_put, dest, source, pe, count, group):
    """Put or get ``count`` elements of arrays of which one at least is not contiguous; blocking."""
    to_row, from_row = _is_row(dest), _is_row(source)

    def move_rows(is_put, dest, source, pe, count, group):
        to_columns, to_step, to_next = steps_of(dest)
        from_columns, from_step, from_next = steps_of(source)
        columns, even = to_columns, True
        if to_row:
            columns, to_step = from_columns, from_columns * to_next
        elif from_row:
            from_step = columns * from_next
        else:
            even = to_columns == from_columns
        item, delta, workers = item_bytes(dest), delta_if_reachable(pe), workers_of(group)
        to, origin, row = address_of(dest), address_of(source), 0
        while even and row * columns < count:
            at, of = to + row * to_step * item, origin + row * from_step * item
            length = min(columns, count - row * columns)
            if to_next == 1 and from_next == 1:
                move_blocks(is_put, dest, Move(at, of, 0, 0, length, 1), pe, delta, workers)
            else:
                move_blocks(is_put, dest, Move(at, of, to_next, from_next, 1, length), pe, delta, workers)
            row += 1
            even = columns > 0
        if to_columns != from_columns and not (to_row or from_row):  # tiles of different shapes: single elements
            for i in range(workers.rank, count, workers.width):
                at = to + (i // to_columns * to_step + i % to_columns * to_next) * item
                of = origin + (i // from_columns * from_step + i % from_columns * from_next) * item
                move_blocks(is_put, dest, Move(at, of, 0, 0, 1, 1), pe, delta, Workers(0, 1))

    return move_rows
