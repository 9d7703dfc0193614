"""Kernels whose instructions a card counts: each does one operation ``n`` times, as those of ``bare_kernels.cl``."""

# Kernels have the types of numba, not those of mypy.
# mypy: ignore-errors

from __future__ import annotations

import ishmem
from ishmem import dpex, inference
from ishmem.dpex import kernel_api as kapi
from ishmem.kernels.intrinsics import memory_fence
from ishmem.kernels.memory_orders import Order

GE = int(ishmem.CMP_GE)

merge_nothing = memory_fence(Order.RELEASE)
"""A fence, so that the compiler does not make one copy of several."""


@dpex.kernel
def p(item: kapi.NdItem, a, b, pe, n):
    for k in range(n):
        ishmem.p(a, k, pe, k)


@dpex.kernel
def g(item: kapi.NdItem, a, b, pe, n):
    for k in range(n):
        b[k] = ishmem.g(a, pe, k)


@dpex.kernel
def atomic_fetch_add(item: kapi.NdItem, a, b, pe, n):
    for k in range(n):
        b[k] = ishmem.atomic_fetch_add(a, k, pe, k)


def put_by(name, elements):
    """Return the kernel that puts so many elements of 8 bytes, by a caller."""

    def put(item: kapi.NdItem, a, b, pe, n):
        for _ in range(n):
            ishmem.put(a, b, pe, elements)
            merge_nothing()

    def put_sub_group(item: kapi.NdItem, a, b, pe, n):
        for _ in range(n):
            ishmem.put_work_group(a, b, pe, item.get_sub_group(), elements)

    def put_work_group(item: kapi.NdItem, a, b, pe, n):
        for _ in range(n):
            ishmem.put_work_group(a, b, pe, item.get_group(), elements)

    return dpex.kernel({"put": put, "put_sub_group": put_sub_group, "put_work_group": put_work_group}[name])


@dpex.kernel
def wait_until(item: kapi.NdItem, a, b, pe, n):
    ishmem.wait_until(a, GE, n)


@dpex.kernel
def fence(item: kapi.NdItem, a, b, pe, n):
    for k in range(n):
        ishmem.p(a, k, pe, k)
        ishmem.fence()


@dpex.kernel
def quiet(item: kapi.NdItem, a, b, pe, n):
    for k in range(n):
        ishmem.p(a, k, pe, k)
        ishmem.quiet()


@dpex.kernel
def barrier_all(item: kapi.NdItem, a, b, pe, n):
    for _ in range(n):
        ishmem.barrier_all()


@dpex.kernel
def sum_reduce(item: kapi.NdItem, a, b, pe, n):
    for _ in range(n):
        ishmem.sum_reduce(a, b)


@dpex.kernel
def all_reduce(item: kapi.NdItem, dest, source, workspace, n):
    inference.all_reduce_work_group(dest, source, workspace, item.get_group())
