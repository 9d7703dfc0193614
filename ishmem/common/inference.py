"""The workspace of `ishmem.inference`: a header, then two halves of slots. It needs only the standard library."""

from __future__ import annotations

from ishmem.common.layout import LINE

TICKET, FINISHED, CALL = 0, LINE, 2 * LINE
"""Offsets in bytes: of the number of chunks that work-groups have taken in this call, of the work-groups that have
completed it, and of the number of the call, from 1 on."""

SLOTS = 3 * LINE
"""Offset of the slots."""

WORD = 4
"""Bytes of a message in a slot of 8."""

CHUNK = 1024
"""Words that a work-group takes at once."""

PIECE = 256
"""Words of a chunk of which one member computes the sum, in the two-shot form."""
