"""A trace read from its folder: the calls of all PEs, with the waits in them and the causes of the waits.

Each PE has a file with its own calls. This module relates them: a collective call waits until the last PE has begun the
same call, and a wait for a variable ends with the call that stores the value.
"""

from __future__ import annotations

import bisect
import json
import operator
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ishmem.common.errors import IshmemError
from ishmem.runtime.trace_file import NAME, QUEUE

_HOLDS = {
    "EQ": operator.eq, "NE": operator.ne, "GT": operator.gt, "GE": operator.ge, "LT": operator.lt, "LE": operator.le,
}  # fmt: skip


@dataclass(eq=False)
class RecordedCall:
    """A call of a routine, or the work on a queue that a call has submitted (``queued``).

    Attributes:
        pe, track, name: The PE, its track in the trace (thread or queue), and the name of the routine.
        begin, end: Seconds since the start of the trace.
        categories: Names: the routine's chapter, and ``get``, ``put``, ``wait`` or ``collective`` if they apply.
        arguments: Arguments of the call, from its event.
        shown: The dictionary of arguments in the event itself, to which `merged` adds the wait and its cause.
        waited: Seconds that it waited.
        cause: The PE that ended the wait; None without a wait, or if no traced call has set the variable.
    """

    pe: int
    track: int
    name: str
    categories: frozenset[str]
    begin: float
    end: float
    arguments: dict[str, Any]
    shown: dict[str, Any] = field(default_factory=dict)
    waited: float = 0.0
    cause: int | None = None

    @property
    def seconds(self) -> float:
        """Duration in seconds."""
        return self.end - self.begin

    @property
    def queued(self) -> bool:
        """Whether it is work on a queue, not a call."""
        return self.track >= QUEUE


@dataclass
class Trace:
    """The trace of a job.

    Attributes:
        facts: The metadata of the file of each PE, by PE.
        events: The events of all files, in the Trace Event Format.
        calls: The calls of all PEs, in the order of their begin.
        arrows: Pairs of a call that stored a value and the wait that ended with it.
        start: Time stamp of the first event in microseconds; times of events are relative to it.
    """

    facts: dict[int, dict[str, Any]] = field(default_factory=dict)
    events: list[dict[str, Any]] = field(default_factory=list)
    calls: list[RecordedCall] = field(default_factory=list)
    arrows: list[tuple[RecordedCall, RecordedCall]] = field(default_factory=list)
    start: float = 0.0

    @property
    def n_pes(self) -> int:
        """The number of PEs of the job."""
        return int(next(iter(self.facts.values()))["n_pes"])

    @property
    def seconds(self) -> float:
        """Time from the first event to the end of the last call, in seconds."""
        return max((call.end for call in self.calls), default=0.0)

    def of(self, pe: int) -> list[RecordedCall]:
        """Return the calls of the first thread of a PE, which do not overlap."""
        return [call for call in self.calls if call.pe == pe and call.track == 0]


def read(folder: Path) -> Trace:
    """Return the trace from the files of all PEs in ``folder``.

    Raises:
        IshmemError: The folder has no trace, or a file is not a trace.
    """
    trace = Trace()
    for path in sorted(folder.glob(NAME.format("*"))):
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            trace.facts[found["otherData"]["pe"]] = found["otherData"]
            trace.events += found["traceEvents"]
        except (ValueError, KeyError) as error:
            raise IshmemError(f"{path} is not a trace of ishmem: {error!r}") from error
    if not trace.facts:
        raise IshmemError(f"{folder} has no trace; write one with `ishmem run -n 4 --trace {folder} prog.py`")
    trace.facts = dict(sorted(trace.facts.items()))
    trace.start = min((event["ts"] for event in trace.events if "ts" in event), default=0.0)
    for event in trace.events:
        if "ts" in event:
            event["ts"] = round(event["ts"] - trace.start, 3)
    trace.calls = sorted((_call(event) for event in trace.events if event["ph"] == "X"), key=lambda call: call.begin)
    _find_causes(trace)
    return trace


def _call(event: dict[str, Any]) -> RecordedCall:
    begin = event["ts"] / 1e6
    categories = frozenset(event["cat"].split(","))
    end = begin + event["dur"] / 1e6
    arguments = event["args"]
    return RecordedCall(event["pid"], event["tid"], event["name"], categories, begin, end, dict(arguments), arguments)


