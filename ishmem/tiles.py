"""Collectives on 2-D tiles, views whose rows are not adjacent, on the host and on queues, without temporary copies.

Data are sent by puts of whole tiles; a reduction of tiles is a reduction of contiguous arrays for each row.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from ishmem import _core, memory, order, rma
from ishmem.common import error_texts
from ishmem.common.collective_table import COLLECTIVES, Combines
from ishmem.common.errors import SymmetryError
from ishmem.host_collectives import checks
from ishmem.host_collectives.collective_call import CheckedCall, Given, Members
from ishmem.runtime import agreement, check, job


def run(call: Callable[..., None], dest: Any, source: Any, team: Members, given: Given) -> None:
    """Run the collective ``call``, which the core declined, if its arrays are tiles; else raise their error."""
    routine = call.__name__
    if not _are_tiles(dest, source):
        checks.refuse(routine, dest, source, team, given)
    team.shape  # noqa: B018 - raises where this PE is not a member: no PE waits for it
    try:
        common = _checked(routine, dest, source, team, given)
    except Exception as error:
        checks.tell_refusal(routine, team, error)
        raise
    names = {"root": given.root, "dtype": given.dtype, "team": team}
    keywords = {name: value for name, value in names.items() if value is not None}
    # A call without elements raises on all members if the arguments of one are invalid or differ.
    call(dest[:0, :0], source[:0, :0], nelems=0, **keywords)
    agreement.agree(job.current(), routine, common, team.handle)
    if COLLECTIVES[routine].combines is Combines.NOTHING:
        _move(routine, dest, source, team, given.root)
    else:
        for row in range(len(source)):
            call(dest[row], source[row], **keywords)


def checked(routine: str, team: Members, dest: Any, source: Any, given: Given) -> CheckedCall:
    """Return the checked arguments of a call on tiles or contiguous arrays for the core, for tiles a count of -1.

    Raises the documented errors of ``routine``.
    """
    if not (COLLECTIVES[routine].tiles and _are_tiles(dest, source)):
        return checks.checked(routine, team, dest, source, given)
    _checked(routine, dest, source, team, given)
    return CheckedCall(-1)


def _are_tiles(dest: Any, source: Any) -> bool:
    orders = [facts and facts[3] for facts in map(_core.describe, (dest, source))]
    axes = {getattr(each, "ndim", 1) for each in (dest, source)}  # an array of ctypes has none
    return None not in orders and not all(orders) and axes == {2}


def _move(routine: str, dest: Any, source: Any, team: Members, root: Any) -> None:
    """Put this PE's tile to ``dest`` of all members if it is the root, or without a root to its block of ``dest``."""
    me, rows = team.my_pe(), len(source)
    to = dest if root is not None else dest[me * rows : (me + 1) * rows]
    in_place = check.view(to, "dest").address == check.view(source, "source").address
    try:
        for member in range(team.shape.size if root in (None, me) else 0):
            if member != me or not in_place:
                rma.put(to, source, team.shape.pe(member))
        order.quiet()
    finally:  # quiet raises errors of this PE's kernels; the other PEs must not wait for it then
        job.current().barrier(routine, team.handle)


def _checked(routine: str, dest: Any, source: Any, team: Members, given: Given) -> str:
    """Check the arguments of a call on tiles; return a text of the properties that must be equal on all members."""
    traits = COLLECTIVES[routine]
    to, origin = checks.arrays_of(routine, dest, source, given.dtype)
    if given.nelems is not None:
        raise ValueError(f"{routine}: {error_texts.TILES_WITH_NELEMS}")
    place, whole = _tile(routine, to)
    part = _tile(routine, origin)[1]
    blocks = team.shape.size if traits.dest_blocks else 1
    if to.shape != (blocks * origin.shape[0], origin.shape[1]):
        raise ValueError(
            f"{routine}: dest has the shape {to.shape} and source {origin.shape}; {error_texts.tile_rows(blocks)}"
        )
    if traits.has_root:
        team.world_pe(check.integer(given.root, "root"), "root")
    own = whole[team.my_pe() * len(part) :][: len(part)] if traits.dest_blocks else whole
    in_place = own.ctypes.data == part.ctypes.data and own.strides == part.strides
    if not in_place and np.shares_memory(whole, part):
        raise ValueError(f"{routine}: dest and source overlap; only a tile may be the other, or this PE's block of it")
    shape = f"of {origin.shape[0]} x {origin.shape[1]} elements of {to.dtype}"
    return shape if traits.combines is not Combines.NOTHING else f"{shape}, dest {place}"


def _tile(routine: str, a: check.View) -> tuple[str, np.ndarray[Any, Any]]:
    """Check a tile; return a text of its symmetric place, and a numpy array on its memory, for comparisons only."""
    steps, span, this = a.strides, memory.span_of(a.array), job.current()
    flat = len(a.shape) == 2 and a.count > 0
    apart = flat and (a.shape[1] == 1 or steps[1] == 1) and (a.shape[0] == 1 or steps[0] >= a.shape[1])
    if span is None or len(a.shape) != 2 or (flat and not apart):
        raise ValueError(
            f"{routine}: {a.name} has the shape {a.shape} and the strides {steps}; if an array is not contiguous, both "
            "are tiles in device memory: of 2 dimensions, with rows of consecutive elements one after the other"
        )
    low, nbytes = span[0], span[1] - span[0]
    if memory.distance(*span, this.pe) is None:
        check.symmetric(a)
        raise SymmetryError(f"{a.name} reaches outside its allocation: {a.array!r}")
    region = this.registered.find(low, nbytes)
    at = f"in registration {region.number}, byte {low - region.address}" if region else f"offset {low - this.heap.base}"
    bytes_ = (ctypes.c_char * nbytes).from_address(low)
    strides = tuple(step * a.itemsize for step in steps)
    return f"at {at}, rows {steps[0]} apart", np.ndarray(a.shape, f"V{a.itemsize}", bytes_, 0, strides)
