"""Loops with a condition are compiled once, also where CPython ends them with a branch around a jump."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import dpnp
import numpy as np
import pytest
from launching import own_compiler
from numba.core import ir
from numba.core.compiler import run_frontend

from ishmem import dpex
from ishmem.dpex import kernel_api as kapi


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


@own_compiler
def test_no_block_only_jumps() -> None:
    """Of the counts of a put by a sub-group, ``docs/counts.json`` has those of the shorter loops."""
    from ishmem.dpex.compile.passes import EmptyBlocks

    blocks = run_frontend(count_down.py_func).blocks
    changed = EmptyBlocks().run_pass(SimpleNamespace(func_ir=SimpleNamespace(blocks=blocks)))
    assert changed or sys.version_info < (3, 12)
    assert not any(isinstance(each.body[0], ir.Jump) for each in blocks.values())
    assert {label for each in blocks.values() for label in each.terminator.get_targets()} <= set(blocks)
