"""Remote memory access by lists of indices inside kernels: the device forms of ``ishmem.indexed``."""

from __future__ import annotations

from typing import Any

from numba.core import types

from ishmem import indexed, rma
from ishmem.common.type_tables import STANDARD, STATUS_TYPES
from ishmem.common.violations import routine_number

from . import type_checks
from .forms import forms
from .intrinsics import as_words, compiled, device_function, group_barrier, require
from .runtime_checks import allowed, fits
from .work_division import workers_of

PUT, GET = map(routine_number, ("ixput", "ixget"))


@device_function
def is_chosen(mask, i):
    """Return whether a mask includes element ``i``; None includes all."""
    if type_checks.absent(mask):
        return lambda: True
    return lambda mask, i: mask[i] != 0


@device_function
def has_room(routine, mask, count):
    """Return whether a mask has ``count`` elements, True for None; report a violation of ``routine`` if not."""
    if type_checks.absent(mask):
        return lambda: True
    return lambda routine, mask, count: fits(routine, mask, -1, count)


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


def _make_body(put: int) -> Any:
    """Make the body of ``ixput`` (``put`` is 1) or ``ixget`` (0)."""
    routine = PUT if put else GET

    @compiled
    def move_elements(dest, source, indices, pe, mask, workers):
        """Put or get this work-item's share of the elements, one at a time."""
        local, remote = (source, dest) if put else (dest, source)
        if fits(routine, local, -1, indices.size) and has_room(routine, mask, indices.size):
            for i in range(workers.rank, indices.size, workers.width):
                if is_chosen(mask, i) and allowed(routine, remote, pe, indices[i], 1):
                    if put:
                        rma.p(dest, source[i], pe, indices[i])
                    else:
                        dest[i] = rma.g(source, pe, indices[i])

    def body(dest, source, indices, pe, group, mask=None):
        group_barrier(group)
        move_elements(as_words(dest), as_words(source), indices, pe, mask, workers_of(group))
        group_barrier(group)

    return body


forms(indexed, "ixput", _check, _make_body(1))
forms(indexed, "ixget", _check, _make_body(0))
