"""Work that numba and numba-dpex repeat while they compile a kernel, done once.

A kernel calls tens of device functions, and each is a compilation of its own. The results are the same.
"""

from __future__ import annotations

from typing import Any

from numba.core import compiler_machinery
from numba_dpex.dpctl_iface import dpctlimpl
from numba_dpex.dpnp_iface import dpnpimpl
from numba_dpex.kernel_api_impl.spirv import printimpl, target
from numba_dpex.kernel_api_impl.spirv.math import mathimpl
from numba_dpex.kernel_api_impl.spirv.target import SPIRVTargetContext

_REGISTRIES = (
    mathimpl.registry, dpnpimpl.registry, printimpl.registry, dpctlimpl.registry, target.spirv_registry,
)  # fmt: skip


def install() -> None:
    """Replace the methods that repeat work."""
    SPIRVTargetContext.load_additional_registries = _load_registries
    # numba describes the flags of a function to listeners at each pass; pretty printing takes 10 % of a compilation.
    compiler_machinery.pformat = str


def _load_registries(self: Any) -> None:
    """Install what is new in the registries: numba-dpex appends all mathematical functions again at each call.

    numba calls this several times for each device function and searches all copies for each operator.
    """
    is_first = dpnpimpl.registry not in self._registries
    for registry in _REGISTRIES:
        self.install_registry(registry)
    if is_first:
        self.replace_dpnp_ufunc_with_ocl_intrinsics()
