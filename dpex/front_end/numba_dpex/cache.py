"""The parts of the cache of kernels and device functions that are specific to numba-dpex.

numba-dpex has no hook for a cache, so some of its methods are replaced.
"""

from __future__ import annotations

import functools
import re
import weakref
from typing import Any, NamedTuple

import dpctl
import numba.core.config
import numba_dpex.core.config
from llvmlite import binding as llvm
from numba_dpex.core.pipelines.kernel_compiler import KernelCompiler
from numba_dpex.core.types import USMNdArray
from numba_dpex.core.types.dpnp_ndarray_type import DpnpNdArray
from numba_dpex.core.types.kernel_api.index_space_ids import GroupType, ItemType, NdItemType
from numba_dpex.core.types.kernel_api.local_accessor import LocalAccessorType
from numba_dpex.core.utils.call_kernel_builder import SPIRVKernelModule
from numba_dpex.kernel_api_impl.spirv.dispatcher import SPIRVKernelDispatcher, _SPIRVKernelCompiler
from numba_dpex.kernel_api_impl.spirv.target import CompilationMode

from ...cache import kernel_cache, key
from ...cache.function_cache import FunctionCache
from ...cache.kernel_cache import Code
from ...extension import installed

ARRAYS = (USMNdArray, DpnpNdArray, LocalAccessorType)
_SETTINGS = numba.core.config, numba_dpex.core.config


class NumbaDpexLanguage(key.Language):
    """The parts of keys that are specific to numba-dpex."""

    dispatcher = SPIRVKernelDispatcher
    package = "numba_dpex"
    packages = ("numba", "numba-dpex", "llvmlite", "numpy", "dpctl", "dpnp", "dpcpp-llvm-spirv")

    def options(self, function: SPIRVKernelDispatcher) -> dict[str, Any]:
        """Return the options with which a kernel or device function is compiled.

        Raises:
            NoKeyError: Its compilation depends on more than its options.
        """
        compiler, options = function._compiler, function.targetoptions
        if compiler.locals or compiler.pipeline_class is not KernelCompiler or options.get("debug"):
            raise key.NoKeyError(f"{function.__name__} is compiled with options that the key does not cover")
        return dict(options)

    def settings(self) -> Any:
        """Return name and value of all settings of numba and numba-dpex that may affect kernels, sorted."""
        found = {name: value for module in _SETTINGS for name, value in vars(module).items()}
        plain = [(name, str(value)) for name, value in found.items() if isinstance(value, (bool, int, float, str))]
        return sorted(item for item in plain if item[0].isupper() and key.matters(item[0]))

    def arguments(self, kinds: tuple[Any, ...]) -> Any:
        """Return the types of a kernel's arguments as plain values, and for each array the first one on its queue.

        Raises:
            NoKeyError: A type is not covered, or numba-dpex is set to dump its code, which needs a compilation.
        """
        if numba_dpex.core.config.DUMP_KERNEL_LLVM or numba_dpex.core.config.SAVE_IR_FILES:
            raise key.NoKeyError("numba-dpex is set to dump the code it generates, which needs a compilation")
        queues = [kind.queue for kind in kinds if type(kind) in ARRAYS]
        return [key.described(kind) for kind in kinds], [queues.index(queue) for queue in queues]

    def of_type(self, kind: Any) -> tuple[Any, ...] | None:
        """Return the type of an array or an item as plain values; ``None`` for others."""
        name = type(kind).__name__
        if type(kind) in ARRAYS and key.is_number(kind.dtype):
            facts = (kind.ndim, kind.layout, kind.mutable, kind.aligned, kind.usm_type, kind.addrspace)
            return name, str(kind.dtype), *facts, _device(kind.device)
        return (name, kind.ndim) if type(kind) in (ItemType, NdItemType, GroupType) else None


@functools.cache
def _device(name: str) -> tuple[str, ...]:
    device = dpctl.SyclDevice(name)
    aspects = (device.has_aspect_atomic64, device.has_aspect_fp16, device.has_aspect_fp64)
    return str(device.backend), device.name, device.vendor, device.driver_version, str(aspects)


class BitcodeCache(FunctionCache):
    """The cache of device functions as LLVM bitcode, which includes the callees of a function."""

    def code(self, result: Any, key: str) -> bytes:
        """Return the bitcode of a function and its callees; ``key`` makes their names unique in all processes."""
        module = llvm.parse_bitcode(result.library._get_module_for_linking().as_bitcode())
        for function in module.functions:
            if not function.is_declaration and not _IDENTIFIED.search(function.name):
                function.name = f"{function.name}_{key}"
        return bytes(module.as_bitcode())

    def library(self, target_context: Any, name: str, code: bytes) -> Any:
        """Return the library, named ``name``, for bitcode that `code` returned."""
        return target_context.codegen().unserialize_library((name, "bitcode", code))


class LoadedKernel(NamedTuple):
    """The part of a compiled kernel that numba-dpex needs to launch it."""

    kernel_device_ir_module: SPIRVKernelModule


_IDENTIFIED = re.compile(r"_24\d{19}")
"""numba's encoding of ``$`` and a function's number of 19 digits, as `FunctionCache` assigns it."""
_functions = BitcodeCache()
_loaded: weakref.WeakKeyDictionary[Any, dict[Any, LoadedKernel]] = weakref.WeakKeyDictionary()
_compile_kernel, _compile_function = SPIRVKernelDispatcher.get_compile_result, _SPIRVKernelCompiler._compile_core


def install() -> None:
    """Replace numba-dpex's methods that return a compiled kernel and that compile a function by cached ones."""
    key.use(NumbaDpexLanguage())
    SPIRVKernelDispatcher.get_compile_result = _compiled_or_loaded
    _SPIRVKernelCompiler._compile_core = _function


@functools.wraps(_compile_kernel)
def _compiled_or_loaded(kernel: SPIRVKernelDispatcher, sig: Any) -> Any:
    arguments, known = tuple(sig.args), _loaded.setdefault(kernel, {})
    is_kernel = kernel.targetoptions.get("_compilation_mode") == CompilationMode.KERNEL
    if not is_kernel or arguments in kernel.overloads or not kernel._can_compile:
        return _compile_kernel(kernel, sig)
    if arguments not in known:
        code = kernel_cache.code_of(kernel, arguments, lambda _: _made(kernel, sig))
        if arguments in kernel.overloads:
            return _compile_kernel(kernel, sig)  # which has the result of `_made`
        known[arguments] = LoadedKernel(SPIRVKernelModule(code.name, installed().transform(code.spirv)))
    return known[arguments]


def _made(kernel: SPIRVKernelDispatcher, sig: Any) -> Code:
    module = _compile_kernel(kernel, sig).kernel_device_ir_module
    return Code(module.kernel_name, module.kernel_bitcode)


def _function(compiler: Any, arguments: tuple[Any, ...], return_type: Any) -> Any:
    compile = functools.partial(_compile_function, compiler, arguments, return_type)
    return _functions.result(compiler, arguments, compile)
