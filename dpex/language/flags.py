"""Memory orders, scopes and address spaces in kernels: compile-time constants of literal types."""

from __future__ import annotations

from typing import Any

from numba.core import types
from numba.core.typing.templates import AttributeTemplate

from ..compile.target import registry, target, typing_registry
from ..kernel_api import AddressSpace, MemoryOrder, MemoryScope

_CLASSES = (MemoryOrder, MemoryScope, AddressSpace)


class FlagsType(types.Opaque):  # type: ignore[misc]
    """The type of a class of flags, such as `MemoryOrder`."""

    def __init__(self, flags: Any):
        self.flags = flags
        super().__init__(f"class({flags.__name__})")


def _type_of(value: Any) -> Any:
    """Return the type of a flag or of a class of flags; ``None`` for other values."""
    if isinstance(value, _CLASSES):
        return types.literal(int(value))
    return FlagsType(value) if any(value is each for each in _CLASSES) else None


@typing_registry.register_attr
class _Members(AttributeTemplate):  # type: ignore[misc]
    key = FlagsType

    def generic_resolve(self, kind: FlagsType, name: str) -> Any:
        member = kind.flags.__members__.get(name)
        return None if member is None else types.literal(int(member))


@registry.lower_getattr_generic(FlagsType)  # type: ignore[untyped-decorator, unused-ignore]
def _member(context: Any, _builder: Any, kind: FlagsType, _value: Any, name: str) -> Any:
    return context.get_constant(types.int64, int(kind.flags[name]))


target.typing_context.constants.append(_type_of)
