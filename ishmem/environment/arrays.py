"""``tensor``: the module of ``usm_ndarray``, which was ``dpctl.tensor`` up to dpctl 0.21 and is ``dpnp.tensor`` since.

A ``dpnp.ndarray`` wraps a ``usm_ndarray``. Importing this module loads the SYCL stack.
"""

from __future__ import annotations

import importlib

from ishmem.environment import pinned_libraries

tensor = importlib.import_module("dpctl.tensor" if pinned_libraries.apply() else "dpnp.tensor")
tensor_impl = importlib.import_module(f"{tensor.__name__}._tensor_impl")
"""Its copies that neither wait nor create arrays."""
