"""The cache of kernels on disk: a kernel that any process has compiled before is loaded instead of compiled.

It holds the SPIR-V that numba-dpex hands to the driver. Constants that differ between processes are set
when a kernel is loaded.
"""

from __future__ import annotations

import functools
import logging
import weakref
from typing import Any, NamedTuple

from numba_dpex.core.utils.call_kernel_builder import SPIRVKernelModule
from numba_dpex.kernel_api_impl.spirv.dispatcher import SPIRVKernelDispatcher
from numba_dpex.kernel_api_impl.spirv.target import CompilationMode

from ishmem.dpex.cache import locations
from ishmem.dpex.cache.cache_key import NoKeyError
from ishmem.dpex.extension import installed

from . import function_cache
from .cache_key import key

log = logging.getLogger("ishmem")


class Loaded(NamedTuple):
    """The part of a compiled kernel that numba-dpex needs to launch it."""

    kernel_device_ir_module: SPIRVKernelModule


_loaded: weakref.WeakKeyDictionary[Any, dict[Any, Loaded]] = weakref.WeakKeyDictionary()


def install() -> None:
    """Replace the method that every launch calls for the compiled kernel: numba-dpex has no hook for a cache."""
    SPIRVKernelDispatcher.get_compile_result = _get_compile_result
    function_cache.install()


_compile = SPIRVKernelDispatcher.get_compile_result


@functools.wraps(_compile)
def _get_compile_result(kernel: SPIRVKernelDispatcher, sig: Any) -> Any:
    arguments, store = tuple(sig.args), locations.kernels
    is_kernel = kernel.targetoptions.get("_compilation_mode") == CompilationMode.KERNEL
    if not is_kernel or arguments in kernel.overloads or not kernel._can_compile:
        return _compile(kernel, sig)
    if store is None:
        return _compiled(kernel, sig)
    known = _loaded.setdefault(kernel, {})
    if arguments not in known:
        try:
            name = key(kernel, arguments)
        except NoKeyError as reason:
            log.debug("kernel %s is not cached: %s", kernel.__name__, reason)
            return _compiled(kernel, sig)
        value = store.get_or_make(name, lambda: _made(kernel, sig), installed().compiles_first())
        if value is None:
            return _compile(kernel, sig)  # which has the result of `_made`
        log.debug("kernel %s is loaded from the cache", kernel.__name__)
        known[arguments] = _loaded_from(value)
    return known[arguments]


def _compiled(kernel: SPIRVKernelDispatcher, sig: Any) -> Any:
    log.debug("kernel %s is compiled", kernel.__name__)
    return _compile(kernel, sig)


def _made(kernel: SPIRVKernelDispatcher, sig: Any) -> bytes | None:
    """Compile a kernel; return its name and SPIR-V as they are kept."""
    module = _compiled(kernel, sig).kernel_device_ir_module
    code = installed().storable(module.kernel_bitcode)
    if code is None:
        log.debug("kernel %s is not cached: its code is of use in this process only", kernel.__name__)
        return None
    return bytes(module.kernel_name.encode() + b"\0" + code)


def _loaded_from(value: bytes) -> Loaded:
    name, _, code = value.partition(b"\0")
    return Loaded(SPIRVKernelModule(name.decode(), installed().transform(code)))
