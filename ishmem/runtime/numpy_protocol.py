"""numpy's array protocol for dpnp arrays: ``np.asarray(a)`` has the elements of ``a``.

dpnp 0.15 does not implement it, so numpy treats a dpnp array as a sequence and returns an array of objects.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def install() -> None:
    """Add the protocol to dpnp's arrays, unless they have it."""
    import dpnp

    if not hasattr(dpnp.ndarray, "__array__"):
        dpnp.ndarray.__array__ = _as_numpy


def _as_numpy(array: Any, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
    """Return a copy of a dpnp array in host memory; ``copy=False`` raises ``ValueError``."""
    if copy is False:
        raise ValueError("a dpnp array becomes a numpy array by a copy; use ishmem.host_view(a) for symmetric ones")
    host: np.ndarray[Any, Any] = array.asnumpy()
    return host if dtype is None else host.astype(dtype, copy=False)
