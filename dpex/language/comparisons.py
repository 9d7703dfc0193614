"""Comparisons of signed with unsigned integers of 64 bits, by their values.

numba compares them as float64: not exact, and not every device has it.
"""

from __future__ import annotations

import operator
from typing import Any

from numba.core import types
from numba.core.typing import signature
from numba.core.typing.templates import AbstractTemplate
from numba.cpython import numbers

from ..compile.target import registry, typing_registry

_SYMBOLS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}


def _is_signed(kind: Any) -> bool:
    return isinstance(kind, types.Integer) and bool(kind.signed)


def _types_of(_self: Any, arguments: Any, _named: Any) -> Any:
    """Return the signature for an integer of each kind; None for other arguments."""
    kinds = tuple(map(types.unliteral, arguments))
    if len(kinds) == 2 and types.uint64 in kinds and any(map(_is_signed, kinds)):
        return signature(types.boolean, *(types.int64 if _is_signed(kind) else kind for kind in kinds))
    return None


for _name, _symbol in _SYMBOLS.items():
    _function = getattr(operator, _name)
    _template = type(f"mixed_{_name}", (AbstractTemplate,), {"key": _function, "generic": _types_of})
    typing_registry.register_global(_function)(_template)
    registry.lower(_function, types.int64, types.uint64)(numbers.int_signed_unsigned_cmp(_symbol))
    registry.lower(_function, types.uint64, types.int64)(numbers.int_unsigned_signed_cmp(_symbol))
