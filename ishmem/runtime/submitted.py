"""Work of dpnp that has been submitted and may be incomplete: host calls of ishmem wait for it.

Since 0.17, dpnp returns before its kernels have run, and orders its operations by the order manager of dpctl. A host
call of ishmem accesses the memory of arrays directly, so it must wait for the program's earlier operations on them.
"""

from __future__ import annotations

from typing import Any

from ishmem import _core

_managers: Any = None
_original: Any = None
_seen: set[Any] = set()
"""The order managers, one of each queue, that work has been given to."""


def watch() -> None:
    """Note each operation that dpnp submits; does nothing where dpnp waits for its kernels."""
    global _managers, _original
    import dpctl.utils

    _managers = getattr(dpctl.utils, "SequentialOrderManager", None)
    if _managers is None or _original is not None:
        return
    kind = _kind()
    original = _original = kind.add_event_pair
    note = _core.note_submitted

    def add_event_pair(manager: Any, host_task: Any, computed: Any) -> None:
        original(manager, host_task, computed)
        _seen.add(manager)
        note()

    _managers.clear()  # waits for what ran before
    kind.add_event_pair = add_event_pair
    _core.settle_submitted_by(_wait)


def unwatch() -> None:
    """Stop noting operations."""
    global _original
    if _original is not None:
        _kind().add_event_pair, _original = _original, None
        _core.settle_submitted_by(None)
        _seen.clear()


def put_before_dpnp(queue: Any, event: Any) -> None:
    """Let dpnp's later operations on a queue start after an event; host calls of ishmem do not wait for it.

    With numba-dpex's stack nothing happens: a program waits for the event.
    """
    if _managers is not None:
        add = _original or _kind().add_event_pair
        add(_managers[queue], event, event)


def _kind() -> Any:
    """Return the class of the order managers."""
    from dpctl.utils import _order_manager

    return _order_manager._SequentialOrderManager


def _wait() -> None:
    import dpctl

    for manager in list(_seen):
        dpctl.SyclEvent.wait_for(manager.submitted_events)  # unlike manager.wait(), while other threads add events
