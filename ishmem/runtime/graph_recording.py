"""Queues that are recorded: SYCL collects their commands in a graph and executes them when that is submitted.

Commands of a recording depend on commands of the same recording only, and cannot be waited for. Those of ishmem and of
kernels follow one another in the order of the calls, whether or not the queue is in-order.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any, NoReturn

import dpctl

from ishmem import _core
from ishmem.common.errors import IshmemError
from ishmem.ipc import native

_GRAPH = "4sycl3_V13ext6oneapi12experimental6detail24modifiable_command_graph"
_QUEUE, _PROPERTIES = "RKNS0_5queueE", "RKNS0_13property_listE"
_FUNCTIONS = (
    "_ZNK4sycl3_V15queue20ext_oneapi_get_stateEv",
    "_ZNK4sycl3_V15queue20ext_oneapi_get_graphEv",
    f"_ZN{_GRAPH}C1E{_QUEUE}{_PROPERTIES}",
    f"_ZN{_GRAPH}15begin_recordingERNS0_5queueE{_PROPERTIES}",
    f"_ZN{_GRAPH}13end_recordingERNS0_5queueE",
    f"_ZNK{_GRAPH}8finalizeE{_PROPERTIES}",
    "_ZN4sycl3_V135submit_graph_direct_with_event_implERKNS0_5queueERNS0_3ext6oneapi12experimental13command_graphILNS6_"
    "11graph_stateE1EEENS0_4spanIKNS0_5eventELm18446744073709551615EEERKNS0_6detail13code_locationE",
)

try:
    _core.use_sycl_graphs(*native.functions(*_FUNCTIONS))
    HAS_GRAPHS = True
except AttributeError:
    HAS_GRAPHS = False
"""Whether the SYCL library has the graphs that `ishmem.graph` makes."""


class RecordedEvent(dpctl.SyclEvent):  # type: ignore[misc]  # dpctl has no types
    """The event of a recorded command, which later commands of the recording may depend on; it cannot be waited for."""

    execution_status = dpctl.event_status_type.submitted

    def wait(self) -> None:
        """Raise ``IshmemError``: the command runs when its graph is replayed."""
        refuse_wait()


class ReplayEvent(dpctl.SyclEvent):  # type: ignore[misc]  # dpctl has no types
    """The event of a replay, with facts about it for a trace."""

    replay_facts: dict[str, int]


class Recording:
    """The state of a recording of a queue.

    Attributes:
        graph: The graph that is recorded.
        kept: Objects that must live as long as the graph.
        calls: Objects whose next call has to follow a replay.
        nodes, copies: The number of commands, and of copies among them; the others are launches of kernels.
    """

    def __init__(self, graph: Any) -> None:
        self.graph = graph
        self.kept: list[Any] = []
        self.calls: set[Any] = set()
        self.nodes = self.copies = 0
        self._last: RecordedEvent | None = None

    def before(self, depends: Sequence[dpctl.SyclEvent]) -> list[dpctl.SyclEvent]:
        """Return the events that the next command follows: incomplete ones of ``depends``, and the last recorded one.

        Raises:
            IshmemError: An event is of a command outside the recording.
        """
        depends = [each for each in depends if each.execution_status != dpctl.event_status_type.complete]
        if any(not isinstance(each, RecordedEvent) for each in depends):
            raise IshmemError("depends has an event of a command that is not recorded; let the replay depend on it")
        return [*depends, *([self._last] if self._last else [])]

    def keep(self, event: dpctl.SyclEvent, kept: Any) -> RecordedEvent:
        """Store the event of the last recorded command, and ``kept`` as long as the graph lives; return the event."""
        self._last = RecordedEvent(event._get_capsule())
        self.kept.append(kept)
        self.nodes += 1
        return self._last


_recordings: dict[dpctl.SyclQueue, Recording] = {}


def of(queue: dpctl.SyclQueue) -> Recording | None:
    """Return the recording of a queue, or ``None`` if the queue executes its commands."""
    graph = _core.graph_of(queue.addressof_ref())
    if graph is None:
        return None
    found = _recordings.get(queue)
    if found is None or not _core.is_same_graph(found.graph, graph):
        found = _recordings[queue] = Recording(graph)
    return found


def refuse(queue: dpctl.SyclQueue, what: str) -> None:
    """Raise ``IshmemError`` if a queue is recorded; ``what`` names the operation that needs the host."""
    if _core.graph_of(queue.addressof_ref()) is not None:
        raise IshmemError(f"{what} needs the host: a queue that is recorded cannot take it")


def refuse_wait() -> NoReturn:
    """Raise ``IshmemError`` for a wait on a recorded command."""
    raise IshmemError("a recorded command runs when its graph is replayed; wait for the event of the replay")


@contextlib.contextmanager
def to_graph(queue: dpctl.SyclQueue) -> Any:
    """Record the commands of a queue within the ``with`` block; yield the `Recording`, which has the graph."""
    address = queue.addressof_ref()
    graph = _core.begin_graph(address)
    try:
        recording = of(queue)
        yield recording
    finally:
        _core.end_graph(graph, address)
        _recordings.pop(queue, None)
