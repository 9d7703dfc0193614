"""Copies between the host and arrays on any queue, without a wait for a queue of the program.

``asnumpy()`` waits for the array's queue, whose on-queue operations may need the caller to continue.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ishmem import _core
from ishmem.environment import arrays
from ishmem.runtime import foreign, job


def to_host(array: Any) -> np.ndarray[Any, Any]:
    """Return the elements of an array as a numpy array: a copy of one on the device, else on the same memory."""
    found = foreign.native(array)
    if not arrays.on_device(found):
        return np.asarray(found)
    _core.settle_submitted()
    host: np.ndarray[Any, Any] = arrays.tensor.asnumpy(_on_own_queue(found))
    return host


def write(array: Any, values: np.ndarray[Any, Any]) -> None:
    """Write ``values`` to the first elements of an array of one axis; complete when it returns."""
    found = foreign.native(array)
    if arrays.on_device(found):
        _core.settle_submitted()
        found = _on_own_queue(found)
        values = arrays.tensor.asarray(values.astype(found.dtype), sycl_queue=found.sycl_queue)
    found[: len(values)] = values
    if arrays.on_device(found):
        found.sycl_queue.wait()


def _on_own_queue(array: Any) -> Any:
    found = arrays.usm_array(array)
    if not hasattr(found, "to_device"):  # a memory object: use the array of its bytes
        found = arrays.tensor.usm_ndarray((found.nbytes,), dtype="u1", buffer=found)
    return found.to_device(job.current().heap.own_queue)
