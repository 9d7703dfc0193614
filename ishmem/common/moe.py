"""The layout of the workspace of `ishmem.moe`: rows, words and flags. It needs only the standard library.

A *list* contains the tokens that a PE sends to one destination: an expert, or a PE in the normal forms. The workspace
has a list for each expert on each side. The *halves* of a part serve calls of even and of odd numbers.

* rows: those of the lists received, in two halves; then the outputs come back, in two halves.
* words: the header, the lists sent, the lists received in two halves, the place of the output of each choice, and with
  ISHMEM_CHECK the sizes of the rows of each list received, in two halves. A word of a list holds a token in the upper
  half and its choice of the list, ``token * choices + choice``, in the lower one.
* flags: those of the lists received, in two halves; then those of the lists whose outputs have come back, of experts
  and of PEs. A flag holds the number of a call in the upper half and the length of the list in the lower one.
"""

from __future__ import annotations

TICKET, ENDED, DISPATCHES, COMBINES = 0, 1, 2, 3
"""Indices of the words that count, in a launch, the units of work that work-groups have taken, and the work-groups that
have ended; and the numbers of the next dispatch and the next combine, from 1 on."""

LISTS, MAX_TOKENS, OUTPUTS, ROW = 8, 9, 10, 11
"""Indices of the words that hold the number of lists, the tokens in each, the number of outputs, and the bytes of a
row."""

ROUNDS, MOST_ROUNDS = 12, 13
"""Indices of the words by which PEs agree on the rounds of a dispatch: that of this PE, and the largest of any PE."""

NEVER_SENDS = 0x7FFFFFFF << 32
"""The flag set for a list from a lost PE: its call number ends the waits of all calls, and it has no tokens."""

HEADER = 16
"""Words of the header."""


ALIGNMENT = 16
"""Alignment of rows in bytes, and size of the units in which they are copied."""

_CHOICE_BYTES = 12  # an index of int64 and a weight of float32


def row_bytes(token: int, topk: int) -> int:
    """Return the size in bytes of a row: a token of ``token`` bytes, and ``topk`` choices with their weights."""
    return -(-(token + topk * _CHOICE_BYTES) // ALIGNMENT) * ALIGNMENT


def sizes(lists: int, max_tokens: int, outputs: int, row: int) -> tuple[int, int, int]:
    """Return the size in bytes of the rows, the number of words and the number of flags of a workspace.

    It has ``lists`` lists of ``max_tokens`` tokens and ``outputs`` outputs on each side, in rows of ``row`` bytes.
    """
    words = HEADER + 3 * lists * max_tokens + outputs + 2 * lists
    return 2 * (lists * max_tokens + outputs) * row, words, 4 * lists
