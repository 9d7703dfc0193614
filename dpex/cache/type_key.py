"""Types of numba as plain values, in the keys of device functions."""

from __future__ import annotations

from typing import Any, Callable

from numba.core import types

from .cache_key import NoKeyError

NUMBERS = (types.Integer, types.Float, types.Complex, types.Boolean)


def described(kind: Any, of_language: Callable[[Any], tuple[Any, ...] | None]) -> tuple[Any, ...]:
    """Describe the type of an argument as plain values.

    Args:
        kind: The type.
        of_language: Describes a type of the language, such as an array; returns ``None`` for other types.

    Raises:
        NoKeyError: The type is not covered.
    """
    if isinstance(kind, types.Omitted):
        kind = kind.value
    if kind is None or type(kind) in (bool, int, float):
        return "omitted", repr(kind)
    if isinstance(kind, types.BaseTuple):
        named = getattr(kind, "instance_class", tuple)
        parts = tuple(described(part, of_language) for part in kind)
        return named.__module__, named.__qualname__, getattr(named, "_fields", ()), parts
    if isinstance(kind, (types.IntegerLiteral, types.BooleanLiteral)):
        return "literal", repr(kind.literal_value)
    if isinstance(kind, types.EnumMember):
        members = tuple((member.name, repr(member.value)) for member in kind.instance_class)
        return "enum", kind.instance_class.__module__, kind.instance_class.__qualname__, str(kind.dtype), members
    if kind is types.none:
        return ("none",)
    if type(kind) in NUMBERS:
        return "number", str(kind)
    found = of_language(kind)
    if found is None:
        raise NoKeyError(f"an argument has type {kind}, which the key does not cover")
    return found
