"""Copies by one work-item or by a whole work-group, in the widest units that the alignment of both addresses allows."""

from __future__ import annotations

import numpy as np

from . import type_checks
from .intrinsics import bytes_of, compiled, device_function, move, move_block, rank_in, size_of
from .options import PROXIED
from .peers import on_peer
from .proxy import Move, reachable, start_by_proxy
from .work_division import work_item_share, workers_of

WIDEST = 16  # bytes; Intel's compiler splits wider accesses of a work-item
FEW_BYTES = 64  # more than one wide unit
FEW = 4  # for at most this many elements, checking for wider units costs more than it saves
UNITS = 4  # that one work-item has under way at the same time
BLOCK = UNITS * WIDEST


_BYTE, _BY_2, _BY_4, _BY_8, _WIDE = (
    (np.uint8(0),), (np.uint16(0),), (np.uint32(0),), (np.uint64(0),), (np.uint32(0),) * 4,
)  # fmt: skip
"""Words as tuples: their type tells functions the size."""


@compiled
def _copy_units(word, to, origin, nbytes, rank, size):
    """Copy the share of work-item ``rank`` of ``size`` in words."""
    unit = bytes_of(word)
    first, step, end = work_item_share(nbytes // unit, rank, size)
    skipped, left, stride = first * unit, (end - first) * unit - 1, step * unit
    _copy_every(word, to + skipped, origin + skipped, left, stride)


@compiled
def _copy_end(word, to, origin, nbytes, rank, size):
    """Copy less than one wide unit, which is too short to be divided among work-items."""
    skipped = rank * bytes_of(word)
    _copy_every(word, to + skipped, origin + skipped, nbytes - skipped - 1, size * bytes_of(word))


@compiled
def _copy_every(word, to, origin, left, stride):
    """Copy the words that begin every ``stride`` bytes, the last one at most ``left`` bytes after the first."""
    while left >= 0:  # counts down: on a GPU a 64-bit sign test is cheaper than a comparison
        move(word, to, origin)
        to += stride
        origin += stride
        left -= stride


@compiled
def is_wide(to, origin, nbytes):
    """Return whether `copy_wide` can copy ``nbytes`` bytes between two addresses."""
    return (to | origin | nbytes) & (WIDEST - 1) == 0


@device_function
def copy_wide(to, origin, nbytes, group):
    """Copy this work-item's share in wide units; a work-item alone copies blocks of them."""
    if not type_checks.absent(group):
        return lambda to, origin, nbytes, group: _copy_units(
            _WIDE, to, origin, nbytes, rank_in(group), size_of(group)
        )

    def impl(to, origin, nbytes, group):
        left = nbytes - BLOCK
        while left >= 0:
            move_block(UNITS, WIDEST, to, origin)
            to += BLOCK
            origin += BLOCK
            left -= BLOCK
        _copy_units(_WIDE, to, origin, left + BLOCK, 0, 1)

    return impl


@compiled
def _copy_between_ends(word, to, origin, nbytes, rank, size):
    """Copy in wide units, with words at head and tail, between addresses that align equally."""
    head = -to & (WIDEST - 1)
    body = (nbytes - head) & -WIDEST
    done = head + body
    _copy_end(word, to, origin, head, rank, size)
    _copy_units(_WIDE, to + head, origin + head, body, rank, size)
    _copy_end(word, to + done, origin + done, nbytes - done, rank, size)


@compiled
def _copy_words(word, few, to, origin, nbytes, rank, size):
    """Copy words; at most ``few`` bytes are not worth the checks for wider units."""
    if is_wide(to, origin, nbytes):
        _copy_units(_WIDE, to, origin, nbytes, rank, size)
    elif nbytes > few and not (to ^ origin) & (WIDEST - 1):
        _copy_between_ends(word, to, origin, nbytes, rank, size)
    else:
        _copy_units(word, to, origin, nbytes, rank, size)


@compiled
def copy_bytes(to, origin, nbytes, rank, size):
    """Copy the share of work-item ``rank`` of ``size`` in ``nbytes`` bytes; one function serves all dtypes."""
    misaligned = to | origin | nbytes
    if is_wide(to, origin, nbytes):
        _copy_units(_WIDE, to, origin, nbytes, rank, size)
    elif nbytes > FEW_BYTES and not (to ^ origin) & (WIDEST - 1):
        _copy_between_ends(_BYTE, to, origin, nbytes, rank, size)
    elif not misaligned & 7:
        _copy_units(_BY_8, to, origin, nbytes, rank, size)
    elif not misaligned & 3:
        _copy_units(_BY_4, to, origin, nbytes, rank, size)
    else:
        _copy_units(_BYTE, to, origin, nbytes, rank, size)


_words = {1: _BYTE, 2: _BY_2, 4: _BY_4, 8: _BY_8, 16: _BY_8}


@device_function
def copy_elements(like, to, origin, count, rank, size):
    """Copy ``count`` elements of the dtype of ``like``, as work-item ``rank`` of ``size``.

    The two address ranges must be disjoint or identical.
    """
    itemsize = getattr(like.dtype, "bitwidth", 8) // 8  # numba's bool has no such attribute
    word, unit = _words[itemsize], min(itemsize, 8)
    units, few = itemsize // unit, max(FEW * itemsize, WIDEST)  # so that the head is shorter than the whole range

    def impl(like, to, origin, count, rank, size):
        if count == 1:
            if rank == 0:
                for part in range(0, itemsize, unit):  # as integers: an Arc has no float64
                    move(word, to + part, origin + part)
        elif rank < count * units:  # of a large group with a short copy, most work-items have nothing to do
            _copy_words(word, few, to, origin, count * itemsize, rank, size)

    return impl


@compiled
def copy_steps(to, origin, to_step, from_step, item, count, workers):
    """Copy ``count`` strided elements of ``item`` bytes: the share of one of the workers; steps are in elements."""
    if to_step == 1 and from_step == 1:
        copy_bytes(to, origin, count * item, workers.rank, workers.width)
    else:
        first, step, end = work_item_share(count, workers.rank, workers.width)
        for i in range(first, end, step):
            copy_bytes(to + i * to_step * item, origin + i * from_step * item, item, 0, 1)


@compiled
def _blocks(to, origin, to_step, from_step, item, count):
    """Return the `Move` of strided elements, of one block if they are adjacent."""
    if to_step == 1 and from_step == 1:
        return Move(to, origin, 0, 0, count * item, min(count, 1))
    return Move(to, origin, to_step * item, from_step * item, item, count)


@compiled
def put_steps(pe, to, origin, to_step, from_step, item, count, workers):
    """Put strided elements as `copy_steps` copies them; both addresses are those on this PE.

    Puts and gets through the proxy are complete after the next `complete_before_flag`. With a `Move` as argument, small
    collectives executed two instructions more on a B580.
    """
    if not PROXIED or reachable(pe):
        copy_steps(on_peer(to, pe), origin, to_step, from_step, item, count, workers)
    else:
        start_by_proxy(1, pe, _blocks(to, origin, to_step, from_step, item, count), workers)


@compiled
def get_steps(pe, to, origin, to_step, from_step, item, count, workers):
    """Get strided elements, as `put_steps` puts them."""
    if not PROXIED or reachable(pe):
        copy_steps(to, on_peer(origin, pe), to_step, from_step, item, count, workers)
    else:
        start_by_proxy(0, pe, _blocks(to, origin, to_step, from_step, item, count), workers)


@compiled
def put_bytes(pe, to, origin, nbytes, group):
    """Put ``nbytes`` bytes as `put_steps` does, by the work-items of a group."""
    put_steps(pe, to, origin, 1, 1, 1, nbytes, workers_of(group))


@compiled
def get_bytes(pe, to, origin, nbytes, group):
    """Get ``nbytes`` bytes as `get_steps` does, by the work-items of a group."""
    get_steps(pe, to, origin, 1, 1, 1, nbytes, workers_of(group))
