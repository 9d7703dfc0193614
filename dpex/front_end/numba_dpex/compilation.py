"""Changes to numba-dpex's compilation: no unnecessary work, no files, and no copies of a function's end.

A kernel calls tens of device functions, and each is a compilation of its own. The results are the same.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import sys
from typing import Any

from numba.core import compiler_machinery
from numba.np import linalg
from numba_dpex.core.pipelines.kernel_compiler import KernelCompiler
from numba_dpex.core.utils.call_kernel_builder import SPIRVKernelModule
from numba_dpex.dpctl_iface import dpctlimpl
from numba_dpex.dpnp_iface import dpnpimpl
from numba_dpex.kernel_api_impl.spirv import printimpl, spirv_generator, target
from numba_dpex.kernel_api_impl.spirv.dispatcher import _SPIRVKernelCompiler
from numba_dpex.kernel_api_impl.spirv.math import mathimpl
from numba_dpex.kernel_api_impl.spirv.target import SPIRVTargetContext

from ...compile.duplicate_returns import share_ends
from ...extension import installed

_REGISTRIES = (
    mathimpl.registry, dpnpimpl.registry, printimpl.registry, dpctlimpl.registry, target.spirv_registry,
)  # fmt: skip

_to_spirv, _compile_bytecode = _SPIRVKernelCompiler._compile_to_spirv, KernelCompiler._compile_bytecode


def install() -> None:
    """Replace functions of numba and numba-dpex by those of this module."""
    SPIRVTargetContext.load_additional_registries = _load_registries
    # numba formats the flags of a function for listeners at each pass; pretty printing takes 10 % of a compilation.
    compiler_machinery.pformat = str
    # numba imports scipy.linalg at the first launch to check that it is installed, which takes 0.1 s.
    linalg.ensure_blas = _require_scipy
    spirv_generator.Module = _Module
    _SPIRVKernelCompiler._compile_to_spirv = _transformed
    if sys.version_info >= (3, 10):  # CPython 3.9 makes no copies of ends
        KernelCompiler._compile_bytecode = _with_shared_ends


def _load_registries(self: Any) -> None:
    """Install the new entries of the registries; numba-dpex's method appends all mathematical functions at each call.

    numba calls this several times for each device function and searches all copies for each operator.
    """
    is_first = dpnpimpl.registry not in self._registries
    for registry in _REGISTRIES:
        self.install_registry(registry)
    if is_first:
        self.replace_dpnp_ufunc_with_ocl_intrinsics()


def _require_scipy() -> None:
    """Raise ``ImportError`` if scipy is not installed; numba uses its BLAS."""
    if importlib.util.find_spec("scipy") is None:
        raise ImportError("scipy is not installed")


@functools.wraps(_to_spirv)
def _transformed(compiler: Any, *arguments: Any) -> SPIRVKernelModule:
    """Return the compiled kernel with its SPIR-V transformed by the extension."""
    module = _to_spirv(compiler, *arguments)
    return module._replace(kernel_bitcode=installed().transform(module.kernel_bitcode))


@functools.wraps(_compile_bytecode)
def _with_shared_ends(self: Any) -> Any:
    """Compile the bytecode after merging the copies of a function's end; see `dpex.compile.duplicate_returns`."""
    share_ends(self.state)
    return _compile_bytecode(self)


class _Module(spirv_generator.Module):  # type: ignore[misc]
    """Translates a module by files in memory, so that a process that is killed during it leaves no files behind."""

    def __init__(self, context: Any, llvmir: str, llvmbc: bytes) -> None:
        self.context, self._llvmir, self._llvmbc, self._llvmfile = context, llvmir, llvmbc, None
        self._finalized = False
        self._tempfiles: list[int] = []

    def __del__(self) -> None:
        for file in self._tempfiles:
            os.close(file)

    def _track_temp_file(self, name: str) -> str:
        """Return the path of a new file in memory, valid in this process and the translator."""
        self._tempfiles.append(os.memfd_create(name))
        process = os.readlink("/proc/self")  # not getpid: in a namespace, /proc may know another number
        return f"/proc/{process}/fd/{self._tempfiles[-1]}"
