"""``sum``, ``min`` and other reductions of arrays by one work-item, as methods and as functions of numpy.

They reduce the whole array; there is no ``axis``. Methods that return a new array are compile errors, since kernels
have no memory for it.
"""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
from numba.core import types
from numba.core.errors import TypingError
from numba.extending import overload, overload_classmethod, overload_method

from ..compile.target import TARGET
from ..compile.types import DpnpNdArray, LocalAccessorType, PrivateArrayType, USMNdArray

_NEW_ARRAYS = ("argsort", "astype", "copy", "cumprod", "cumsum", "dot", "flatten", "nonzero", "repeat", "sort")
"""Methods that return a new array."""

_ADVICE = "kernels have no memory for a new array; store the elements in an array argument or a PrivateArray"

Implementation = Callable[..., Any]


def _wide(dtype: Any) -> Any:
    """Return the type in which numpy adds or multiplies: 64 bits for integers and booleans, float32 for float16."""
    if isinstance(dtype, (types.Integer, types.Boolean)):
        return types.int64 if getattr(dtype, "signed", True) else types.uint64
    return types.float32 if dtype == types.float16 else dtype


def _result(dtype: Any) -> Any:
    """Return the type of a sum or product."""
    return dtype if dtype == types.float16 else _wide(dtype)


def _sum(a: Any) -> Implementation:
    nothing, kind = _wide(a.dtype)(0), _result(a.dtype)

    def whole(a: Any) -> Any:
        total = nothing
        for each in a.flat:
            total += each
        return kind(total)

    return whole


def _prod(a: Any) -> Implementation:
    one, kind = _wide(a.dtype)(1), _result(a.dtype)

    def whole(a: Any) -> Any:
        product = one
        for each in a.flat:
            product *= each
        return kind(product)

    return whole


def _mean(a: Any) -> Implementation:
    kind = a.dtype if isinstance(a.dtype, (types.Float, types.Complex)) else types.float64
    wide = _wide(kind)

    def whole(a: Any) -> Any:
        total = wide(0)
        for each in a.flat:
            total += wide(each)
        return kind(total / wide(a.size))

    return whole


def _any(a: Any) -> Implementation:
    def whole(a: Any) -> bool:
        for each in a.flat:  # noqa: SIM110  # kernels have no generators
            if each:
                return True
        return False

    return whole


def _all(a: Any) -> Implementation:
    def whole(a: Any) -> bool:
        for each in a.flat:  # noqa: SIM110
            if not each:
                return False
        return True

    return whole


def _require_order(name: str, a: Any) -> None:
    if isinstance(a.dtype, types.Complex):
        raise TypingError(f"{name} takes an array of real numbers, got {a}")


def _min(a: Any) -> Implementation:
    _require_order("min", a)

    def whole(a: Any) -> Any:
        return a.flat[a.argmin()]

    return whole


def _max(a: Any) -> Implementation:
    _require_order("max", a)

    def whole(a: Any) -> Any:
        return a.flat[a.argmax()]

    return whole


def _argmin(a: Any) -> Implementation:
    _require_order("argmin", a)

    def whole(a: Any) -> int:
        if a.size == 0:
            raise ValueError("an array without elements has no smallest one")
        place, found = 0, a.flat[0]
        for number, each in enumerate(a.flat):
            if found == found and (each < found or each != each):  # the first nan is the result
                place, found = number, each
        return place

    return whole


def _argmax(a: Any) -> Implementation:
    _require_order("argmax", a)

    def whole(a: Any) -> int:
        if a.size == 0:
            raise ValueError("an array without elements has no largest one")
        place, found = 0, a.flat[0]
        for number, each in enumerate(a.flat):
            if found == found and (each > found or each != each):  # the first nan is the result
                place, found = number, each
        return place

    return whole


def _of_numpy(method: Implementation) -> Implementation:
    """Return the overload of a numpy function: for arrays it returns ``method``, which calls the array's method."""

    def choose(a):  # type: ignore[no-untyped-def]  # numba compares the parameters with those of the implementation
        return method if isinstance(a, USMNdArray) else None

    return choose


_FUNCTIONS: dict[Any, Implementation] = {
    np.sum: lambda a: a.sum(), np.prod: lambda a: a.prod(), np.mean: lambda a: a.mean(), np.any: lambda a: a.any(),
    np.all: lambda a: a.all(), np.min: lambda a: a.min(), np.max: lambda a: a.max(),
    np.argmin: lambda a: a.argmin(), np.argmax: lambda a: a.argmax(),
}  # fmt: skip


def _refusal(name: str) -> Implementation:
    def choose(_a: Any, *_arguments: Any) -> None:
        raise TypingError(f"{name}: {_ADVICE}")

    return choose


def _refused_allocation(_cls: Any, _size: Any, _align: Any) -> None:
    """Raise the error for any other new array in numba's code, such as for ``a + b`` and ``numpy.zeros``."""
    raise TypingError(_ADVICE)


def _register() -> None:
    for choose in (_sum, _prod, _mean, _any, _all, _min, _max, _argmin, _argmax):
        overload_method(USMNdArray, choose.__name__[1:], target=TARGET)(choose)
    for function, method in _FUNCTIONS.items():
        overload(function, target=TARGET)(_of_numpy(method))
    for name in _NEW_ARRAYS:
        overload_method(USMNdArray, name, target=TARGET)(_refusal(name))
    for kind in (types.Array, USMNdArray, DpnpNdArray, LocalAccessorType, PrivateArrayType):
        overload_classmethod(kind, "_allocate", target=TARGET)(_refused_allocation)


_register()
