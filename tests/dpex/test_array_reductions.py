"""``sum``, ``min`` and the like of arrays in kernels; what is refused is in test_unsupported.py."""

from __future__ import annotations

import math
from typing import Any, Callable

import dpnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as arrays
from launching import own_compiler

from ishmem import dpex
from ishmem.dpex import kernel_api as kapi

pytestmark = own_compiler


@dpex.kernel
def of_numbers(item, a, out):
    out[0], out[1], out[2], out[3] = a.sum(), a.prod(), a.mean(), a.any()
    out[4], out[5], out[6], out[7] = a.all(), a.min(), a.max(), a.argmin()
    out[8] = a.argmax()
    out[9], out[10], out[11] = np.sum(a), np.max(a), np.argmin(a)
    out[12], out[13] = a.size, len(a)


def in_numpy(a: np.ndarray) -> list[float]:
    found = [a.sum(), a.prod(), a.mean(), a.any(), a.all(), a.min(), a.max(), a.argmin(), a.argmax()]
    return [float(each) for each in [*found, a.sum(), a.max(), a.argmin(), a.size, len(a)]]


def elements(dtype: Any) -> Any:
    """Return numbers whose sums and products are exact."""
    if np.dtype(dtype).kind == "f":
        return st.sampled_from([0.0, 1.0, -2.0, 0.5, math.nan, math.inf])
    return st.integers(0, 1) if dtype is np.bool_ else st.integers(0 if np.dtype(dtype).kind == "u" else -3, 3)


@pytest.mark.slow_types
@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint16, np.int64, np.float32, np.float64])
@pytest.mark.parametrize("form", ["line", "every second", "tile", "transposed"])
def test_reductions(dtype: Any, form: str) -> None:
    shapes = arrays.array_shapes(min_dims=1, max_dims=1) if form in ("line", "every second") else st.just((3, 4))

    @settings(max_examples=20, deadline=None)
    @given(arrays.arrays(dtype, shapes, elements=elements(dtype)))
    def compare(values: np.ndarray) -> None:
        a, out = dpnp.asarray(values), dpnp.zeros(14)
        views: dict[str, Callable[[Any], Any]] = {
            "line": lambda x: x, "every second": lambda x: x[::2], "tile": lambda x: x[:, 1:],
            "transposed": lambda x: x.T,
        }  # fmt: skip
        dpex.call_kernel(of_numbers, dpex.Range(1), views[form](a), out)
        with np.errstate(invalid="ignore"):
            np.testing.assert_equal(dpnp.asnumpy(out), np.array(in_numpy(views[form](values))))

    compare()


def test_complex_and_half() -> None:
    @dpex.kernel
    def kernel(item, z, h, out):
        out[0], out[1], out[2] = z.sum(), z.mean(), np.prod(z)
        out[3] = complex(np.float64(h.sum()), np.float64(h.max()))

    z, h = np.array([1 + 2j, 3j, -1], np.complex64), np.array([1, 2.5, -1], np.float16)
    out = dpnp.zeros(4, dtype="c16")
    dpex.call_kernel(kernel, dpex.Range(1), dpnp.asarray(z), dpnp.asarray(h), out)
    np.testing.assert_allclose(dpnp.asnumpy(out), [z.sum(), z.mean(), z.prod(), 2.5 + 2.5j], rtol=1e-6)


def test_of_private_and_local_arrays() -> None:
    @dpex.kernel
    def kernel(item: kapi.NdItem, local, out):
        i = item.get_local_id(0)
        private = kapi.PrivateArray((2, 3), np.int64)
        private.fill(i + 1)
        local[i] = private.sum()
        kapi.group_barrier(item.get_group())
        out[i] = local.max()

    out = dpnp.zeros(8, dtype="i8")
    dpex.call_kernel(kernel, dpex.NdRange((8,), (8,)), kapi.LocalAccessor((8,), np.int64), out)
    assert dpnp.asnumpy(out).tolist() == [48] * 8


@dpex.kernel
def of_many(item, halves, wide, out):
    out[0], out[1], out[2], out[3] = halves.sum(), halves.mean(), halves.prod(), wide.mean()


def test_intermediate_results_are_those_of_numpy() -> None:
    """float16 is added and multiplied in float32, and the mean of integers in float64."""
    halves, wide = np.full(30, 2048, np.float16), np.full(4, 2**62)
    halves[1::2] = 2.0**-11
    out = dpnp.zeros(4)
    dpex.call_kernel(of_many, kapi.Range(1), dpnp.asarray(halves), dpnp.asarray(wide), out)
    assert out.asnumpy().tolist() == [float(each) for each in (halves.sum(), halves.mean(), halves.prod(), wide.mean())]
