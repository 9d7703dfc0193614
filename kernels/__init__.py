"""The device side: what the names of ``ishmem`` mean inside numba-dpex kernels.

Importing it registers an overload of each host function for the device target, so that the same name in a
kernel compiles to the device form. A kernel author passes arrays and PE numbers, nothing else.
"""

from __future__ import annotations

from . import amo, collectives, locks, order, query, rma, signals, state, strided, sync, sync_sets, teams

__all__ = [
    "amo", "bind", "collectives", "locks", "order", "query", "rma", "signals", "state", "strided", "sync", "sync_sets",
    "teams", "unbind",
]  # fmt: skip


def bind(facts: state.State) -> None:
    """Bake the facts of a started job into the kernels that are compiled from now on."""
    state.bind(facts)


def unbind() -> None:
    """Refuse to compile kernels that use ishmem, since the job has ended."""
    state.bind(None)
