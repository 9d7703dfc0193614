"""Type rules and code of `kernel_api.group_barrier` and `atomic_fence`, and SPIR-V's numbers of orders and scopes."""

from __future__ import annotations

from typing import Any

from numba.core import types
from numba.core.errors import TypingError

from ..compile.spirv_calls import (
    CROSS_DEVICE,
    CROSS_WORKGROUP_MEMORY,
    DEVICE,
    INVOCATION,
    SUB_GROUP,
    SUBGROUP_MEMORY,
    WORK_GROUP,
    WORKGROUP_MEMORY,
    control_barrier,
    memory_barrier,
)
from ..compile.types import GroupType, SubGroupType
from ..kernel_api import MemoryOrder, MemoryScope, atomic_fence, group_barrier
from .extending import WrongConstantError, add_function

ALL_MEMORY = SUBGROUP_MEMORY | WORKGROUP_MEMORY | CROSS_WORKGROUP_MEMORY
RELAXED, ACQUIRE, RELEASE, ACQUIRE_RELEASE, SEQUENTIALLY_CONSISTENT = 0, 2, 4, 8, 16

_ORDERS = {
    MemoryOrder.RELAXED: RELAXED,
    MemoryOrder.ACQUIRE: ACQUIRE,
    MemoryOrder.RELEASE: RELEASE,
    MemoryOrder.ACQ_REL: ACQUIRE_RELEASE,
    MemoryOrder.SEQ_CST: SEQUENTIALLY_CONSISTENT,
}
_SCOPES = {
    MemoryScope.WORK_ITEM: INVOCATION,
    MemoryScope.SUB_GROUP: SUB_GROUP,
    MemoryScope.WORK_GROUP: WORK_GROUP,
    MemoryScope.DEVICE: DEVICE,
    MemoryScope.SYSTEM: CROSS_DEVICE,
}


def literal(name: str, kind: Any) -> int:
    """Return the value of an argument that must be a literal or an enum member, given its type or default value.

    Raises:
        TypingError: The argument is not a constant; the message begins with ``name``.
    """
    for value in (kind, getattr(kind, "literal_value", None), getattr(kind, "value", None)):
        if isinstance(value, int):
            return int(value)
    raise TypingError(f"{name} should be an IntegerLiteral: a member of its enumeration or a constant, got {kind}")


def order_of(value: int) -> int:
    """Return the SPIR-V memory semantics of ``value``, a `MemoryOrder`, without storage classes.

    Raises:
        WrongConstantError: There is no such order.
    """
    return _looked_up("memory_order", value, _ORDERS, MemoryOrder)


def scope_of(value: int) -> int:
    """Return the SPIR-V number of ``value``, a `MemoryScope`.

    Raises:
        WrongConstantError: There is no such scope.
    """
    return _looked_up("memory_scope", value, _SCOPES, MemoryScope)


def _looked_up(name: str, value: int, table: dict[Any, int], members: Any) -> int:
    if value not in table:
        allowed = ", ".join(f"{member.name} ({int(member)})" for member in table)
        raise WrongConstantError(f"{name}: got {value}, allowed members of {members.__name__}: {allowed}")
    return table[value]


def _group_barrier(group: Any, fence_scope: Any) -> Any:
    if not isinstance(group, (GroupType, SubGroupType)):
        raise TypingError(
            f"Expected a group should to be a GroupType value: group_barrier takes item.get_group(), got {group}"
        )
    scope = SUB_GROUP if isinstance(group, SubGroupType) else WORK_GROUP
    memory_scope = scope_of(literal("fence_scope", fence_scope))

    def emit(_context: Any, builder: Any, _arguments: Any) -> None:
        control_barrier(builder, scope, memory_scope, SEQUENTIALLY_CONSISTENT | ALL_MEMORY)

    return types.void, emit


def _atomic_fence(memory_order: Any, memory_scope: Any) -> Any:
    order = order_of(literal("memory_order", memory_order))
    scope = scope_of(literal("memory_scope", memory_scope))

    def emit(_context: Any, builder: Any, _arguments: Any) -> None:
        memory_barrier(builder, scope, order | ALL_MEMORY if order else RELAXED)

    return types.void, emit


add_function(group_barrier, _group_barrier)
add_function(atomic_fence, _atomic_fence)
