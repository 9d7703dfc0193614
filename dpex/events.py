"""Events of failed commands: ``dpctl.SyclEvent.wait`` returns as if they had succeeded; here it raises."""

from __future__ import annotations

import ctypes
import gc
from typing import Any

import dpctl

from .errors import DeviceLostError
from .extension import installed

_members: dict[str, Any] = gc.get_referents(dpctl.SyclEvent.__dict__)[0]
_wait = _members["wait"]


def wait(event: dpctl.SyclEvent) -> None:
    """Wait until the command of an event has ended.

    Raises:
        LevelZeroError: It has failed; in a job of ishmem.
        DeviceLostError: It has failed.
    """
    _wait(event)
    if event.execution_status is not dpctl.event_status_type.complete:
        installed().raise_problems()
        raise DeviceLostError()


def install() -> None:
    """Make `wait` the method of dpctl's class: dpctl takes no events of a subclass."""
    _members["wait"] = wait
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(dpctl.SyclEvent))
