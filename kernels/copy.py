"""Copies by one work-item or by a whole work-group, in the widest units that the alignment of both addresses allows.

They copy from address ``origin`` to address ``to``; ``rank`` and ``size`` are a work-item's number and their number.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .intrinsics import compiled, copy_word, copy_words, device_function, rank_in, size_of
from .options import PROXIED
from .peers import on_peer
from .proxy import Move, itemsize, reachable, start_by_proxy
from .work_division import work_item_share, workers_of

WIDEST = 16  # bytes; Intel's compiler splits wider accesses of a work-item
FEW_BYTES = 64  # more than one wide unit
FEW = 4  # for at most this many elements, checking for wider units costs more than it saves
UNITS = 4  # in flight at the same time in one work-item
BLOCK_BYTES = UNITS * WIDEST


_BYTE, _BY_2, _BY_4, _BY_8, _WIDE = (
    (np.uint8(0),), (np.uint16(0),), (np.uint32(0),), (np.uint64(0),), (np.uint32(0),) * 4,
)  # fmt: skip
"""Words as tuples of integers; functions derive the size of a word from the type."""
_words = {1: _BYTE, 2: _BY_2, 4: _BY_4, 8: _BY_8, 16: _BY_8}


def _make_plain_copier(word: Any) -> Any:
    """Make a function that copies in words. One function for all words made puts take more instructions on a Max."""
    unit = sum(part.itemsize for part in word)

    @compiled
    def copy_units(to, origin, nbytes, rank, size):
        first, step, end = work_item_share(nbytes // unit, rank, size)
        skipped, left, stride = first * unit, (end - first) * unit - 1, step * unit
        to, origin = to + skipped, origin + skipped
        while left >= 0:  # counts down: on a GPU a 64-bit sign test is cheaper than a comparison
            copy_word(word, to, origin)
            to += stride
            origin += stride
            left -= stride

    return copy_units


def _make_end_copier(word: Any) -> Any:
    """Make a function that copies less than one wide unit in words, without `work_item_share`."""
    unit = sum(part.itemsize for part in word)

    @compiled
    def copy_end(to, origin, nbytes, rank, size):
        skipped, left, stride = rank * unit, nbytes - rank * unit - 1, size * unit
        to, origin = to + skipped, origin + skipped
        while left >= 0:
            copy_word(word, to, origin)
            to += stride
            origin += stride
            left -= stride

    return copy_end


_bytewise, _by_2, _by_4, _by_8, _wide = map(_make_plain_copier, (_BYTE, _BY_2, _BY_4, _BY_8, _WIDE))


@compiled
def is_wide(to, origin, nbytes):
    """Return whether `copy_wide` can copy: both addresses and ``nbytes`` are multiples of `WIDEST`."""
    return (to | origin | nbytes) & (WIDEST - 1) == 0


@compiled
def copy_wide(to, origin, nbytes, group):
    """Copy this work-item's share of ``nbytes`` bytes in units of 16 bytes, if `is_wide`; without a group, all."""
    if group is not None:
        _wide(to, origin, nbytes, rank_in(group), size_of(group))
    else:
        left = nbytes - BLOCK_BYTES
        while left >= 0:
            copy_words(UNITS, WIDEST, to, origin)
            to += BLOCK_BYTES
            origin += BLOCK_BYTES
            left -= BLOCK_BYTES
        _wide(to, origin, left + BLOCK_BYTES, 0, 1)


@compiled
def copy_by_group(to, origin, nbytes, group):
    """Copy this work-item's share of ``nbytes`` bytes from address ``origin`` to address ``to``."""
    copy_bytes(to, origin, nbytes, rank_in(group), size_of(group))


def _make_copier(word: Any, few: int, narrow: Any) -> Any:
    """Make a function that copies in wide units, head and tail in words; few or misaligned bytes by ``narrow``."""
    copy_end = _make_end_copier(word)

    @compiled
    def copy(to, origin, nbytes, rank, size):
        if is_wide(to, origin, nbytes):
            _wide(to, origin, nbytes, rank, size)
        elif nbytes > few and not (to ^ origin) & (WIDEST - 1):
            head = -to & (WIDEST - 1)
            body = (nbytes - head) & -WIDEST
            done = head + body
            copy_end(to, origin, head, rank, size)
            _wide(to + head, origin + head, body, rank, size)
            copy_end(to + done, origin + done, nbytes - done, rank, size)
        else:
            narrow(to, origin, nbytes, rank, size)

    return copy


