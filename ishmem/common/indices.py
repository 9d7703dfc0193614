"""The type of the argument ``index``."""

from __future__ import annotations

from typing import Union

Index = Union[int, tuple[int, ...]]
"""An element of an array: its index on each axis, or its number in C order (Fortran order, if the array is in that)."""
