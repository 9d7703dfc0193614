"""Replacements of dpctl's waits: they do not block other threads, and that for an event raises if its command failed.

``dpctl.SyclEvent.wait`` returns as if failed commands had succeeded; here it raises. ``wait_for`` and the wait for a
queue still return. While SYCL waits for a command that a host task delays, no other thread can submit; so the
`Extension` waits before SYCL does.
"""

from __future__ import annotations

import ctypes
import gc
from typing import Any

import dpctl

from ..errors import DeviceLostError
from ..extension import installed

_members: dict[str, Any] = gc.get_referents(dpctl.SyclEvent.__dict__)[0]
_of_queue: dict[str, Any] = gc.get_referents(dpctl.SyclQueue.__dict__)[0]
_wait, _wait_for, _wait_for_queue = _members["wait"], dpctl.SyclEvent.wait_for, _of_queue["wait"]


def wait(event: dpctl.SyclEvent) -> None:
    """Wait until the command of an event has ended.

    Raises:
        LevelZeroError: The command has failed, in a job of ishmem.
        DeviceLostError: The command has failed, in another process.
    """
    installed().settle(event)
    with installed().waiting():
        _wait(event)
    if event.execution_status is not dpctl.event_status_type.complete:
        installed().raise_problems()
        raise DeviceLostError()


def wait_for(events: Any) -> None:
    """Wait until the commands of ``events``, one event or several, have ended; return also if they have failed."""
    for event in (events,) if isinstance(events, dpctl.SyclEvent) else events:
        installed().settle(event)
    with installed().waiting():
        _wait_for(events)


def wait_for_queue(queue: dpctl.SyclQueue) -> None:
    """Wait until all commands of a queue have ended; return also if they have failed."""
    installed().settle_queue(queue)
    with installed().waiting():
        _wait_for_queue(queue)


def install() -> None:
    """Replace the methods of dpctl's classes by these functions; subclasses would not do, since dpctl refuses them."""
    _members.update(wait=wait, wait_for=staticmethod(wait_for))
    _of_queue["wait"] = wait_for_queue
    for kind in (dpctl.SyclEvent, dpctl.SyclQueue):
        ctypes.pythonapi.PyType_Modified(ctypes.py_object(kind))
