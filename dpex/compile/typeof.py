"""The types of arrays, for ``numba.typeof``."""

from __future__ import annotations

import functools
import sys
from typing import Any, TypeVar

from numba.extending import typeof_impl
from numba.np import numpy_support

from .types import DpnpNdArray, USMNdArray

Kind = TypeVar("Kind", bound=USMNdArray)


def register() -> None:
    """Let numba know arrays, if the program has imported dpnp: its import takes long."""
    if "dpnp" in sys.modules:
        _register()


@functools.cache
def _register() -> None:
    import dpnp

    @typeof_impl.register(dpnp.ndarray)  # type: ignore[untyped-decorator, unused-ignore]
    def _of_dpnp(array: Any, _context: Any) -> DpnpNdArray:
        return _type(array.get_array(), DpnpNdArray)

    @typeof_impl.register(dpnp.tensor.usm_ndarray)  # type: ignore[untyped-decorator, unused-ignore]
    def _of_usm(array: Any, _context: Any) -> USMNdArray:
        return _type(array, USMNdArray)


def _type(array: Any, family: type[Kind]) -> Kind:
    layout = "C" if array.flags.c_contiguous else "F" if array.flags.f_contiguous else "A"
    dtype = numpy_support.from_dtype(array.dtype)
    return family(array.ndim, dtype, layout, readonly=not array.flags.writable)


register()
