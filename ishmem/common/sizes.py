"""Sizes in bytes as text, such as ``512M``."""

from __future__ import annotations

import re
from decimal import Decimal

_SIZE = re.compile(r"(\d+)B?|(\d+(?:\.\d*)?|\.\d+)([KMGT])(?:I?B)?", re.ASCII | re.IGNORECASE)
_UNITS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}
_LARGEST = 2**63 - 1


def parse_size(text: str | int) -> int:
    """Return the bytes of a size such as ``4096``, ``512M`` or ``1.5GB``; units are powers of 1024, fractions need one.

    Raises:
        ValueError: The text is no size, or the size is 0 or does not fit into 63 bits.
    """
    match = _SIZE.fullmatch(str(text).strip())
    number, unit = (match[1] or match[2], match[3] or "") if match else ("0", "")
    size = int(Decimal(number) * 2 ** _UNITS[unit.upper()]) if len(number) < 40 else 0
    if not 0 < size <= _LARGEST:
        raise ValueError(f"not a size: {text!r}")
    return size


def format_size(size: int) -> str:
    """Return a size as text for `parse_size`, in the largest unit that divides it."""
    unit = next(unit for unit in "TGMK " if size % 2 ** _UNITS[unit.strip()] == 0)
    return f"{size >> _UNITS[unit.strip()]}{unit.strip()}"
