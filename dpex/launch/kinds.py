"""The types of kernel arguments as plain values, called kinds, which need no compiler.

A kernel that has been compiled before, or is in the cache, is launched without numba. `dpex.compile.types` converts a
kind to a numba type. Besides the classes here, the name of a numpy dtype is a kind, and so is any numba type.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class ItemKind(NamedTuple):
    """The kind of `kernel_api.Item`, or of `kernel_api.NdItem` if the launch has work-groups."""

    ndim: int
    has_groups: bool


class ArrayKind(NamedTuple):
    """The kind of a ``dpnp.ndarray`` or ``usm_ndarray``; ``layout`` is ``"C"``, ``"F"`` or ``"A"`` as in numba."""

    is_dpnp: bool
    dtype: str
    ndim: int
    layout: str
    writable: bool


class LocalKind(NamedTuple):
    """The kind of `kernel_api.LocalAccessor`."""

    dtype: str
    ndim: int


class TupleKind(NamedTuple):
    """The kind of a tuple: the kinds of its elements."""

    parts: tuple[Any, ...]
