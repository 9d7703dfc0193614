"""The kernel cache on disk: a kernel that any process has compiled before is loaded instead of compiled.

The cache holds the SPIR-V that numba-dpex hands to the driver. Constants that differ between processes are patched in
when a kernel is loaded.
"""

from __future__ import annotations

import functools
import logging
import weakref
from pathlib import Path
from typing import Any, NamedTuple

import platformdirs
from numba_dpex.core.utils.call_kernel_builder import SPIRVKernelModule
from numba_dpex.kernel_api_impl.spirv.dispatcher import SPIRVKernelDispatcher
from numba_dpex.kernel_api_impl.spirv.target import CompilationMode

from . import binding, function_cache, spec_constants, spirv
from .cache_key import NoKeyError, key
from .store import Store

log = logging.getLogger("ishmem")

HEAD_START = 0.3
"""Seconds by which the first PE of a node precedes PEs that have compiled no kernel, when all need the same one. One PE
then compiles all kernels of a program and reuses the device functions that they share."""


class Loaded(NamedTuple):
    """The part of a compiled kernel that numba-dpex needs to launch it."""

    kernel_device_ir_module: SPIRVKernelModule


_store: Store | None = None
_has_compiled = False
_loaded: weakref.WeakKeyDictionary[Any, dict[Any, Loaded]] = weakref.WeakKeyDictionary()


def use(where: str, limit: int) -> None:
    """Cache at most ``limit`` bytes in folder ``where``: ``auto`` is the user's cache folder, ``off`` disables it.

    A quarter of the bytes is for device functions.
    """
    global _store
    folder = platformdirs.user_cache_path("ishmem") / "kernels" if where == "auto" else Path(where)
    off, for_functions = where == "off", limit // 4
    _store = None if off else Store(folder, limit - for_functions)
    function_cache.use(None if off else Store(folder, for_functions, ".function"))
    # numba-dpex has no hook for a cache, so this replaces the method that every launch calls for the compiled kernel.
    SPIRVKernelDispatcher.get_compile_result = _get_compile_result


_compile = SPIRVKernelDispatcher.get_compile_result


@functools.wraps(_compile)
def _get_compile_result(kernel: SPIRVKernelDispatcher, sig: Any) -> Any:
    arguments, store = tuple(sig.args), _store
    if store is None or arguments in kernel.overloads or not kernel._can_compile:
        return _compile(kernel, sig)
    if kernel.targetoptions.get("_compilation_mode") != CompilationMode.KERNEL:
        return _compile(kernel, sig)
    known = _loaded.setdefault(kernel, {})
    if arguments not in known:
        try:
            name = key(kernel, arguments)
        except NoKeyError as reason:
            log.debug("kernel %s is not cached: %s", kernel.__name__, reason)
            return _compile(kernel, sig)
        result = _load(store, name)
        if result is None:
            return _make(store, name, kernel, sig)
        log.debug("kernel %s is loaded from the cache", kernel.__name__)
        known[arguments] = result
    return known[arguments]


def _make(store: Store, name: str, kernel: SPIRVKernelDispatcher, sig: Any) -> Any:
    """Compile a kernel and cache it; if another process is compiling it, wait and load its result."""
    global _has_compiled
    with store.turn(name, 0 if _has_compiled or _is_first_of_node() else HEAD_START):
        result = _load(store, name)
        if result is not None:
            _loaded[kernel][tuple(sig.args)] = result
            return result
        log.debug("kernel %s is compiled", kernel.__name__)
        _has_compiled = True
        compiled = _compile(kernel, sig)
        _keep(store, name, compiled.kernel_device_ir_module)
        return compiled


def _is_first_of_node() -> bool:
    here = binding.bound()
    return here is None or here[1].my_pe == here[1].first_near


def _keep(store: Store, name: str, module: SPIRVKernelModule) -> None:
    code = module.kernel_bitcode
    if (here := binding.bound()) is not None:
        mine = here[1]
        code = spirv.patched(code, dict.fromkeys(spec_constants.defaults(mine), 0))
        if spirv.has_constant(code, mine.heap, mine.end):
            log.debug("kernel %s is not cached: it contains a heap address of this process", module.kernel_name)
            return
    store.put(name, module.kernel_name.encode() + b"\0" + code)


def _load(store: Store, name: str) -> Loaded | None:
    value = store.get(name)
    if value is None:
        return None
    kernel_name, _, code = value.partition(b"\0")
    if (here := binding.bound()) is not None:
        code = spirv.patched(code, spec_constants.defaults(here[1]))
    return Loaded(SPIRVKernelModule(kernel_name.decode(), code))
