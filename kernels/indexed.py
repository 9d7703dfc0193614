"""Remote memory access by lists of indices inside kernels: the device forms of ``ishmem.indexed``."""

from __future__ import annotations

from typing import Any

from numba.core import types

from ishmem import indexed, rma
from ishmem.common.type_tables import STANDARD, STATUS_TYPES
from ishmem.common.violations import number

from . import type_checks
from .intrinsics import as_words, compiled, device, device_function, group_barrier, rank_in, require, size_of
from .runtime_checks import allowed, fits

PUT, GET = map(number, ("ixput", "ixget"))


@device_function
def is_chosen(mask, i):
    """Return whether element ``i`` moves."""
    if type_checks.absent(mask):
        return lambda mask, i: True
    return lambda mask, i: mask[i] != 0


@device_function
def has_room(routine, mask, count):
    """Return whether a mask has ``count`` elements."""
    if type_checks.absent(mask):
        return lambda routine, mask, count: True
    return lambda routine, mask, count: fits(routine, mask, -1, count)


@compiled
def put_elements(dest, source, indices, pe, mask, rank, size):
    """Put every ``size``-th element, from number ``rank`` on."""
    if fits(PUT, source, -1, indices.size) and has_room(PUT, mask, indices.size):
        for i in range(rank, indices.size, size):
            if is_chosen(mask, i) and allowed(PUT, dest, pe, indices[i], 1):
                rma.p(dest, source[i], pe, indices[i])


@compiled
def get_elements(dest, source, indices, pe, mask, rank, size):
    """Get every ``size``-th element, from number ``rank`` on."""
    if fits(GET, dest, -1, indices.size) and has_room(GET, mask, indices.size):
        for i in range(rank, indices.size, size):
            if is_chosen(mask, i) and allowed(GET, source, pe, indices[i], 1):
                dest[i] = rma.g(source, pe, indices[i])


def _check(routine: str, dest: Any, source: Any, indices: Any, pe: Any, mask: Any) -> None:
    type_checks.contiguous(routine, dest=dest, source=source)
    type_checks.same_dtype(dest, source)
    type_checks.integer(routine, "pe", pe)
    type_checks.element_type(routine, "indices", indices, STANDARD)
    given = {"dest": dest, "source": source, "indices": indices}
    if not type_checks.absent(mask):
        type_checks.element_type(routine, "mask", mask, STATUS_TYPES)
        given["mask"] = mask
    for name, kind in given.items():
        require(isinstance(kind, types.Array) and kind.ndim == 1, f"{routine}: {name} has one dimension, got {kind}")


def _register(name: str, move: Any) -> None:
    """Register a routine and its work-group form."""

    @device(getattr(indexed, name))
    def _alone(dest, source, indices, pe, mask=None):
        _check(name, dest, source, indices, pe, mask)
        return lambda dest, source, indices, pe, mask=None: move(
            as_words(dest), as_words(source), indices, pe, mask, 0, 1
        )

    @device(getattr(indexed, f"{name}_work_group"))
    def _by_group(dest, source, indices, pe, group, mask=None):
        _check(f"{name}_work_group", dest, source, indices, pe, mask)

        def impl(dest, source, indices, pe, group, mask=None):
            group_barrier(group)
            move(as_words(dest), as_words(source), indices, pe, mask, rank_in(group), size_of(group))
            group_barrier(group)

        return impl


_register("ixput", put_elements)
_register("ixget", get_elements)