def _find_causes(trace: Trace) -> None:
    for calls in _matching(trace):
        last = max(calls, key=lambda call: call.begin)
        for call in calls:
            call.waited = max(min(call.end, last.begin) - call.begin, 0.0)
            call.cause = last.pe if call.waited else None
    trace.arrows = list(_arrows(trace.calls))
    source = {id(wait): update for update, wait in trace.arrows}
    for call in trace.calls:
        if "wait" in call.categories:
            call.waited = call.seconds
            call.cause = source[id(call)].pe if id(call) in source else None


def _matching(trace: Trace) -> Iterator[list[RecordedCall]]:
    """Yield lists of the PEs' calls that belong to the same collective call.

    Members of a team make its calls in one order, so calls of a routine match by number: from the end if first calls
    are missing.
    """
    backwards = any(facts["lost"] for facts in trace.facts.values())
    found: dict[tuple[Any, ...], list[RecordedCall]] = defaultdict(list)
    numbers: dict[tuple[Any, ...], int] = defaultdict(int)
    for call in reversed(trace.calls) if backwards else trace.calls:
        if "collective" in call.categories:
            key = (call.name, call.arguments.get("team", ""))
            number = numbers[key, call.pe]
            found[key, number].append(call)
            numbers[key, call.pe] += 1
    return (calls for calls in found.values() if len(calls) > 1)


def _arrows(calls: Iterable[RecordedCall]) -> Iterator[tuple[RecordedCall, RecordedCall]]:
    """Yield pairs of a call that stored a value and the wait for a variable that ended with it."""
    updates: dict[tuple[int, int], list[RecordedCall]] = defaultdict(list)
    waits: dict[tuple[int, int], list[RecordedCall]] = defaultdict(list)
    for call in calls:
        if "at" not in call.arguments:
            continue
        if "cmp" in call.arguments and ("wait" in call.categories or call.queued):
            waits[call.pe, call.arguments["at"]].append(call)
        elif "pe" in call.arguments and "get" not in call.categories and "on_queue" not in call.categories:
            updates[call.arguments["pe"], call.arguments["at"]].append(call)
    for place, found in waits.items():
        yield from _pairs(updates.get(place, []), found)


def _pairs(updates: list[RecordedCall], waits: list[RecordedCall]) -> Iterator[tuple[RecordedCall, RecordedCall]]:
    """Yield pairs of an update of a variable and the wait for it that the update ended.

    The last updates before the end of a wait satisfy it; the first of these that did not end an earlier wait ended it.
    """
    begins, values, used = [call.begin for call in updates], list(_values(updates)), 0
    for wait in sorted(waits, key=lambda call: call.end):
        last = bisect.bisect_right(begins, wait.end) - 1
        first = last
        while first > used and _satisfies(values[first - 1], wait):
            first -= 1
        if last >= 0 and _satisfies(values[first], wait):
            yield updates[first], wait
            used = first + 1


def _values(updates: list[RecordedCall]) -> Iterator[int | None]:
    """Yield the value of the variable, at first 0, after each update; None if the trace does not have it."""
    value: int | None = 0
    for call in updates:
        given = call.arguments.get("value")
        if "adds" in call.arguments:
            given = None if value is None or given is None else value + given
        value = given
        yield value


def _satisfies(value: int | None, wait: RecordedCall) -> bool:
    expected = wait.arguments.get("value")
    return value is None or expected is None or bool(_HOLDS[wait.arguments["cmp"]](value, expected))


def merged(trace: Trace) -> dict[str, Any]:
    """Return the trace of all PEs with its arrows, in the Trace Event Format; adds waits to ``trace.events``."""
    for call in trace.calls:
        if call.waited:
            call.shown["waited us"] = round(call.waited * 1e6, 1)
        if call.cause is not None:
            call.shown["waited for"] = f"PE {call.cause}"
    events = list(trace.events)
    for number, (update, wait) in enumerate(trace.arrows):
        arrow = {"name": "ends the wait", "cat": "signal", "id": f"w{number}"}
        at = min(max(update.begin, wait.begin), wait.end)
        events.append({"ph": "s", "pid": update.pe, "tid": update.track, "ts": round(update.begin * 1e6, 3), **arrow})
        events.append({"ph": "f", "bp": "e", "pid": wait.pe, "tid": wait.track, "ts": round(at * 1e6, 3), **arrow})
    events.sort(key=lambda event: event.get("ts", -1.0))
    return {"displayTimeUnit": "ns", "traceEvents": events, "otherData": {"PEs": list(trace.facts.values())}}
