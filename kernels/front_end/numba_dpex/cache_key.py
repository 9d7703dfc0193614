"""The keys of kernels and device functions that numba-dpex compiles."""

from __future__ import annotations

import functools
from typing import Any

import dpctl
import numba.core.config
import numba_dpex.core.config
from numba_dpex.core.pipelines.kernel_compiler import KernelCompiler
from numba_dpex.core.types import USMNdArray
from numba_dpex.core.types.dpnp_ndarray_type import DpnpNdArray
from numba_dpex.core.types.kernel_api.index_space_ids import GroupType, ItemType, NdItemType
from numba_dpex.core.types.kernel_api.local_accessor import LocalAccessorType
from numba_dpex.kernel_api_impl.spirv.dispatcher import SPIRVKernelDispatcher

from ishmem.dpex.cache.cache_key import NoKeyError, Walk, digest, settings, versions
from ishmem.dpex.cache.type_key import NUMBERS, described
from ishmem.dpex.extension import installed

PACKAGES = ("numba", "numba-dpex", "llvmlite", "numpy", "dpctl", "dpnp", "dpcpp-llvm-spirv")
ARRAYS = (USMNdArray, DpnpNdArray, LocalAccessorType)


class _Language:
    """What keys depend on in numba-dpex: see `ishmem.dpex.cache.cache_key.Language`."""

    dispatcher = SPIRVKernelDispatcher
    package = "numba_dpex"

    def options(self, function: SPIRVKernelDispatcher) -> dict[str, Any]:
        compiler, options = function._compiler, function.targetoptions
        if compiler.locals or compiler.pipeline_class is not KernelCompiler or options.get("debug"):
            raise NoKeyError(f"{function.__name__} is compiled with options that the key does not cover")
        return dict(options)


LANGUAGE = _Language()


def argument(kind: Any) -> tuple[Any, ...]:
    """Return the type of an argument as plain values.

    Raises:
        NoKeyError: The type is not covered.
    """
    return described(kind, _of_language)


def _of_language(kind: Any) -> tuple[Any, ...] | None:
    name = type(kind).__name__
    if type(kind) in ARRAYS and isinstance(kind.dtype, NUMBERS):
        facts = (kind.ndim, kind.layout, kind.mutable, kind.aligned, kind.usm_type, kind.addrspace)
        return name, str(kind.dtype), *facts, _device(kind.device)
    if type(kind) in (ItemType, NdItemType, GroupType):
        return name, kind.ndim
    return None


def key(kernel: SPIRVKernelDispatcher, arguments: tuple[Any, ...]) -> str:
    """Return the key of a kernel for arguments of these types.

    Raises:
        NoKeyError: The kernel has no key; the message gives the reason.
    """
    if numba_dpex.core.config.DUMP_KERNEL_LLVM or numba_dpex.core.config.SAVE_IR_FILES:
        raise NoKeyError("numba-dpex is set to dump the code it generates, which needs a compilation")
    extension = installed()
    walk = Walk(LANGUAGE, extension)
    kinds = [argument(each) for each in arguments]
    parts = [walk.dispatcher(kernel), kinds, _queues(arguments), key_parts(), extension.sources]
    return digest([*parts, extension.key_parts(walk.lines)] if walk.uses_extension else parts)


def _queues(arguments: tuple[Any, ...]) -> list[int]:
    """Return which arrays share a queue: numba-dpex rejects arrays of several queues."""
    queues = [argument.queue for argument in arguments if type(argument) in ARRAYS]
    return [queues.index(queue) for queue in queues]


def key_parts() -> tuple[Any, ...]:
    """Return versions and settings that compiled code depends on."""
    return versions(PACKAGES), settings(numba.core.config, numba_dpex.core.config)


@functools.cache
def _device(name: str) -> tuple[str, ...]:
    device = dpctl.SyclDevice(name)
    aspects = (device.has_aspect_atomic64, device.has_aspect_fp16, device.has_aspect_fp64)
    return str(device.backend), device.name, device.vendor, device.driver_version, str(aspects)
