"""Type rules and code of `kernel_api.SubGroup` in kernels, by the functions of OpenCL."""

from __future__ import annotations

from typing import Any, Callable

from numba.core import types
from numba.core.errors import TypingError

from ..compile.spirv_calls import I32, I64, call
from ..compile.types import NdItemType, SubGroupType
from ..kernel_api import NdItem, SubGroup
from .extending import add_method

_NUMBERS = {
    "get_local_id": "get_sub_group_local_id", "get_local_range": "get_sub_group_size",
    "get_group_id": "get_sub_group_id", "get_group_range": "get_num_sub_groups",
}  # fmt: skip

_BY_ITEM = {
    "broadcast": "sub_group_broadcast", "shuffle": "sub_group_shuffle", "shuffle_xor": "sub_group_shuffle_xor",
    "shuffle_up": "sub_group_shuffle_up", "shuffle_down": "sub_group_shuffle_down",
}  # fmt: skip

_REDUCTIONS = {f"reduce_{name}": f"sub_group_reduce_{name}" for name in ("add", "min", "max")}

_EXCHANGED = (types.int32, types.uint32, types.int64, types.uint64, types.float32, types.float64)


def emit_number(builder: Any, method: str) -> Any:
    """Emit and return the result of a method of `SubGroup` without arguments, as an int64."""
    return builder.zext(call(builder, _NUMBERS[method], I32, [], [], pure=True), I64)


def _number(method: str) -> Callable[..., Any]:
    def rule(_group: Any) -> Any:
        return types.int64, lambda _context, builder, _arguments: emit_number(builder, method)

    return rule


def _check(method: str, value: Any) -> None:
    if types.unliteral(value) not in _EXCHANGED:
        allowed = ", ".join(map(str, _EXCHANGED))
        raise TypingError(f"{method} takes a value of the types {allowed}, got {value}")


def _from_item(method: str, function: str) -> Callable[..., Any]:
    """Return the rule of a method that returns the value of another work-item, by a function of OpenCL."""

    def rule(_group: Any, value: Any, place: Any) -> Any:
        _check(method, value)
        if not isinstance(place, types.Integer):
            raise TypingError(f"{method} takes the number of a work-item, got {place}")
        kind = types.unliteral(value)

        def emit(context: Any, builder: Any, arguments: Any) -> Any:
            number = context.cast(builder, arguments[2], place, types.uint32)
            given = context.cast(builder, arguments[1], value, kind)
            return call(builder, function, given.type, [kind, types.uint32], [given, number], convergent=True)

        return kind, emit

    return rule


def _reduction(method: str, function: str) -> Callable[..., Any]:
    def rule(_group: Any, value: Any) -> Any:
        _check(method, value)
        kind = types.unliteral(value)

        def emit(context: Any, builder: Any, arguments: Any) -> Any:
            given = context.cast(builder, arguments[1], value, kind)
            return call(builder, function, given.type, [kind], [given], convergent=True)

        return kind, emit

    return rule


def _sub_group_of(item: Any) -> Any:
    group = SubGroupType(item.ndim)
    return group, lambda context, _builder, _arguments: context.get_constant_null(group)


def _register() -> None:
    add_method(NdItemType, NdItem.get_sub_group, _sub_group_of)
    for name in _NUMBERS:
        add_method(SubGroupType, getattr(SubGroup, name), _number(name))
    for name, function in _BY_ITEM.items():
        add_method(SubGroupType, getattr(SubGroup, name), _from_item(name, function))
    for name, function in _REDUCTIONS.items():
        add_method(SubGroupType, getattr(SubGroup, name), _reduction(name, function))


_register()
