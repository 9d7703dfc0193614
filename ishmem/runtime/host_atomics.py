"""Host atomics by a device kernel, for device memory that the host cannot update atomically.

One work-item calls the device form of the routine, so host and kernel atomics are the same operation.
"""

from __future__ import annotations

import functools
from typing import Any, Callable

import dpnp

from ishmem import dpex
from ishmem.dpex import kernel_api as kapi
from ishmem.runtime import job


@functools.cache
def _kernel(routine: Callable[..., Any], n_operands: int) -> Any:
    """Return the kernel ``(target, operands, pe, index, old)`` of a fetching atomic."""

    def run_0(item: kapi.Item, target, operands, pe, index, old):  # type: ignore[no-untyped-def]
        old[0] = routine(target, pe, index)

    def run_1(item: kapi.Item, target, operands, pe, index, old):  # type: ignore[no-untyped-def]
        old[0] = routine(target, operands[0], pe, index)

    def run_2(item: kapi.Item, target, operands, pe, index, old):  # type: ignore[no-untyped-def]
        old[0] = routine(target, operands[0], operands[1], pe, index)

    return dpex.kernel((run_0, run_1, run_2)[n_operands])


def atomic_by_kernel(routine: Callable[..., Any], target: Any, pe: int, index: int, operands: list[Any]) -> Any:
    """Run a fetching atomic in a kernel and return the old value; blocking.

    The kernel has a queue of its own: on a queue of the program it could wait behind a kernel that waits for this very
    operation.
    """
    queue = job.current().heap.atomics_queue
    given = dpnp.zeros(max(len(operands), 1), dtype=target.dtype, sycl_queue=queue)
    for position, operand in enumerate(operands):
        given[position] = operand[0]
    old = dpnp.empty(1, dtype=target.dtype, sycl_queue=queue)
    kernel = _kernel(routine, len(operands))
    with job.current().heap.naming_loss():
        dpex.call_kernel(kernel, kapi.Range(1), target.to_device(queue), given, pe, index, old)
        job.current().heap.raise_lost_device()  # dpctl's wait for a queue would end the process
        return old.asnumpy()[0].item()
