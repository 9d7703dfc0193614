"""Figures of a trace: time of routines and PEs, waits and their causes."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from ishmem.cli.trace_data import RecordedCall, Trace


@dataclass
class RoutineTime:
    """The calls of one routine by all PEs; times in seconds."""

    name: str
    calls: list[RecordedCall] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        """Total duration of the calls."""
        return sum(call.seconds for call in self.calls)

    @property
    def waited(self) -> float:
        """Total time in which the calls waited for other PEs."""
        return sum(call.waited for call in self.calls)

    @property
    def median(self) -> float:
        """The median time of a call."""
        return statistics.median(call.seconds for call in self.calls)

    @property
    def nbytes(self) -> int:
        """Total number of bytes in the arguments of the calls."""
        return sum(call.arguments.get("bytes", 0) for call in self.calls)


@dataclass
class PeTime:
    """Time of a PE's first thread from ``init`` to ``finalize`` by activity, in seconds.

    Attributes:
        program: Outside calls of ishmem and launches of kernels.
        kernels: In launches of kernels; for ``call_kernel`` with the run time of the kernel.
        ishmem: In calls of ishmem, without waits.
        waited: In waits for other PEs.
        causes: Parts of ``waited``, by the PE that ended the wait.
    """

    pe: int
    program: float = 0.0
    kernels: float = 0.0
    ishmem: float = 0.0
    waited: float = 0.0
    causes: dict[int, float] = field(default_factory=lambda: defaultdict(float))

    @property
    def worked(self) -> float:
        """Time not spent waiting."""
        return self.program + self.kernels + self.ishmem


def replays(trace: Trace) -> dict[int, list[RecordedCall]]:
    """Return the replays of graphs on the queues of all PEs, by the number of the graph on its PE."""
    found: dict[int, list[RecordedCall]] = defaultdict(list)
    for call in trace.calls:
        if call.queued and "graph" in call.arguments:
            found[call.arguments["graph"]].append(call)
    return dict(sorted(found.items()))


def routines(trace: Trace) -> list[RoutineTime]:
    """Return the routines that were called, in descending order of total time."""
    found: dict[str, RoutineTime] = {}
    for call in trace.calls:
        if not call.queued:
            found.setdefault(call.name, RoutineTime(call.name)).calls.append(call)
    return sorted(found.values(), key=lambda routine: -routine.seconds)


def pes(trace: Trace) -> list[PeTime]:
    """Return the time of each PE between ``init`` and ``finalize``, by activity."""
    return [_pe_time(pe, trace.of(pe)) for pe in trace.facts]


def _pe_time(pe: int, calls: list[RecordedCall]) -> PeTime:
    found = PeTime(pe)
    begin = max((call.end for call in calls if call.name == "init"), default=0.0)
    end = min((call.begin for call in calls if call.name == "finalize"), default=max(call.end for call in calls))
    inside = [call for call in calls if "setup" not in call.categories]
    for call in inside:
        if "kernels" in call.categories:
            found.kernels += call.seconds
            continue
        found.waited += call.waited
        found.ishmem += call.seconds - call.waited
        if call.cause is not None and call.cause != pe:
            found.causes[call.cause] += call.waited
    found.program = max(end - begin - sum(call.seconds for call in inside), 0.0)
    return found


def imbalance(times: Iterable[PeTime]) -> tuple[float, int]:
    """Return the largest time of work of a PE divided by the mean, minus 1, and the number of that PE."""
    worked = {time.pe: time.worked for time in times}
    mean, busiest = statistics.mean(worked.values()), max(worked, key=lambda pe: worked[pe])
    return (worked[busiest] / mean - 1 if mean else 0.0), busiest


def longest_waits(trace: Trace, count: int) -> list[RecordedCall]:
    """Return the ``count`` calls with the longest waits, except ``init`` and ``finalize``, in descending order."""
    waits = [call for call in trace.calls if call.waited and "setup" not in call.categories]
    return sorted(waits, key=lambda call: -call.waited)[:count]
