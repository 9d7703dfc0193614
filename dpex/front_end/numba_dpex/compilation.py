"""A compilation of numba-dpex without work that it does not need, files and copies of a function's ends.

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
    """Replace functions of numba and numba-dpex."""
    SPIRVTargetContext.load_additional_registries = _load_registries
    # numba describes the flags of a function to listeners at each pass; pretty printing takes 10 % of a compilation.
    compiler_machinery.pformat = str
    # numba imports scipy.linalg at the first launch to see whether it can, which takes 0.1 s.
    linalg.ensure_blas = _require_scipy
    spirv_generator.Module = _Module
    _SPIRVKernelCompiler._compile_to_spirv = _transformed
    if sys.version_info >= (3, 10):  # CPython 3.9 makes no copies of ends
        KernelCompiler._compile_bytecode = _with_shared_ends


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


@functools.wraps(_to_spirv)
def _transformed(compiler: Any, *arguments: Any) -> SPIRVKernelModule:
    """Apply the extension to the SPIR-V of a kernel."""
    module = _to_spirv(compiler, *arguments)
    return module._replace(kernel_bitcode=installed().transform(module.kernel_bitcode))


@functools.wraps(_compile_bytecode)
def _with_shared_ends(self: Any) -> Any:
    """Join the copies of each end of a function: a group has to be in the same call of an operation."""
    share_ends(self.state)
    return _compile_bytecode(self)


class _Module(spirv_generator.Module):  # type: ignore[misc]
    """Translates a module by files in memory: a process that is killed while it compiles leaves none behind."""

    def __init__(self, context: Any, llvmir: str, llvmbc: bytes) -> None:
        self.context, self._llvmir, self._llvmbc, self._llvmfile = context, llvmir, llvmbc, None
        self._finalized = False
        self._tempfiles: list[int] = []

    def __del__(self) -> None:
        for file in self._tempfiles:
            os.close(file)

    def _track_temp_file(self, name: str) -> str:
        """Return the path of a new file, for this process and the translator."""
        self._tempfiles.append(os.memfd_create(name))
        process = os.readlink("/proc/self")  # not getpid: in a namespace, /proc may know another number
        return f"/proc/{process}/fd/{self._tempfiles[-1]}"
