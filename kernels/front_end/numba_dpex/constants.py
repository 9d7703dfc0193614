"""Sets the specialisation constants of this process in the kernels that it compiles."""

from __future__ import annotations

import functools
from typing import Any

from numba_dpex.core.utils.call_kernel_builder import SPIRVKernelModule
from numba_dpex.kernel_api_impl.spirv.dispatcher import _SPIRVKernelCompiler

from ishmem.dpex.extension import installed


def install() -> None:
    """Apply the extension to the SPIR-V of each kernel."""
    _SPIRVKernelCompiler._compile_to_spirv = _to_spirv


_compile = _SPIRVKernelCompiler._compile_to_spirv


@functools.wraps(_compile)
def _to_spirv(compiler: Any, *arguments: Any) -> SPIRVKernelModule:
    module = _compile(compiler, *arguments)
    return module._replace(kernel_bitcode=installed().transform(module.kernel_bitcode))
