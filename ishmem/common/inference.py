"""The layout of the workspace of `ishmem.inference`: a header, then two halves of slots."""

from __future__ import annotations

from ishmem.common.layout import LINE

TICKET, FINISHED, CALL = 0, LINE, 2 * LINE
"""Offsets in bytes: of the number of chunks that work-groups have begun in this call, of the work-groups that have
completed it, and of the number of the call, from 1 on."""

TEAM = CALL + 8
"""Offset of the handle of the team."""

ONE_SHOT = CALL + 16
"""Offset of the number of words up to which an all-reduce is one-shot."""

GROUPS, LEAST_GROUPS = CALL + 24, CALL + 32
"""Offsets of the work-groups that this PE runs at the same time, and the least number of any PE of the team."""

SLOTS = 3 * LINE
"""Offset of the slots: two halves, each of which begins with the words by which members publish their calls."""

TOLD = 2
"""Words by which a member publishes its call under ISHMEM_CHECK: the call id, and the number of elements."""

ONE_SHOT_BYTES = 256 * 1024
"""All-reduces of at most this many bytes are one-shot by default: each PE sends its whole message to all peers."""

WORD = 4
"""Bytes of a message in a slot of 8."""

CHUNK = 1024
"""Words that a work-group processes at once."""

PIECE = 256
"""Words of a chunk that one member sums, in the two-shot form."""


def workspace_words(words: int, size: int, one_shot_words: int) -> int:
    """Return the size of the workspace, in words of 8 bytes, for ``size`` PEs and messages of ``words`` words.

    Those words have `WORD` bytes; messages of up to ``one_shot_words`` of them are one-shot. Kernels call it, too.
    """
    one_shot = size * min(words, one_shot_words)
    in_pieces = (words + size * PIECE - 1) // (size * PIECE) * size * PIECE
    return SLOTS // 8 + 2 * (TOLD * size + max(one_shot, 2 * in_pieces))
