"""Types of operators on whole arrays.

Kernels have no memory for the result, so these only serve an error that says so. numba asks them for each operator of
numbers, too.
"""

from __future__ import annotations

from typing import Any

from numba.core import types
from numba.core.typing import npydecl
from numba.core.typing.templates import Registry


class _OfArrays:
    """Looks for an array before numba looks for a loop of the ufunc that takes the types."""

    def generic(self, args: Any, kws: Any) -> Any:
        """Return the signature for these arguments; None if none of them is an array."""
        certain = (each.type if isinstance(each, types.Optional) else each for each in args)
        is_array = any(isinstance(each, types.ArrayCompatible) for each in certain)
        return super().generic(args, kws) if is_array else None  # type: ignore[misc]


def _asked_later(kind: Any) -> Any:
    template = kind.templates[0] if isinstance(kind, types.Function) else None
    if template is None or not issubclass(template, npydecl.NumpyRulesArrayOperator):
        return kind
    return types.Function(type(template.__name__, (_OfArrays, template), {"key": template.key}))


registry = Registry()
"""What numba knows of numpy's functions, with these operators."""
registry.functions, registry.attributes = npydecl.registry.functions, npydecl.registry.attributes
registry.globals = [(value, _asked_later(kind)) for value, kind in npydecl.registry.globals]
