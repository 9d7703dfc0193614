"""Loops with a condition are compiled once, also where CPython ends them with a branch around a jump."""

from __future__ import annotations

from typing import Any

import dpnp
import numpy as np
import pytest
from test_line_tables import instructions

from ishmem import dpex
from ishmem.dpex import kernel_api as kapi

STORE = 62


@dpex.kernel
def count_down(item: kapi.Item, a, n):
    left = n
    while left > 0:
        left -= 1
        a[left] = left


@dpex.kernel
def count_by_conditions(item: kapi.Item, a, n):
    i = 0
    while i < n:
        if i == 5:
            i += 2
            continue
        if i == 11:
            break
        a[i] = i
        i += 1


@dpex.kernel
def count_in_two_loops(item: kapi.Item, a, n):
    i = 0
    while i < n:
        j = 0
        while j < 3 and i < n:
            a[i] = i
            i += 1
            j += 1


@pytest.mark.parametrize("n", [0, 1, 2, 20])
@pytest.mark.parametrize("kernel", [count_down, count_by_conditions, count_in_two_loops])
def test_values(kernel: Any, n: int) -> None:
    a, expected = dpnp.full(20, -1, dtype="i8"), np.full(20, -1)
    dpex.call_kernel(kernel, dpex.Range(1), a, n)
    kernel.py_func(None, expected, n)
    np.testing.assert_array_equal(a.asnumpy(), expected)


def test_the_body_is_there_once(valid_spirv: list[Any]) -> None:
    dpex.call_kernel(dpex.kernel(count_down.py_func), dpex.Range(1), dpnp.zeros(20, dtype="i8"), 3)
    assert [op for op, _ in instructions(valid_spirv[-1].spirv)].count(STORE) == 1
