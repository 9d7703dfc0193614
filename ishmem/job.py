"""The state of this process as a PE: who it is, its heap, its links, and how PEs agree."""

from __future__ import annotations

import logging
from collections import Counter
from typing import TYPE_CHECKING, NoReturn

from . import _core
from .errors import PeerLost, StateError, SymmetryError
from .layout import RECORD

if TYPE_CHECKING:
    from .engine import CopyEngine
    from .heap import SymmetricHeap
    from .ipc.exchange import Links
    from .settings import Settings

log = logging.getLogger("ishmem")


class Job:
    """One per process, from ``init`` to ``finalize``."""

    links: Links
    heap: SymmetricHeap
    engine: CopyEngine

    def __init__(self, pe: int, n_pes: int, settings: Settings) -> None:
        self.pe, self.n_pes, self.settings = pe, n_pes, settings
        self.gone: dict[int, str] = {}
        self._sequence = 0

    def on_lost(self, pe: int, how: str) -> None:
        """Note that a PE has died; called by the thread that reads the links."""
        self.gone[pe] = how
        log.warning("PE %d is lost: %s", pe, how)
        _core.set_lost(pe)

    def on_left(self, pe: int) -> None:
        """Note that a PE has finalised; called by the thread that reads the links."""
        self.gone.setdefault(pe, "it has finalised or exited")
        _core.set_left(pe)

    def raise_lost(self, routine: str) -> NoReturn:
        """Raise the error of a call that needs a PE that is gone."""
        pe, how = next(iter(self.gone.items()), (-1, "unknown"))
        raise PeerLost(f"{routine} on PE {self.pe}: PE {pe} is gone ({how})", pe)

    def barrier(self, routine: str) -> None:
        """Wait until every PE has called; collective, completes no operation."""
        if _core.barrier(-1.0) != _core.SATISFIED:
            self.raise_lost(routine)

    def agree(self, routine: str, request: str) -> None:
        """Raise ``SymmetryError`` on every PE unless all make the same request; collective, a barrier."""
        self._sequence += 1
        record = f"{self._sequence}\0{routine}\0{request}".encode()[:RECORD].ljust(RECORD, b"\0")
        place = self.heap.layout.agree(self._sequence, self.pe)
        for pe in range(self.n_pes):
            _core.write(pe, place, record)
        self.barrier(routine)
        first = self.heap.layout.agree(self._sequence, 0)
        records = [_core.read(self.pe, first + RECORD * pe, RECORD) for pe in range(self.n_pes)]
        if len(set(records)) > 1:
            raise SymmetryError(_describe_dissent(routine, records))


def _describe_dissent(routine: str, records: list[bytes]) -> str:
    common = Counter(records).most_common()
    split = len(common) > 1 and common[0][1] == common[1][1]
    odd = [pe for pe, record in enumerate(records) if split or record != common[0][0]]
    parts = [f"PE {pe}: {_words(records[pe])}" for pe in odd]
    if not split:
        parts.append(f"the other {common[0][1]}: {_words(common[0][0])}")
    return f"{routine}: the PEs disagree; " + "; ".join(parts)


def _words(record: bytes) -> str:
    fields = record.rstrip(b"\0").split(b"\0")
    if len(fields) != 3:
        return "no matching call"
    sequence, routine, request = (field.decode(errors="replace") for field in fields)
    return f"{routine} {request} (collective call {sequence})"


_job: Job | None = None
_finished = False


def current() -> Job:
    """Return the running job.

    Raises:
        StateError: Before ``init`` or after ``finalize``.
    """
    if _job is None:
        when = "after ishmem.finalize()" if _finished else "before ishmem.init()"
        raise StateError(f"ishmem was called {when}; it is usable from init to finalize")
    return _job


def running() -> bool:
    """Return whether the process is between ``init`` and ``finalize``."""
    return _job is not None


def start(job: Job) -> None:
    """Make ``job`` the running one."""
    global _job
    _job = job


def finish() -> None:
    """End the running job; there is no other one afterwards."""
    global _job, _finished
    _job, _finished = None, True


def finished() -> bool:
    """Return whether ``finalize`` has been called."""
    return _finished
