"""Views of an array as another dtype, and iteration over ``a.flat``."""

from __future__ import annotations

from typing import Any

import dpnp
import numpy as np
import pytest
from launching import own_compiler

from ishmem import dpex
from ishmem.dpex import kernel_api as kapi

pytestmark = own_compiler

COUNT = 200

VIEWS = [
    "a.view(np.int32)", "a.view(np.int16)", "a.view(dtype=np.int8)", "a.view('uint64')", "a[1:].view(np.int64)",
    "a[:, 1:].view(np.int32)", "a[:, 1:].view(np.int16)", "a[:, ::2].view(np.int32)", "a[:, 1:5].view(np.int64)",
    "a.T.view(np.int32)", "a[::-1].view(np.int16)", "a[:, ::-1].view(np.int32)", "a[0].view(np.uint64)",
    "a[1, ::2].view(np.int32)", "a[1:2].view(np.float16)", "a.reshape(2, 3, 4)[1].view(np.int64)",
    "a[2, 3:4].view(np.int16)", "a.view(np.dtype('int32'))", "a[:0].view(np.int16)", "a.reshape(24).view(np.bool_)",
]  # fmt: skip
WRONG = ["a[:, ::2].view(np.int16)", "a[:, 1:].view(np.int64)", "a.T.view(np.int16)"]


def launch(expression: str) -> tuple[list[float], list[float]]:
    """Return shape and elements of a view in a kernel, and in numpy, where the elements are 1 if it raises."""
    lines = ["def kernel(item, a, out):", f"    view, n = {expression}, 0"]
    lines += ["    out[0], out[1] = view.size, view.shape[view.ndim - 1]"]
    lines += ["    for each in view.flat:", "        out[2 + n] = np.float64(each)", "        n += 1"]
    scope: dict[str, Any] = {"np": np}
    exec("\n".join(lines), scope)
    values, wanted = np.arange(1, 25, dtype=np.float32).reshape(4, 6), np.ones(COUNT)
    out = dpnp.asarray(wanted)
    dpex.call_kernel(dpex.kernel(scope["kernel"]), dpex.Range(1), dpnp.asarray(values), out)
    try:
        scope["kernel"](None, values, wanted)
    except ValueError:
        wanted[:] = 1
    return dpnp.asnumpy(out).tolist(), wanted.tolist()


@pytest.mark.parametrize("expression", VIEWS)
def test_views(expression: str) -> None:
    got, wanted = launch(expression)
    np.testing.assert_equal(got, wanted)
    assert wanted != [1] * COUNT


@pytest.mark.parametrize("expression", WRONG)
def test_a_view_that_numpy_refuses_ends_the_work_item(expression: str) -> None:
    got, wanted = launch(expression)
    assert got == wanted == [1] * COUNT


def test_stores_and_other_memory() -> None:
    @dpex.kernel
    def kernel(item: kapi.NdItem, a, local, out):
        a.view(np.int32)[1, 2] = 7
        a[0].view(np.complex64)[1] = 3 - 4j
        local.view(np.float32)[0] = 1.0
        private = kapi.PrivateArray(2, np.float64, fill_zeros=True)
        private.view(np.int64)[1] = 4607182418800017408  # 1.0
        out[0], out[1] = local[0], private[1]

    a, out = dpnp.zeros((2, 4), dtype="f4"), dpnp.zeros(2)
    dpex.call_kernel(kernel, dpex.NdRange((1,), (1,)), a, kapi.LocalAccessor((1,), np.int32), out)
    assert a.asnumpy()[0].tolist() == [0, 0, 3, -4]
    assert a.asnumpy().view(np.int32)[1].tolist() == [0, 0, 7, 0]
    assert out.asnumpy().tolist() == [0x3F800000, 1]
