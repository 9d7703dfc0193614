"""Messages of hosts and kernels for two arrays whose sizes do not match."""

from __future__ import annotations


def unequal(dest: int, source: int) -> str:
    """Return the message for arrays of different sizes without ``nelems``."""
    return f"dest has {dest} elements and source has {source}; pass equal slices, or nelems="


def too_many(nelems: int, dest: int, source: int) -> str:
    """Return the message for arrays with fewer than ``nelems`` elements."""
    return f"nelems is {nelems}; dest has {dest} elements and source has {source}"
