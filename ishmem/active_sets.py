"""Active sets of OpenSHMEM 1.0: the PEs ``start``, ``start + stride``, ... as a team, created at the first call.

Only the members call, so there is no parent team to synchronise. Each member writes its request into a cache line on
every other member and waits for the requests of the others. Each pair of PEs numbers its calls for sets that contain
both. As both make these calls in the same order, requests of the same number are for the same set; otherwise both PEs
raise an error. Each pair uses two lines in turn: PE ``a`` writes request ``n + 1`` only after it has read request ``n``
of PE ``b``, so once ``b`` has read request ``n + 1`` of ``a``, the line of ``b``'s request ``n`` is free.
"""

from __future__ import annotations

import os
import struct
from typing import NamedTuple

from ishmem import _core, teams
from ishmem.common.errors import SymmetryError
from ishmem.common.routines import exported
from ishmem.common.team_shape import Shape
from ishmem.runtime import job, long_waits
from ishmem.teams import Team, TeamConfig

__all__ = exported(__name__)

_FORMAT = "<3qQ2q"


class _Line(NamedTuple):
    """Request of one PE to another; the 8 bytes before it in memory are its call number, which is written last.

    Attributes:
        start, stride, size: First PE, stride and number of PEs of the requested set.
        free: Bit mask of the team handles that are free on the requesting PE.
        sequence: At least the highest barrier count of any earlier team.
        culprit: 0, or 1 plus the PE whose request did not match; this PE itself after an earlier failed call.
    """

    start: int
    stride: int
    size: int
    free: int
    sequence: int
    culprit: int

    @property
    def shape(self) -> Shape:
        return Shape(self.start, self.stride, self.size)


class ActiveSets:
    """The teams of this PE's active sets, and the numbers of its calls with each other PE."""

    def __init__(self) -> None:
        self._teams: dict[Shape, Team] = {}
        self._calls: dict[int, int] = {}  # number of the last call with each PE
        self._broken = False

    def get(self, shape: Shape) -> Team:
        """Return the team of PEs ``shape``, a new one, collectively, if there is none; errors as for ``active_set``."""
        this, known = job.current(), self._teams.get(shape)
        if known and teams.is_alive(known):
            return known
        lines = self._meet(shape)
        handle = teams.take(shape, {pe: line.free for pe, line in lines.items()}, "active_set")
        this.set_team(handle, shape, max(line.sequence for line in lines.values()), TeamConfig())
        self._teams[shape] = Team(handle, shape)
        return self._teams[shape]

    def _meet(self, shape: Shape) -> dict[int, _Line]:
        """Send this PE's request to the other members; return the requests of all members, by PE number."""
        if self._broken:  # this PE's lines report the failure; others may not have read them yet, so never overwrite
            raise SymmetryError("active_set: an earlier call with an active set failed; use team_split_strided")
        this = job.current()
        mine = _Line(shape.start, shape.stride, shape.size, teams.free_handles(), this.highest_sequence, 0)
        numbers = {pe: self._calls.get(pe, 0) + 1 for pe in shape if pe != this.pe}
        self._calls.update(numbers)
        for pe, number in numbers.items():
            _write(pe, number, mine)
        try:
            return {**self._await(shape, numbers), this.pe: mine}
        except BaseException as error:
            # The call numbers no longer match: report the failure to members that still wait.
            self._broken = True
            culprit = getattr(error, "culprit", this.pe) + 1
            for pe, number in numbers.items():
                _write(pe, number, mine._replace(culprit=culprit))
            _core.write(this.pe, this.heap.layout.gave_up, struct.pack("<q", 1))
            raise

    def _await(self, shape: Shape, numbers: dict[int, int]) -> dict[int, _Line]:
        this = job.current()
        lines: dict[int, _Line] = {}

        def missing() -> list[int]:
            return [pe for pe in numbers if pe not in lines]

        with long_waits.patience(this, lambda: f" {_words(shape)}, for the PEs {missing()}") as report:
            while True:
                gone = this.losses.end_waits() or any(pe in this.gone for pe in missing())
                silent = [pe for pe in missing() if _gave_up(pe)]
                lines = {pe: line for pe, number in numbers.items() if (line := _read(pe, number))}
                for pe, line in lines.items():
                    _compare(shape, pe, line)
                if not missing():
                    return lines
                for pe in set(silent) & set(missing()):
                    raise _Disagreement(f"active_set: PE {pe} has given up, in an earlier call that failed", pe)
                if gone:
                    this.raise_lost("active_set")
                report()
                os.sched_yield()


