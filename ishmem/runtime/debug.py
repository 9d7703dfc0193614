"""Messages of ``ISHMEM_DEBUG`` at the start of a PE: its device, its heap and the routes to other PEs."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ishmem.common.sizes import format_size
from ishmem.environment import stack
from ishmem.runtime.copy_engine import NEVER

if TYPE_CHECKING:
    from ishmem.runtime.job import Job
    from ishmem.runtime.kernel_routes import Route

log = logging.getLogger("ishmem")


def log_start(this: Job) -> None:
    """Log device, heap and routes of this PE, if the logger is enabled for the level INFO."""
    if log.isEnabledFor(logging.INFO):
        for line in (_device(this), _heap(this), *_routes(this)):
            log.info("%s", line)


def describe_route(cutover: int, by_mapping: bool, kernels: Route, is_locked: bool) -> str:
    """Return a description of how copies, host atomics and kernels access the memory of a PE of the node.

    Args:
        cutover: Bytes from which the copy engine copies; `NEVER` for never.
        by_mapping: Whether the host does atomics on its mapping.
        kernels: The route of kernels.
        is_locked: Whether the hosts do all atomics on that memory, under a lock.
    """
    copies = "mapped" if cutover == NEVER else f"mapped, copy engine from {format_size(cutover)}"
    atomics = "mapped, under a lock" if is_locked else "mapped" if by_mapping else "by a kernel"
    return f"copies {copies}; atomics {atomics}; kernels {kernels.words}"


def _device(this: Job) -> str:
    near = ", ".join(map(str, this.node.pes))
    return f"device: {this.heap.own_device.name}, by {stack.loaded_loader()}; PE {near} of {this.n_pes} on this node"


def _heap(this: Job) -> str:
    heap, user = this.heap, this.heap.size - this.heap.layout.size
    return f"heap: {format_size(user)} for the program and {heap.layout.size} bytes of ishmem, at {heap.base:#x}"


def _routes(this: Job) -> Iterator[str]:
    """Yield a description of each route, with the PEs that are accessed by it."""
    heap = this.heap
    kernels = dict(zip(this.node.pes, heap.kernel_routes()))
    routes: dict[str, list[int]] = {}
    for pe in range(this.n_pes):
        near = describe_route(*heap.host_routes, kernels[pe], heap.atomics_by_host[pe]) if pe in kernels else ""
        routes.setdefault(near or "messages over MPI", []).append(pe)
    for route, pes in routes.items():
        yield f"route to PE {', '.join(map(str, pes))}: {route}"
