"""The bytes between the PEs of a trace: those that puts, gets and atomics name, and those of collectives.

Data of a collective count from the PE that gives them to each PE that receives them or a result made from them, by the
definition of the routine and not by the way that the algorithm takes. Each call counts what its own PE receives from a
root or gives to others, so that the calls of all PEs together count everything once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Callable, NamedTuple

from ishmem.cli.trace_data import Call, Trace
from ishmem.common.team_shape import Shape
from ishmem.common.type_tables import REDUCTIONS

Matrix = list[list[int]]
Moved = Iterator[tuple[int, int, int]]
"""Origin, target and bytes."""

ONE_SIDED, COLLECTIVE = "Puts, gets and atomics", "Collectives"


class _Flow(NamedTuple):
    """The data of a call of a collective.

    Attributes:
        pairs: Returns origins and targets, given the PE that calls, the root, and the members of the team.
        blocks: Whether ``source`` has a block for each member.
    """

    pairs: Callable[[int, int, Sequence[int]], list[tuple[int, int]]]
    blocks: bool = False


_TO_ALL = _Flow(lambda pe, _root, members: [(pe, member) for member in members])
_TO_LATER = _Flow(lambda pe, _root, members: [(pe, member) for member in members[members.index(pe) :]])
_FLOWS = {
    **dict.fromkeys(REDUCTIONS, _TO_ALL),
    **dict.fromkeys(("sum_inscan", "sum_exscan"), _TO_LATER),
    **dict.fromkeys(("fcollect", "collect"), _TO_ALL),
    **dict.fromkeys(("alltoall", "alltoalls"), _TO_ALL._replace(blocks=True)),
    "gather": _Flow(lambda pe, root, _members: [(pe, root)]),
    "broadcast": _Flow(lambda pe, root, _members: [(root, pe)]),
    "scatter": _Flow(lambda pe, root, _members: [(root, pe)], blocks=True),
}


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
    return sorted(name for name in named if _flow(name) is None)


def _counted(trace: Trace) -> Iterator[Call]:
    return (call for call in trace.calls if not call.queued and "raised" not in call.arguments)


def _by_peer(call: Call) -> Moved:
    """Yield the bytes of a put or an atomic to the peer, or those of a get from it."""
    if "pe" in call.arguments:
        pair = (call.pe, call.arguments["pe"])
        yield (*(pair[::-1] if "get" in call.categories else pair), call.arguments.get("bytes", 0))


def _by_team(call: Call) -> Moved:
    """Yield the bytes of a collective that this PE gives, or gets from the root; not those that it gives itself."""
    flow = _flow(call.name)
    if flow is None or "bytes" not in call.arguments:
        return
    members = tuple(Shape(*map(int, call.arguments["team"].split(":"))))
    parts = len(members) if flow.blocks and "whole" in call.arguments else 1
    for origin, target in flow.pairs(call.pe, call.arguments.get("root", -1), members):
        if origin != target:
            yield origin, target, call.arguments["bytes"] // parts


def _flow(name: str) -> _Flow | None:
    return _FLOWS.get(name.removesuffix("_on_queue"))
