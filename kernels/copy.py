"""Copies by one work-item or by a whole work-group, in the widest units that the alignment of both addresses allows."""

from __future__ import annotations

from typing import Any

from numba_dpex import device_func

from . import binding
from .intrinsics import compiled, device_function, load, move, peer_delta, store
from .proxy import move_far, reachable

WIDEST = 16
FEW_BYTES = 64  # more than one wide unit
FEW = 4  # for at most this many elements, checking for wider units costs more than it saves


def _make_copier(unit: int) -> Any:
    @device_func
    def copy_units(to: int, origin: int, nbytes: int, rank: int, size: int) -> None:
        for position in range(rank * unit, nbytes, size * unit):
            move(unit, to + position, origin + position)

    return copy_units


_copiers = {unit: _make_copier(unit) for unit in (1, 2, 4, 8, 16)}


def _make_wide_copier(itemsize: int) -> Any:
    """Make the copy of elements: head and tail by elements, the body by wide units when both ends line up.

    A unit is 16 bytes, or 8 in a group, whose neighbouring work-items make one wide access of theirs.
    """
    narrow, words, wide = _copiers[min(itemsize, 8)], _copiers[8], _copiers[WIDEST]
    # More than one wide unit, so that the head is shorter than the whole.
    few = max(FEW * itemsize, WIDEST)

    @device_func
    def copy(to: int, origin: int, nbytes: int, rank: int, size: int) -> None:
        if nbytes <= few or (to ^ origin) & (WIDEST - 1):
            narrow(to, origin, nbytes, rank, size)
        else:
            head = -to & (WIDEST - 1)
            body = (nbytes - head) & -WIDEST
            narrow(to, origin, head, rank, size)
            if size == 1:
                wide(to + head, origin + head, body, rank, size)
            else:
                words(to + head, origin + head, body, rank, size)
            narrow(to + head + body, origin + head + body, nbytes - head - body, rank, size)

    return copy


_wide_copiers = {itemsize: _make_wide_copier(itemsize) for itemsize in (1, 2, 4, 8, 16)}


def _make_plain_copier(unit: int) -> Any:
    @compiled
    def copy_units(to, origin, nbytes, rank, size):
        position, step = rank * unit, size * unit
        while position < nbytes:
            move(unit, to + position, origin + position)
            position += step

    return copy_units


_bytewise, _by_4, _by_8, _wide = map(_make_plain_copier, (1, 4, 8, WIDEST))


@compiled
def copy_bytes(to, origin, nbytes, rank, size):
    """Copy the share of work-item ``rank`` of ``size`` in ``nbytes`` bytes; one function serves all dtypes."""
    misaligned = to | origin | nbytes
    if nbytes > FEW_BYTES and not (to ^ origin) & (WIDEST - 1):
        head = -to & (WIDEST - 1)
        body = (nbytes - head) & -WIDEST
        _bytewise(to, origin, head, rank, size)
        _wide(to + head, origin + head, body, rank, size)
        _bytewise(to + head + body, origin + head + body, nbytes - head - body, rank, size)
    elif not misaligned & 7:
        _by_8(to, origin, nbytes, rank, size)
    elif not misaligned & 3:
        _by_4(to, origin, nbytes, rank, size)
    else:
        _bytewise(to, origin, nbytes, rank, size)


@device_function
def copy_elements(like, to, origin, count, rank, size):
    """Copy ``count`` elements of the dtype of ``like``, as work-item ``rank`` of ``size``.

    The two address ranges must be disjoint or identical.
    """
    itemsize = getattr(like.dtype, "bitwidth", 8) // 8  # numba's bool has no such attribute
    copy = _wide_copiers[itemsize]

    def impl(like, to, origin, count, rank, size):
        if count == 1 and size == 1:
            store(to, like, load(origin, like))
        else:
            copy(to, origin, count * itemsize, rank, size)

    return impl


@compiled
def copy_steps(to, origin, to_step, from_step, item, count, rank, size):
    """Copy ``count`` strided elements of ``item`` bytes, as work-item ``rank`` of ``size``; steps are in elements."""
    if to_step == 1 and from_step == 1:
        copy_bytes(to, origin, count * item, rank, size)
    else:
        i = rank
        while i < count:
            copy_bytes(to + i * to_step * item, origin + i * from_step * item, item, 0, 1)
            i += size


@device_function
def transfer_steps(put, pe, to, origin, to_step, from_step, item, count, rank, size):
    """Put (``put`` is 1) or get (0) strided elements as `copy_steps` does; both addresses are given as on this PE."""

    def near(put, pe, to, origin, to_step, from_step, item, count, rank, size):
        delta = peer_delta(pe)
        copy_steps(to + put * delta, origin + (1 - put) * delta, to_step, from_step, item, count, rank, size)

    def either(put, pe, to, origin, to_step, from_step, item, count, rank, size):
        if reachable(pe):
            delta = peer_delta(pe)
            copy_steps(to + put * delta, origin + (1 - put) * delta, to_step, from_step, item, count, rank, size)
        elif to_step == 1 and from_step == 1:
            move_far(put, pe, to, origin, 0, 0, count * item, min(count, 1), rank, size)
        else:
            move_far(put, pe, to, origin, to_step * item, from_step * item, item, count, rank, size)

    return either if binding.options().proxied else near