class _Disagreement(SymmetryError):
    """A ``SymmetryError`` with ``culprit``, the number of the PE whose request did not match."""

    def __init__(self, message: str, culprit: int) -> None:
        super().__init__(message)
        self.culprit = culprit


def _compare(shape: Shape, pe: int, line: _Line) -> None:
    """Raise `_Disagreement` if the request ``line`` of PE ``pe`` is not for ``shape``, or reports a failure."""
    culprit = line.culprit - 1
    if line.shape != shape:
        raise _Disagreement(
            f"active_set: the PEs disagree; PE {job.current().pe}: {_words(shape)}; PE {pe}: {_words(line.shape)}; "
            "members call for the sets that they share in the same order",
            pe,
        )
    if culprit == pe:
        raise _Disagreement(f"active_set: PE {pe} has given up, in this call or in an earlier one that failed", pe)
    if culprit >= 0:
        raise _Disagreement(
            f"active_set: the PEs disagree; PE {pe} asks for {_words(shape)}, PE {culprit} does not", pe
        )


def _gave_up(pe: int) -> bool:
    """Return whether an ``active_set`` call failed on PE ``pe``, after which it sends no requests."""
    return _core.read(pe, job.current().heap.layout.gave_up, 8) != bytes(8)


def _words(shape: Shape) -> str:
    return f"start={shape.start}, stride={shape.stride}, size={shape.size}"


def _write(pe: int, number: int, line: _Line) -> None:
    """Write request ``line`` of this PE with call number ``number`` to PE ``pe``."""
    this = job.current()
    place = this.heap.layout.active_set(this.pe, number)
    _core.write(pe, place + 8, struct.pack(_FORMAT, *line))
    _core.fence()
    _core.write(pe, place, struct.pack("<q", number))


def _read(pe: int, number: int) -> _Line | None:
    """Return request ``number`` of PE ``pe`` to this PE, or None if it has not arrived."""
    this = job.current()
    place = this.heap.layout.active_set(pe, number)
    if struct.unpack("<q", _core.read(this.pe, place, 8))[0] != number:
        return None
    _core.fence()
    return _Line(*struct.unpack(_FORMAT, _core.read(this.pe, place + 8, struct.calcsize(_FORMAT))))


def active_set(start: int, stride: int, size: int) -> Team:
    """Return the active set ``start``, ``start + stride``, ... of ``size`` PEs of TEAM_WORLD as a team.

    Collective over the set and blocking in the first call, which creates the team; later calls return the same team at
    once. Only its members call; all collectives take it as ``team=``. The team lives until ``finalize``, or until all
    members ``destroy`` it, after which the next call creates it anew. Members make their calls for sets and their
    splits of teams in the same order.
    ``shmem_barrier(start, log, size)`` is ``quiet()`` and ``active_set(start, 1 << log, size).sync()``.

    Args:
        start: Number of the first PE in TEAM_WORLD.
        stride: Stride between PEs, not its logarithm; may be negative, and 0 only if ``size`` is 1.
        size: Number of PEs, at least 1.

    Raises:
        ValueError: A PE number out of range, or this PE is not in the set; on this PE only.
        TypeError: Not integers; on this PE only.
        SymmetryError: Members that wait for each other call for different sets. After a first call that has failed so,
            or by a loss, this PE joins no new active set: its first calls raise this, and those of the other members.
        IshmemError: Too many teams are alive; on every member. Destroying some makes room.
        StateError: Not between ``init`` and ``finalize``.
        PeerLost: A PE died, or a member finalised without this call.

    Example:
        >>> ishmem.sync_all()
        >>> everyone = ishmem.active_set(0, 1, n)
        >>> everyone.sync()

    Source: OpenSHMEM 1.5, 9.9 (shmem_barrier, shmem_sync; the active sets of collectives).
    """
    this = job.current()
    shape = teams.strided(this.teams[job.WORLD], start, stride, size)
    if shape.index(this.pe) < 0:
        raise ValueError(f"PE {this.pe} is not in the active set {_words(shape)}; only PEs {list(shape)} may call")
    sets: ActiveSets = this.active_sets
    return sets.get(shape)
