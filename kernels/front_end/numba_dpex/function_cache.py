"""The code of device functions in the cache: LLVM bitcode that holds a function with all that it calls."""

from __future__ import annotations

import functools
import re
from typing import Any

from llvmlite import binding as llvm
from numba_dpex.kernel_api_impl.spirv.dispatcher import _SPIRVKernelCompiler

from ishmem.dpex.cache.function_cache import FunctionCache

from . import cache_key

_IDENTIFIED = re.compile(r"_24\d{19}")
"""How numba encodes ``$`` and the number of a function, if the cache has made it."""

_compile = _SPIRVKernelCompiler._compile_core


class DeviceFunctions(FunctionCache):
    """The cache of device functions that numba-dpex compiles."""

    def described(self, kind: Any) -> tuple[Any, ...]:
        """Return the type of an argument as plain values."""
        return cache_key.argument(kind)

    def key_parts(self) -> tuple[Any, ...]:
        """Return versions and settings that compiled code depends on."""
        return cache_key.key_parts()

    def code(self, result: Any, key: str) -> bytes:
        """Return bitcode; a name that it defines has one meaning in all processes."""
        module = llvm.parse_bitcode(result.library._get_module_for_linking().as_bitcode())
        for function in module.functions:
            if not function.is_declaration and not _IDENTIFIED.search(function.name):
                function.name = f"{function.name}_{key}"
        return bytes(module.as_bitcode())

    def library(self, target_context: Any, name: str, code: bytes) -> Any:
        """Return the library of code from the cache."""
        return target_context.codegen().unserialize_library((name, "bitcode", code))


_functions = DeviceFunctions()


def install() -> None:
    """Replace the method that compiles a device function: numba has caches for functions of the host only."""
    _SPIRVKernelCompiler._compile_core = _compile_or_load


def _compile_or_load(compiler: Any, arguments: tuple[Any, ...], return_type: Any) -> Any:
    return _functions.result(compiler, arguments, functools.partial(_compile, compiler, arguments, return_type))
