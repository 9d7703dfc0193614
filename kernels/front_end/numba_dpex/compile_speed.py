"""Leaves out work of numba and numba-dpex that a compilation does not need.

A kernel calls tens of device functions, and each is a compilation of its own. The results are the same.
"""

from __future__ import annotations

import importlib.util
from typing import Any

from numba.core import compiler_machinery
from numba.np import linalg
from numba_dpex.dpctl_iface import dpctlimpl
from numba_dpex.dpnp_iface import dpnpimpl
from numba_dpex.kernel_api_impl.spirv import printimpl, target
from numba_dpex.kernel_api_impl.spirv.math import mathimpl
from numba_dpex.kernel_api_impl.spirv.target import SPIRVTargetContext

_REGISTRIES = (
    mathimpl.registry, dpnpimpl.registry, printimpl.registry, dpctlimpl.registry, target.spirv_registry,
)  # fmt: skip


def install() -> None:
    """Replace the functions that do such work."""
    SPIRVTargetContext.load_additional_registries = _load_registries
    # numba describes the flags of a function to listeners at each pass; pretty printing takes 10 % of a compilation.
    compiler_machinery.pformat = str
    # numba imports scipy.linalg at the first launch to see whether it can, which takes 0.1 s.
    linalg.ensure_blas = _require_scipy


def _load_registries(self: Any) -> None:
    """Install what is new in the registries: numba-dpex appends all mathematical functions again at each call.

    numba calls this several times for each device function and searches all copies for each operator.
    """
    is_first = dpnpimpl.registry not in self._registries
    for registry in _REGISTRIES:
        self.install_registry(registry)
    if is_first:
        self.replace_dpnp_ufunc_with_ocl_intrinsics()


def _require_scipy() -> None:
    """Raise ``ImportError`` where scipy is missing, whose BLAS numba uses."""
    if importlib.util.find_spec("scipy") is None:
        raise ImportError("scipy is not installed")
