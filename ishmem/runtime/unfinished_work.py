"""Work of dpnp that has been submitted and may be incomplete: host calls of ishmem wait for it.

Since 0.17, dpnp returns before its kernels have run, and orders its operations by the order manager of dpctl. A host
call of ishmem accesses the memory of arrays directly, so it must wait for the program's earlier operations on them.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Callable, TypeVar, cast

from ishmem import _core

T = TypeVar("T", bound=Callable[..., Any])

_managers: Any = None
_original: Any = None
_complete: Any = None
"""An event that has completed."""
_seen: set[Any] = set()
"""The order managers, one for each queue, that have recorded work."""


def watch() -> None:
    """Record each operation that dpnp submits from now on; do nothing where dpnp waits for its kernels."""
    global _managers, _original, _complete
    import dpctl
    import dpctl.utils

    _managers = getattr(dpctl.utils, "SequentialOrderManager", None)
    if _managers is None or _original is not None:
        return
    kind, _complete = _kind(), dpctl.SyclEvent()
    original, original_wait = _original = kind.add_event_pair, kind.wait
    note = _core.note_submitted

    def add_event_pair(manager: Any, host_task: Any, computed: Any) -> None:
        original(manager, host_task, computed)
        _seen.add(manager)
        note()

    def wait(manager: Any) -> None:
        dpctl.SyclEvent.wait_for([*manager.host_task_events, *manager.submitted_events])  # not as SYCL waits
        original_wait(manager)

    _managers.clear()  # waits for what ran before
    kind.add_event_pair, kind.wait = add_event_pair, wait
    _core.settle_submitted_by(_wait)


def unwatch() -> None:
    """Stop recording the operations that dpnp submits, and restore its functions."""
    global _original
    if _original is not None:
        kind = _kind()
        (kind.add_event_pair, kind.wait), _original = _original, None
        _core.settle_submitted_by(None)
        _seen.clear()


def put_before_dpnp(queue: Any, event: Any) -> None:
    """Make dpnp's later operations on a queue start after an event; host calls of ishmem do not wait for it.

    With numba-dpex's stack nothing happens: the program has to wait for the event.
    """
    if _managers is not None:
        add = _original[0] if _original else _kind().add_event_pair
        add(_managers[queue], event, event)


def before(queue: Any) -> list[Any]:
    """Return the events of dpnp's operations on a queue, and those passed to `put_before_dpnp`; [] with numba-dpex."""
    return [] if _managers is None else list(_managers[queue].submitted_events)


@contextmanager
def following() -> Iterator[None]:
    """Make calls of this thread in the block not wait for dpnp's operations: they submit work to queues behind them."""
    before = _core.follow_events(True)
    try:
        yield
    finally:
        _core.follow_events(before)


def puts_on_queues(call: T) -> T:
    """Decorate a function that submits its work to queues, behind dpnp's operations there: see `following`."""

    def within(*arguments: Any, **named: Any) -> Any:
        with following():
            return call(*arguments, **named)

    within.__code__ = within.__code__.replace(co_name=call.__name__)  # by which reports of waits name it
    return cast(T, functools.wraps(call)(within))


def let_dpnp_wait(queue: Any, event: Any) -> None:
    """Make dpnp's synchronisation of a queue wait for an event; its later operations do not depend on it.

    The synchronisation of numba-dpex's stack waits for the queue.
    """
    if _managers is not None:
        add = _original[0] if _original else _kind().add_event_pair
        add(_managers[queue], event, _complete)  # as the release of arguments: waited for only


def _kind() -> Any:
    """Return the class of the order managers."""
    from dpctl.utils import _order_manager

    return _order_manager._SequentialOrderManager


def _wait() -> None:
    import dpctl

    for manager in list(_seen):
        dpctl.SyclEvent.wait_for(manager.submitted_events)  # unlike manager.wait(), while other threads add events
