"""The module of ``usm_ndarray``, which was ``dpctl.tensor`` up to dpctl 0.21 and is ``dpnp.tensor`` since.

A ``dpnp.ndarray`` wraps a ``usm_ndarray``. The first use of an attribute loads the SYCL stack:

* ``tensor``: the module.
* ``tensor_impl``: its extension, with copies that neither wait nor create arrays.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from ishmem.environment import pinned_libraries

tensor: Any
tensor_impl: Any


def __getattr__(name: str) -> Any:
    if name not in ("tensor", "tensor_impl"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    root = "dpctl.tensor" if pinned_libraries.apply() else "dpnp.tensor"
    found = globals()[name] = importlib.import_module(root if name == "tensor" else f"{root}._tensor_impl")
    return found


def byte_bounds(array: np.ndarray[Any, Any]) -> tuple[int, int]:
    """Return the addresses of the first byte of a numpy array and of that after its last."""
    low, high = getattr(np.lib, "array_utils", np).byte_bounds(array)  # numpy 2, numpy 1
    return low, high


def on_device(array: Any) -> bool:
    """Return whether an array is one of dpctl or dpnp, by its type: an array's attribute would wait for its queue."""
    return hasattr(type(array), "__sycl_usm_array_interface__")


def usm_array(array: Any) -> Any:
    """Return the ``usm_ndarray`` of a dpnp array, or the array itself.

    Its strides are in elements. Those of dpnp arrays are in bytes since dpnp 0.19.
    """
    return array.get_array() if hasattr(array, "get_array") else array
