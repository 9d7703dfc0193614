"""Deferral of Python's signal handlers during an import: a handler may be the first to use a name of ishmem.

Python runs handlers between two steps of the main thread. During the import of a module, not all of its names are
defined, so a handler that imports the same module could find it incomplete.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any


@contextlib.contextmanager
def deferred() -> Iterator[None]:
    """Defer Python's signal handlers to the end of the block, where they run in the order of their signals.

    That of SIGINT is not deferred in a job. Blocks may be nested. It has no effect in threads but the main one.
    """
    if threading.current_thread() is not threading.main_thread():  # handlers run in that one
        yield
        return
    came: list[tuple[int, FrameType | None]] = []

    def note(number: int, frame: FrameType | None) -> None:
        came.append((number, frame))

    before: dict[int, Any] = {number: it for number in signal.valid_signals() if (it := _handler(number))}
    for number in before:
        signal.signal(number, note)
    try:
        yield
    finally:
        for number, handler in before.items():
            if signal.getsignal(number) is note:  # the program has not set another one
                signal.signal(number, handler)
        for came_first, frame in came:
            before[came_first](came_first, frame)


def _handler(number: int) -> Any:
    """Return Python's handler of a signal; None if there is none, or none that may be replaced."""
    job = sys.modules.get("ishmem.runtime.job")
    if number == signal.SIGINT and job and job.running():  # the watchdog of the core is in front of it
        return None
    handler = signal.getsignal(number)
    return handler if callable(handler) and not isinstance(handler, signal.Handlers) else None
