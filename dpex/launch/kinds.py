"""The types of kernel arguments as plain values, which need no compiler.

A kernel that has been compiled before, or is in the cache, is launched without numba. `dpex.compile.types` turns a kind
into a type of numba. Besides the classes here, the name of a dtype of numpy is a kind, and so is any type of numba.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class ItemKind(NamedTuple):
    """`kernel_api.Item`, or `kernel_api.NdItem` if the launch has work-groups."""

    ndim: int
    has_groups: bool


class ArrayKind(NamedTuple):
    """A ``dpnp.ndarray`` or ``usm_ndarray``."""

    is_dpnp: bool
    dtype: str
    ndim: int
    layout: str
    writable: bool


class LocalKind(NamedTuple):
    """`kernel_api.LocalAccessor`."""

    dtype: str
    ndim: int


class TupleKind(NamedTuple):
    """A tuple."""

    parts: tuple[Any, ...]
