"""The interface of `dpex.front_end.adapter` for numba-dpex, and replacements of its wrong or slow functions."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types
from numba_dpex import NdRange, Range, call_kernel, call_kernel_async, device_func, kernel, kernel_api
from numba_dpex.core.types import USMNdArray as ArrayType
from numba_dpex.core.types.kernel_api.index_space_ids import GroupType, ItemType, NdItemType
from numba_dpex.core.types.kernel_api.local_accessor import LocalAccessorType as LocalArrayType
from numba_dpex.core.utils.itanium_mangler import mangle_ext as mangle
from numba_dpex.kernel_api_impl.spirv.target import CC_SPIR_FUNC as SPIR_FUNC, SPIRV_TARGET_NAME as TARGET

from ...compile import closures
from . import (
    builtin_loads,
    cache,
    compilation,
    compile_errors,
    launches,
    slices,  # noqa: F401  # it registers its functions
)

__all__ = [
    "SPIR_FUNC", "TARGET", "ArrayType", "GroupType", "ItemType", "LocalArrayType", "NdItemType", "NdRange",
    "Range", "SubGroupType", "built_in", "call_kernel", "call_kernel_async", "compiled", "device_func", "install",
    "kernel", "kernel_api", "kernel_of_copies", "mangle", "sub_group_place",
]  # fmt: skip


kernel_of_copies = kernel  # it has no hint

GLOBAL = 1  # the address space of device memory


class _NoSubGroup:
    """The type of sub-groups, which numba-dpex does not have: no argument is of this type."""


SubGroupType: Any = _NoSubGroup


def sub_group_place(builder: Any) -> tuple[Any, Any]:
    """Raise an error: numba-dpex has no sub-groups.

    Raises:
        NotImplementedError: Always.
    """
    raise NotImplementedError("numba-dpex has no sub-groups")


def install() -> None:
    """Replace functions of numba-dpex that are wrong or slow, and add calls of the extension to its compilation."""
    for each in (builtin_loads, cache, closures, compilation, compile_errors, launches):
        each.install()


def compiled(kernel: Any, arguments: tuple[Any, ...]) -> bytes:
    """Return the SPIR-V of a kernel for arguments of these types, compiled if necessary."""
    result = kernel.get_compile_result(types.void(*arguments))
    return bytes(result.kernel_device_ir_module.kernel_bitcode)


def built_in(builder: Any, name: str) -> list[Any]:
    """Emit and return the three components of a SPIR-V built-in variable, int64; ``name`` is without ``BuiltIn``."""
    symbol, vector = f"__spirv_BuiltIn{name}", ir.VectorType(ir.IntType(64), 3)
    variable = builder.module.globals.get(symbol)
    if variable is None:
        variable = ir.GlobalVariable(builder.module, vector, symbol, addrspace=GLOBAL)
        variable.linkage, variable.global_constant, variable.align = "external", True, 32
    value = builder.load(variable)
    return [builder.extract_element(value, ir.IntType(32)(axis)) for axis in range(3)]