_narrow = {1: _bytewise, 2: _by_2, 4: _by_4, 8: _by_8, 16: _by_8}
# More than one wide unit, so that the head is shorter than the whole range.
_copiers = {
    size: _make_copier(_words[size], max(FEW * size, WIDEST), narrow) for size, narrow in _narrow.items()
}


@compiled
def _as_aligned(to, origin, nbytes, rank, size):
    misaligned = to | origin | nbytes
    if not misaligned & 7:
        _by_8(to, origin, nbytes, rank, size)
    elif not misaligned & 3:
        _by_4(to, origin, nbytes, rank, size)
    else:
        _bytewise(to, origin, nbytes, rank, size)


copy_bytes = _make_copier(_BYTE, FEW_BYTES, _as_aligned)
"""Copies the share of work-item ``rank`` of ``size`` in ``nbytes`` bytes; one function serves all dtypes."""


@device_function
def copy_elements(like, to, origin, count, rank, size):
    """Copy ``count`` elements of the dtype of ``like``, as work-item ``rank`` of ``size``.

    The two address ranges must be disjoint or identical.
    """
    size_of_item = itemsize(like)
    copy, word, unit = _copiers[size_of_item], _words[size_of_item], min(size_of_item, 8)
    units = size_of_item // unit

    def copy_share(like, to, origin, count, rank, size):
        if count == 1:
            if rank == 0:
                for part in range(0, size_of_item, unit):  # as integers: an Arc has no float64
                    copy_word(word, to + part, origin + part)
        elif rank < count * units:  # of a large group with a short copy, most work-items have nothing to do
            copy(to, origin, count * size_of_item, rank, size)

    return copy_share


@compiled
def copy_steps(to, origin, to_step, from_step, item, count, workers):
    """Copy this work-item's share of ``count`` elements of ``item`` bytes; the steps between them are in elements."""
    if to_step == 1 and from_step == 1:
        copy_bytes(to, origin, count * item, workers.rank, workers.width)
    else:
        first, step, end = work_item_share(count, workers.rank, workers.width)
        for i in range(first, end, step):
            copy_bytes(to + i * to_step * item, origin + i * from_step * item, item, 0, 1)


@compiled
def _blocks(to, origin, to_step, from_step, item, count):
    """Return the `Move` of strided elements; a single block if they are adjacent."""
    if to_step == 1 and from_step == 1:
        return Move(to, origin, 0, 0, count * item, min(count, 1))
    return Move(to, origin, to_step * item, from_step * item, item, count)


@compiled
def put_steps(pe, to, origin, to_step, from_step, item, count, workers):
    """Put ``count`` strided elements at ``origin`` to ``to`` on PE ``pe``, as an address of this PE; see `copy_steps`.

    Puts and gets through the proxy are complete after the next `complete_before_flag`. With a `Move` as argument, small
    collectives executed two instructions more on a B580.
    """
    if not PROXIED or reachable(pe):
        copy_steps(on_peer(to, pe), origin, to_step, from_step, item, count, workers)
    else:
        start_by_proxy(True, 0, pe, _blocks(to, origin, to_step, from_step, item, count), workers)


@compiled
def get_steps(pe, to, origin, to_step, from_step, item, count, workers):
    """Get ``count`` strided elements at ``origin`` of PE ``pe``, as an address of this PE; see `copy_steps`."""
    if not PROXIED or reachable(pe):
        copy_steps(to, on_peer(origin, pe), to_step, from_step, item, count, workers)
    else:
        start_by_proxy(False, 0, pe, _blocks(to, origin, to_step, from_step, item, count), workers)


@compiled
def put_bytes(pe, to, origin, nbytes, group):
    """Put ``nbytes`` bytes to PE ``pe`` as `put_steps` does, shared by the work-items of a group."""
    put_steps(pe, to, origin, 1, 1, 1, nbytes, workers_of(group))


@compiled
def get_bytes(pe, to, origin, nbytes, group):
    """Get ``nbytes`` bytes from PE ``pe`` as `get_steps` does, shared by the work-items of a group."""
    get_steps(pe, to, origin, 1, 1, 1, nbytes, workers_of(group))
