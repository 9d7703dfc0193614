"""Type rules and code of the methods of `kernel_api.Item`, `NdItem` and `Group` in kernels."""

from __future__ import annotations

from typing import Any, Callable

from numba.core import types
from numba.core.errors import TypingError

from .. import kernel_api
from ..compile.spirv_calls import I32, I64, built_in
from ..compile.types import GroupType, ItemType, NdItemType
from .extending import WrongConstantError, add_attribute, add_method

GLOBAL_ID, GLOBAL_SIZE, LOCAL_ID = "get_global_id", "get_global_size", "get_local_id"
LOCAL_SIZE, GROUP_ID, GROUPS = "get_local_size", "get_group_id", "get_num_groups"
"""Functions of OpenCL that the back end translates to loads of built-in variables."""

_CLASSES = {ItemType: kernel_api.Item, NdItemType: kernel_api.NdItem, GroupType: kernel_api.Group}

_BY_DIMENSION = {
    ItemType: {"get_id": GLOBAL_ID, "get_range": GLOBAL_SIZE},
    NdItemType: {
        "get_global_id": GLOBAL_ID, "get_global_range": GLOBAL_SIZE, "get_local_id": LOCAL_ID,
        "get_local_range": LOCAL_SIZE,
    },
    GroupType: {"get_group_id": GROUP_ID, "get_group_range": GROUPS, "get_local_range": LOCAL_SIZE},
}  # fmt: skip
"""Methods with a dimension as argument, with the function of OpenCL whose result they return."""

_OF_ALL_DIMENSIONS = {
    ItemType: {"get_linear_id": (GLOBAL_ID, GLOBAL_SIZE), "get_linear_range": (GLOBAL_SIZE,)},
    NdItemType: {
        "get_global_linear_id": (GLOBAL_ID, GLOBAL_SIZE), "get_local_linear_id": (LOCAL_ID, LOCAL_SIZE),
        "get_global_linear_range": (GLOBAL_SIZE,), "get_local_linear_range": (LOCAL_SIZE,),
    },
    GroupType: {
        "get_group_linear_id": (GROUP_ID, GROUPS), "get_group_linear_range": (GROUPS,),
        "get_local_linear_range": (LOCAL_SIZE,),
    },
}  # fmt: skip
"""Methods that return a linear id, with the functions for id and size, or a number, with that for the size."""


def linear_id(builder: Any, ndim: int, ids: str, sizes: str) -> Any:
    """Emit and return a linear id, the last dimension the fastest, from OpenCL's functions for ids and sizes."""
    number = _component(builder, ids, ndim, 0)
    for dim in range(1, ndim):
        scaled = builder.mul(number, _component(builder, sizes, ndim, dim))
        number = builder.add(scaled, _component(builder, ids, ndim, dim))
    return number


def linear_size(builder: Any, ndim: int, sizes: str) -> Any:
    """Emit and return the product of the function ``sizes`` over ``ndim`` dimensions."""
    number = _component(builder, sizes, ndim, 0)
    for dim in range(1, ndim):
        number = builder.mul(number, _component(builder, sizes, ndim, dim))
    return number


def _component(builder: Any, variable: str, ndim: int, dim: int) -> Any:
    """Emit OpenCL function ``variable`` for SYCL dimension ``dim`` of ``ndim``, numbered in reverse in SPIR-V."""
    return built_in(builder, variable, I32(ndim - 1 - dim))


def _of_dimension(method: str, variable: str) -> Callable[..., Any]:
    def rule(space: Any, dim: Any) -> Any:
        if not isinstance(dim, types.Integer):
            raise TypingError(f"{method} takes the number of a dimension, got {dim}")
        value = getattr(dim, "literal_value", None)
        if value is not None and not 0 <= value < space.ndim:
            raise WrongConstantError(f"{method}({value}): this index space has the dimensions 0 to {space.ndim - 1}")

        def emit(context: Any, builder: Any, arguments: Any) -> Any:
            if value is not None:
                return _component(builder, variable, space.ndim, value)
            number = context.cast(builder, arguments[1], dim, types.int32)
            return built_in(builder, variable, builder.sub(I32(space.ndim - 1), number))

        return types.int64, emit

    return rule


def _linear(*variables: str) -> Callable[..., Any]:
    """Return the rule of a method without arguments, an entry of `_OF_ALL_DIMENSIONS`."""
    code: Callable[..., Any] = linear_id if len(variables) == 2 else linear_size

    def rule(space: Any) -> Any:
        return types.int64, lambda _context, builder, _arguments: code(builder, space.ndim, *variables)

    return rule


def _group_of(item: Any) -> Any:
    group = GroupType(item.ndim)
    return group, lambda context, _builder, _arguments: context.get_constant_null(group)


def _leader(_context: Any, builder: Any, group: Any, _value: Any) -> Any:
    return builder.icmp_unsigned("==", linear_id(builder, group.ndim, LOCAL_ID, LOCAL_SIZE), I64(0))


def _register() -> None:
    for kind, methods in _BY_DIMENSION.items():
        for name, variable in methods.items():
            add_method(kind, getattr(_CLASSES[kind], name), _of_dimension(name, variable))
    for kind, linear in _OF_ALL_DIMENSIONS.items():
        for name, variables in linear.items():
            add_method(kind, getattr(_CLASSES[kind], name), _linear(*variables))
        add_attribute(kind, "dimensions", types.int64, lambda _context, _builder, space, _value: I64(space.ndim))
    add_method(NdItemType, kernel_api.NdItem.get_group, _group_of)
    add_attribute(GroupType, "leader", types.boolean, _leader)


_register()
