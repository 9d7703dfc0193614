"""Kernels compile without repeated work, and to the same results."""

from __future__ import annotations

import pytest
from common import dpex, kapi
from numba_dpex.core.descriptor import dpex_kernel_target
from subprocesses import run_program, succeeded

import ishmem
from ishmem.dpex.front_end.numba_dpex import compilation


@dpex.device_func
def twice(x):
    return x + x


@dpex.device_func
def twice_plus(x, y):
    return twice(x) + y


@dpex.kernel
def adds(item: kapi.Item, a):
    i = item.get_linear_id()
    a[i] = twice_plus(a[i], 1)


@dpex.kernel
def subtracts(item: kapi.Item, a):
    i = item.get_linear_id()
    a[i] = twice_plus(a[i], -1)


@pytest.mark.ishmem(1)
def test_compiling_adds_no_definitions_to_numba() -> None:
    """Compiling does not add definitions of mathematical functions to numba's tables."""
    context = dpex_kernel_target.target_context
    functions = {function for _, function, _ in compilation.dpnpimpl.registry.functions}

    def definitions() -> int:
        return sum(len(context._defns[function].versions) for function in functions)

    a = ishmem.ones(8, dtype="i2")
    dpex.call_kernel(adds, kapi.Range(8), a)
    before = definitions()
    dpex.call_kernel(subtracts, kapi.Range(8), a)
    context.refresh()
    assert definitions() == before
    assert a.asnumpy().tolist() == [5] * 8


def test_a_launch_does_not_import_scipy() -> None:
    """Only the host's matrix products need its BLAS."""
    program = """
import sys

import ishmem
import numba
import numpy as np
from ishmem.dpex import call_kernel, kernel, kernel_api as kapi

@kernel
def add(item: kapi.Item, a):
    a[0] += 1

with ishmem.init():
    a = ishmem.zeros(1, dtype="i4")
    call_kernel(add, kapi.Range(1), a)
    assert int(a[0]) == 1 and "scipy.linalg" not in sys.modules
    ishmem.free(a)
m = np.arange(6.0).reshape(2, 3)
assert (numba.njit(lambda x, y: np.dot(x, y))(m, m.T) == m @ m.T).all()
"""
    succeeded(run_program(program, 1))
