"""The interface of `dpex.front_end.adapter` for the compiler `ishmem.dpex`."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from numba.core import types

from .. import NdRange, Range, call_kernel, call_kernel_async, device_func, kernel, kernel_api
from ..compile import spirv_calls
from ..compile.spirv_calls import I32, SPIR_FUNC, built_in as component
from ..compile.target import TARGET
from ..compile.types import (
    GroupType,
    ItemType,
    LocalAccessorType as LocalArrayType,
    NdItemType,
    SubGroupType,
    USMNdArray as ArrayType,
)
from ..language import registrations  # noqa: F401  # its import registers them with numba
from ..language.sub_groups import emit_number

__all__ = [
    "SPIR_FUNC", "TARGET", "ArrayType", "GroupType", "ItemType", "LocalArrayType", "NdItemType", "NdRange",
    "Range", "SubGroupType", "built_in", "call_kernel", "call_kernel_async", "compiled", "device_func", "install",
    "kernel", "kernel_api", "kernel_of_copies", "mangle", "sub_group_place",
]  # fmt: skip


kernel_of_copies = functools.partial(kernel, vec_type_hint="int4")
"""Decorate a kernel that mostly copies in units of 16 bytes."""

_FUNCTIONS = {
    "LocalInvocationId": "get_local_id", "WorkgroupSize": "get_local_size", "GlobalInvocationId": "get_global_id"
}  # fmt: skip


def built_in(builder: Any, name: str) -> list[Any]:
    """Emit and return the three components of a SPIR-V built-in variable, int64; ``name`` is without ``BuiltIn``."""
    return [component(builder, _FUNCTIONS[name], I32(axis)) for axis in range(3)]


def sub_group_place(builder: Any) -> tuple[Any, Any]:
    """Emit and return the index of the work-item in its sub-group, and the number of work-items there, int64."""
    return emit_number(builder, "get_local_id"), emit_number(builder, "get_local_range")


def mangle(name: str, kinds: Sequence[Any]) -> str:
    """Return the symbol of function ``name`` for types ``kinds``; a string is an enumeration of SPIR-V, an int32."""
    return spirv_calls.mangle(name, [types.int32 if isinstance(kind, str) else kind for kind in kinds])


def install() -> None:
    """Do nothing: this compiler calls the extension itself."""


def compiled(kernel: Any, arguments: tuple[Any, ...]) -> bytes:
    """Return the SPIR-V of a kernel for arguments of these types, compiled if necessary."""
    return bytes(kernel.code_for(arguments).spirv)
