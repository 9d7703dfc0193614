"""Bytes between the PEs of a trace, by puts, gets and atomics, and by collectives.

Data of a collective count from the PE that contributes them to each PE that receives them or a result computed from
them: by the definition of the routine, not by the path of the algorithm. The call of a PE counts the data that it
receives from a root or contributes for others, so that the calls of all PEs together count everything once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ishmem.cli.trace_data import RecordedCall, Trace
from ishmem.common.collective_table import COLLECTIVES, Collective, Combines, Root
from ishmem.common.team_shape import Shape

Matrix = list[list[int]]
Moved = Iterator[tuple[int, int, int]]
"""Tuples of origin PE, target PE and number of bytes."""

ONE_SIDED, COLLECTIVE = "Puts, gets and atomics", "Collectives"


def between(trace: Trace) -> dict[str, Matrix]:
    """Return matrices of bytes, origin by target, for `ONE_SIDED` and `COLLECTIVE` calls, if any; else no entry.

    Collectives of teams without a stride do not count: a trace does not have their members.
    """
    pes, found = range(trace.n_pes), {}
    for kind, moved_by in ((ONE_SIDED, _by_peer), (COLLECTIVE, _by_team)):
        found[kind] = [[0] * len(pes) for _ in pes]
        for call in _counted(trace):
            for origin, target, nbytes in moved_by(call):
                if origin in pes and target in pes:
                    found[kind][origin][target] += nbytes
    return {kind: matrix for kind, matrix in found.items() if any(map(any, matrix))}


def left_out(trace: Trace) -> list[str]:
    """Return the names of called collectives that do not count: a trace does not have their counts or members."""
    calls = [call for call in _counted(trace) if {"team", "bytes"} <= set(call.arguments)]
    return sorted({call.name for call in calls if _routine_of(call.name) is None or _members(call) is None})


def _counted(trace: Trace) -> Iterator[RecordedCall]:
    return (call for call in trace.calls if not call.queued and "raised" not in call.arguments)


def _by_peer(call: RecordedCall) -> Moved:
    """Yield the bytes of a put or an atomic to its peer, or of a get from its peer."""
    pair, nbytes = (call.pe, call.arguments.get("pe", -1)), call.arguments.get("bytes", 0)
    if "get" in call.categories:
        yield (*pair[::-1], nbytes)
    elif "put" in call.categories:
        yield (*pair, nbytes)


def _by_team(call: RecordedCall) -> Moved:
    """Yield the bytes of a collective that the call's PE sends to others, or receives from the root."""
    routine = _routine_of(call.name)
    if routine is None or "bytes" not in call.arguments or (members := _members(call)) is None:
        return
    parts = len(members) if routine.source_blocks and "whole" in call.arguments else 1
    for origin, target in _pairs(routine, call.pe, call.arguments.get("root", -1), members):
        if origin != target:
            yield origin, target, call.arguments["bytes"] // parts


def _members(call: RecordedCall) -> tuple[int, ...] | None:
    """Return the members of the team of a call; None without a team, or if the team has no stride."""
    start, stride, size = map(int, call.arguments.get("team", "0:0:0").split(":"))
    return tuple(Shape(start, stride, size)) if stride else None


def _routine_of(name: str) -> Collective | None:
    """Return the collective of this name if the arguments in a trace determine its bytes between PEs, else None."""
    routine = COLLECTIVES.get(name.removesuffix("_on_queue"))
    return None if routine is None or routine.counted else routine


def _pairs(routine: Collective, pe: int, root: int, members: Sequence[int]) -> list[tuple[int, int]]:
    """Return pairs of origin and target of the data that ``pe`` contributes, or receives from the root."""
    if routine.root is Root.SENDS:
        return [(root, pe)]
    if routine.root is Root.RECEIVES:
        return [(pe, root)]
    later = members.index(pe) if routine.combines is Combines.SCAN else 0
    return [(pe, member) for member in members[later:]]
