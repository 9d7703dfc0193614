"""Kernels whose instructions are counted: each does one operation ``n`` times, as those of ``bare_kernels.cl``."""

# Kernels have the types of numba, not those of mypy.
# mypy: ignore-errors

from __future__ import annotations

from typing import Any

import ishmem
from ishmem import dpex, inference
from ishmem.benchmarks.kernels import kernel_of
from ishmem.dpex import kernel_api as kapi
from ishmem.kernels.atomic_instructions import memory_fence
from ishmem.kernels.memory_orders import Order

merge_nothing = memory_fence(Order.RELEASE)
"""A fence, so that the compiler does not merge several copies."""

LOOPS: dict[str, tuple[str, ...]] = {
    "p": ("ishmem.p(a, k, pe, k)",),
    "g": ("b[k] = ishmem.g(a, pe, k)",),
    "atomic_fetch_add": ("b[k] = ishmem.atomic_fetch_add(a, k, pe, k)",),
    "fence": ("ishmem.p(a, k, pe, k)", "ishmem.fence()"),
    "quiet": ("ishmem.p(a, k, pe, k)", "ishmem.quiet()"),
    "barrier_all": ("ishmem.barrier_all()",),
    "sum_reduce": ("ishmem.sum_reduce(a, b)",),
    "put": ("ishmem.put(a, b, pe, elements)", "merge_nothing()"),
    "put_sub_group": ("ishmem.put_work_group(a, b, pe, item.get_sub_group(), elements)",),
    "put_work_group": ("ishmem.put_work_group(a, b, pe, item.get_group(), elements)",),
}
"""The body of the loop of each kernel ``(item, a, b, pe, n)``; ``k`` is the number of the iteration."""


def loop(name: str, elements: int = 0) -> Any:
    """Return kernel ``name`` of `LOOPS`; ``elements`` is the number of elements of a put, a constant of the kernel."""
    lines = [f"def {name}(item, a, b, pe, n):", "    for k in range(n):", *(f"        {line}" for line in LOOPS[name])]
    return kernel_of(lines, name, merge_nothing=merge_nothing, elements=elements)


GE = int(ishmem.CMP_GE)


@dpex.kernel
def wait_until(item: kapi.NdItem, a, b, pe, n):
    ishmem.wait_until(a, GE, n)


@dpex.kernel
def all_reduce(item: kapi.NdItem, dest, source, workspace, n):
    inference.all_reduce_work_group(dest, source, workspace, item.get_group())
