"""Kernels of numba-dpex on in-order queues start after the events of other queues that they depend on."""

from __future__ import annotations

from typing import Any

import dpctl
import pytest
from common import dpex, kapi, tensor

LAUNCHES = 10


@dpex.kernel
def write_slowly(item: kapi.NdItem, a: Any, turns: int, value: int) -> None:
    total = a[0]
    for i in range(turns):
        total += i % 3
        a[1] = total
    a[0] = value


@dpex.kernel
def copy(item: kapi.NdItem, a: Any, out: Any, k: int) -> None:
    out[k] = a[0]


@pytest.mark.ishmem(1)
@pytest.mark.parametrize("first_property", [(), ("in_order",)], ids=["out_of_order", "in_order"])
def test_launches_wait_for_their_dependences(first_property: tuple[str, ...]) -> None:
    first = dpctl.SyclQueue(property=first_property)
    second = dpctl.SyclQueue(first.sycl_context, first.sycl_device, property="in_order")
    a = tensor.zeros(2, dtype="i8", sycl_queue=first)
    out = tensor.zeros(LAUNCHES, dtype="i8", sycl_queue=second)
    one, before = dpex.NdRange((1,), (1,)), ()
    for k in range(LAUNCHES):
        _, written = dpex.call_kernel_async(write_slowly, one, before, a, 1_000_000, k + 1)
        _, copied = dpex.call_kernel_async(copy, one, (written,), a.to_device(second), out, k)
        before = (copied,)
    copied.wait()
    assert tensor.asnumpy(out).tolist() == list(range(1, LAUNCHES + 1))
