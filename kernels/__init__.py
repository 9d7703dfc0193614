"""The device side: what the names of ``ishmem`` mean inside numba-dpex kernels.

Importing it registers an overload of each host function for the device target, so that the same name in a
kernel compiles to the device form. A kernel author passes arrays and PE numbers, nothing else.
"""

from __future__ import annotations

from ishmem.layout import Layout

from . import amo, collectives, locks, order, query, rma, signals, state, strided, sync, sync_sets, teams

__all__ = [
    "amo", "bind", "collectives", "locks", "order", "query", "rma", "signals", "state", "strided", "sync", "sync_sets",
    "teams", "unbind",
]  # fmt: skip


def bind(heap: int, layout: Layout, pe: int, n_pes: int) -> None:
    """Bake the facts of a started job into the kernels that are compiled from now on."""
    state.bind(state.State(heap, layout, pe, n_pes))


def unbind() -> None:
    """Refuse to compile kernels that use ishmem, since the job has ended."""
    state.bind(None)
