"""``put`` and ``get`` of views that are not contiguous: 1-D slices with a step, 2-D tiles, and transposed arrays.

An array is described as rows: element ``i`` in C order lies ``i // columns`` rows and ``i % columns`` columns from the
first one. A contiguous array and a 1-D slice are one row, which divides into rows of any length.
"""

from __future__ import annotations

from typing import Any

from . import type_checks
from .intrinsics import address_of, device_function, item_bytes, require
from .proxy import Move, delta_if_reachable
from .strided import move_blocks
from .work_division import alone, workers_of


def is_view(array: Any) -> bool:
    """Return whether an array type is one of views that are not contiguous."""
    return getattr(array, "layout", "C") not in "CF"


def are_views(dest: Any, source: Any) -> bool:
    """Return whether `move_view` has to move the elements: of views, or of 2-D arrays in different memory orders."""
    transposed = type_checks.orders_differ(dest, source) and dest.ndim == source.ndim == 2
    return is_view(dest) or is_view(source) or transposed


def check(routine: str, nelems: Any, **arrays: Any) -> None:
    """Require arrays that `move_view` takes."""
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
def move_view(put, dest, source, pe, count, group):
    """Put (``put`` is 1) or get (0) ``count`` elements of arrays of which at least one is not contiguous."""
    to_row, from_row = _is_row(dest), _is_row(source)

    def impl(put, dest, source, pe, count, group):
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
                move_blocks(put, dest, Move(at, of, 0, 0, length, 1), pe, delta, workers)
            else:
                move_blocks(put, dest, Move(at, of, to_next, from_next, 1, length), pe, delta, workers)
            row += 1
            even = columns > 0
        if to_columns != from_columns and not (to_row or from_row):  # tiles of different shapes: single elements
            for i in range(workers.rank, count, workers.width):
                at = to + (i // to_columns * to_step + i % to_columns * to_next) * item
                of = origin + (i // from_columns * from_step + i % from_columns * from_next) * item
                move_blocks(put, dest, Move(at, of, 0, 0, 1, 1), pe, delta, alone())

    return impl
