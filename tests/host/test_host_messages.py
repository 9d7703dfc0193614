"""Host calls with mistakes of newcomers: the error names what to write instead."""

from __future__ import annotations

import numpy as np
import pytest
from common import dpnp, refused

import ishmem


@pytest.mark.ishmem(2)
def test_messages() -> None:
    me = ishmem.my_pe()
    a, m = ishmem.zeros(4), ishmem.zeros((2, 3))
    fortran = dpnp.zeros((2, 3), order="F", sycl_queue=a.sycl_queue)
    refused(ishmem.SymmetryError, r"dest is a ndarray in host memory, not on the symmetric heap; .*ishmem.static",
            ishmem.put, np.zeros(4), a, me)  # fmt: skip
    refused(ValueError, r"orders differ, dest in C order and source in Fortran order; .*asarray\(source, order='C'\)",
            ishmem.sum_reduce, m, fortran)  # fmt: skip
    refused(IndexError, "index is 0; dest has no elements", ishmem.p, a[2:2], 1, me)
    for routine, arguments in (
        (ishmem.p, (a, 1, True)),
        (ishmem.g, (a, False)),
        (ishmem.put, (a, a, True)),
        (ishmem.atomic_add, (ishmem.zeros(1, dtype="i8"), 1, True)),
        (ishmem.ptr, (a, True)),
    ):
        refused(TypeError, "pe is an integer, got bool", routine, *arguments)


@pytest.mark.parametrize(
    ("name", "wanted"),
    [("allreduce", "sum_reduce"), ("barrier", "barrier_all"), ("send", "put"), ("rank", "my_pe")],
)
def test_names_of_other_libraries(name: str, wanted: str) -> None:
    words = rf"module 'ishmem' has no attribute '{name}'; its name here is {wanted}"
    refused(AttributeError, words, getattr, ishmem, name)
    assert not hasattr(ishmem, name)
