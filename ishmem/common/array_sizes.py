"""What hosts and kernels say of two arrays whose sizes do not match."""

from __future__ import annotations


def unequal(dest: int, source: int) -> str:
    """Return why a call without ``nelems`` takes no arrays of different sizes."""
    return f"dest has {dest} elements and source has {source}; pass equal slices, or nelems="


def too_many(nelems: int, dest: int, source: int) -> str:
    """Return why ``nelems`` elements are not moved."""
    return f"nelems is {nelems}; dest has {dest} elements and source has {source}"
