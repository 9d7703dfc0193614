"""The types of arrays for `numba.typeof`, such as signatures given ahead are made from."""

from __future__ import annotations

from typing import Any

import dpnp
import dpnp.tensor
from numba.core.typing.typeof import typeof_impl
from numba.np.numpy_support import from_dtype

from .types import DpnpNdArray, USMNdArray


def _type(family: type[USMNdArray], usm: Any) -> USMNdArray:
    layout = "C" if usm.flags.c_contiguous else "F" if usm.flags.f_contiguous else "A"
    return family(usm.ndim, from_dtype(usm.dtype), layout, readonly=not usm.flags.writable)


@typeof_impl.register(dpnp.tensor.usm_ndarray)  # type: ignore[untyped-decorator, unused-ignore]
def _of_usm_ndarray(value: Any, _purpose: Any) -> USMNdArray:
    return _type(USMNdArray, value)


@typeof_impl.register(dpnp.ndarray)  # type: ignore[untyped-decorator, unused-ignore]
def _of_dpnp_ndarray(value: Any, _purpose: Any) -> USMNdArray:
    return _type(DpnpNdArray, value.get_array())
