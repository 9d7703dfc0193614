"""The bytes between the PEs of a trace: those that puts, gets and atomics name, and those of collectives.

Data of a collective count from the PE that gives them to each PE that receives them or a result made from them, by the
definition of the routine and not by the way that the algorithm takes. Each call counts what its own PE receives from a
root or gives to others, so that the calls of all PEs together count everything once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ishmem.cli.trace_data import RecordedCall, Trace
from ishmem.common.collective_table import COLLECTIVES, Collective, Combines, Root
from ishmem.common.team_shape import Shape

Matrix = list[list[int]]
Moved = Iterator[tuple[int, int, int]]
"""Origin, target and bytes."""

ONE_SIDED, COLLECTIVE = "Puts, gets and atomics", "Collectives"


def between(trace: Trace) -> dict[str, Matrix]:
    """Return the bytes from each PE to each, for `ONE_SIDED` and `COLLECTIVE` calls; kinds without any are left out."""
    pes, found = range(trace.n_pes), {}
    for kind, moved_by in ((ONE_SIDED, _by_peer), (COLLECTIVE, _by_team)):
        found[kind] = [[0] * len(pes) for _ in pes]
        for call in _counted(trace):
            for origin, target, nbytes in moved_by(call):
                if origin in pes and target in pes:
                    found[kind][origin][target] += nbytes
    return {kind: matrix for kind, matrix in found.items() if any(map(any, matrix))}


def left_out(trace: Trace) -> list[str]:
    """Return the collectives that were called and do not count: a trace does not have their lists of counts."""
    named = {call.name for call in _counted(trace) if {"team", "bytes"} <= set(call.arguments)}
    return sorted(name for name in named if _routine_of(name) is None)


def _counted(trace: Trace) -> Iterator[RecordedCall]:
    return (call for call in trace.calls if not call.queued and "raised" not in call.arguments)


def _by_peer(call: RecordedCall) -> Moved:
    """Yield the bytes of a put or an atomic to the peer, or those of a get from it."""
    pair, nbytes = (call.pe, call.arguments.get("pe", -1)), call.arguments.get("bytes", 0)
    if "get" in call.categories:
        yield (*pair[::-1], nbytes)
    elif "put" in call.categories:
        yield (*pair, nbytes)


def _by_team(call: RecordedCall) -> Moved:
    """Yield the bytes of a collective that this PE gives, or gets from the root; not those that it gives itself."""
    routine = _routine_of(call.name)
    if routine is None or not {"team", "bytes"} <= set(call.arguments):  # no team: one without a stride
        return
    start, stride, size = map(int, call.arguments["team"].split(":"))
    members = tuple(Shape(start, stride, size))
    parts = len(members) if routine.source_blocks and "whole" in call.arguments else 1
    for origin, target in _pairs(routine, call.pe, call.arguments.get("root", -1), members):
        if origin != target:
            yield origin, target, call.arguments["bytes"] // parts


def _routine_of(name: str) -> Collective | None:
    """Return the routine of a call if its arguments tell how much goes where."""
    routine = COLLECTIVES.get(name.removesuffix("_on_queue"))
    return None if routine is None or routine.counted else routine


def _pairs(routine: Collective, pe: int, root: int, members: Sequence[int]) -> list[tuple[int, int]]:
    """Return the origins and targets of what a PE gives to others or gets from the root."""
    if routine.root is Root.SENDS:
        return [(root, pe)]
    if routine.root is Root.RECEIVES:
        return [(pe, root)]
    later = members.index(pe) if routine.combines is Combines.SCAN else 0
    return [(pe, member) for member in members[later:]]
