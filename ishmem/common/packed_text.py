"""Short texts as int64 words, in which kernels store them."""

from __future__ import annotations

import struct
from collections.abc import Sequence


def pack(text: str, count: int) -> tuple[int, ...]:
    """Return a text packed into ``count`` words of 8 ASCII characters (others: ``?``); a longer one loses its start."""
    data = text.encode("ascii", "replace")[-8 * count :].ljust(8 * count, b"\0")
    return struct.unpack(f"<{count}q", data)


def unpack(words: Sequence[int]) -> str:
    """Return the text that is packed in words."""
    return struct.pack(f"<{len(words)}q", *words).rstrip(b"\0").decode(errors="replace")
