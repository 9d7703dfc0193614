"""``a.view(dtype)`` in kernels: the bytes of an array as elements of another type."""

from __future__ import annotations

from typing import Any

from numba.core import types
from numba.core.errors import TypingError
from numba.core.typing import signature
from numba.core.typing.npydecl import parse_dtype
from numba.np.arrayobj import array_view

from ..compile.types import USMNdArray
from .routines import add_method


def _view(array: Any, dtype: Any) -> Any:
    element = parse_dtype(dtype)
    if element is None:
        raise TypingError(f"view takes a type of elements, such as numpy.int32, or its name, got {dtype}")
    kind = array.copy(dtype=element)

    def emit(context: Any, builder: Any, arguments: Any) -> Any:
        made = signature(kind, array, types.NumberClass(element))
        return array_view(context, builder, made, (arguments[0], context.get_dummy_value()))

    return kind, emit


class _Array:
    """Has the signature of the method."""

    def view(self, dtype: Any) -> Any:
        """Return the array as one of another type."""


add_method(USMNdArray, _Array.view, _view)
