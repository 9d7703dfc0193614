"""How the processes of a job end once it has failed: by themselves, else by SIGTERM, else by SIGKILL.

The states of a job are in ``docs/reliability.md``: running, failing, ending, killing.
"""

from __future__ import annotations

import signal
from typing import NamedTuple


class Patience(NamedTuple):
    """How long one that watches processes waits for them.

    Attributes:
        failing: Seconds after a loss in which they may end by themselves: their waits raise ``PeerLost``.
        ending: Seconds from SIGTERM to SIGKILL.
    """

    failing: float
    ending: float


SUPERVISOR = Patience(failing=3.0, ending=2.0)
"""Of the supervisor, and of ``ishmem run --hosts``."""
MONITOR = Patience(failing=1.7, ending=0.5)
"""Of the monitor of a node, in jobs over MPI."""
REACTING = 4.0
"""Seconds after a loss in which a PE that has told its monitor of ``PeerLost`` may end by itself."""
AFTER_SIGNAL = 10.0
"""Seconds from a signal of the user to SIGKILL."""


class Ending:
    """The signals that processes have still to get, each with its time."""

    def __init__(self) -> None:
        """Let the processes run."""
        self._due: list[tuple[float, signal.Signals]] = []

    def begin(self, at: float, patience: Patience) -> None:
        """Send SIGTERM at a time, in place of what was due before, and SIGKILL after it."""
        self._due = [(at, signal.SIGTERM), (at + patience.ending, signal.SIGKILL)]

    def kill(self, at: float) -> None:
        """Send SIGKILL at a time, if nothing else has done so."""
        self._due = sorted([*self._due, (at, signal.SIGKILL)])

    @property
    def next(self) -> float | None:
        """The time of the next signal."""
        return self._due[0][0] if self._due else None

    def take(self, now: float) -> signal.Signals | None:
        """Return the signal that is due, once."""
        if not self._due or now < self._due[0][0]:
            return None
        number = self._due.pop(0)[1]
        if number == signal.SIGKILL:
            self._due.clear()
        return number
