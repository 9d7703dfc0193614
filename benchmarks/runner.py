"""Measures the points of the cases: prepares the contenders, times their batches in turn, and checks the data."""

from __future__ import annotations

import contextlib
import os
import statistics
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, Union

from ishmem.benchmarks.cases import Case, Point
from ishmem.benchmarks.group import Answer, Group, GroupError, LocalGroup, missing

MACHINE = "machine"
"""The contender's name in the rows of the limits of ishmem's plans."""
_MOST = 10_000_000


@dataclass(frozen=True)
class Options:
    """The options of ``ishmem bench``.

    Attributes:
        ops: Operations; empty: all.
        sides: Sides; empty: all.
        sizes: Sizes in bytes; empty: those of each case.
        pes: Numbers of PEs; empty: those of each case.
        axes: Chosen values of the other axes, as text.
        peers: Libraries to compare with.
        batch: Seconds of one batch.
        batches: Number of batches; fewer if a batch takes much longer than ``batch``.
        timeout: The time-out of one request at a point, in seconds.
        files: The user's files with more cases.
        hosts: The hosts on which all libraries run, separated by commas; empty: this node.
    """

    ops: tuple[str, ...] = ()
    sides: tuple[str, ...] = ()
    sizes: tuple[int, ...] = (8,)
    pes: tuple[int, ...] = ()
    axes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    peers: tuple[str, ...] = ()
    batch: float = 0.004
    batches: int = 15
    timeout: float = 60.0
    files: tuple[str, ...] = ()
    hosts: str = ""


@dataclass
class Row:
    """The result of one contender at one point.

    Attributes:
        op, side, pes, contender, axes: The operation, its side, the number of PEs, the library, and the point.
        status: ``ok``, ``skipped``, ``wrong`` or ``failed``; all but ``ok`` have a ``reason``.
        statement, limit: The measured statement, and a description of the machine's limit.
        nbytes: Bytes that one operation moves.
        active: The number of PEs that ran it at the same time.
        calls, batches: Calls in a batch, and number of batches.
        seconds: Time of one operation: ``median``, ``q1``, ``q3``, ``min`` over the batches, each of the slowest PE.
    """

    op: str
    side: str
    pes: int
    contender: str
    axes: Point
    status: str = "ok"
    reason: str = ""
    statement: str = ""
    limit: str = ""
    nbytes: int = 0
    active: int = 1
    calls: int = 0
    batches: int = 0
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def rate(self) -> float:
        """Operations per second, of all active PEs together."""
        return self.active / self.seconds["median"]

    @property
    def bandwidth(self) -> float:
        """Bytes per second, of all active PEs together."""
        return self.nbytes * self.rate

    def as_dict(self) -> dict[str, Any]:
        """Return the fields of the row by name, without those that have their defaults, for JSON."""
        plain = Row(self.op, self.side, self.pes, self.contender, self.axes)
        always = ("op", "side", "pes", "contender", "axes")
        return {name: value for name, value in asdict(self).items() if name in always or value != getattr(plain, name)}


AnyGroup = Union[Group, LocalGroup]
Rows = list[Row]


class _Contestant:
    """A contender at a point: the group that runs it, and its measured times."""

    def __init__(self, group: AnyGroup, which: str, row: Row, plan: dict[str, Any]) -> None:
        self.row = row
        self._group, self._which = group, which
        self._counted: bool = plan["counted"][which]
        self._operations: int = plan["operations"]
        self._active: tuple[int, ...] | None = plan["active"]
        row.statement = plan["statement"] if which == "main" else plan["limit"]
        row.nbytes = plan["nbytes"] if which == "main" or plan["limit_copies"] else 0
        row.active = row.pes if self._active is None else len(self._active)
        self.done = self.number = 0
        self._seconds: list[float] = []

    def run(self, number: int, batches: int, timeout: float) -> list[float]:
        """Run ``batches`` batches of ``number`` calls; return the seconds of the slowest active PE for each batch."""
        answers = self._group.ask(("run", self._which, number, batches), self._active, timeout)
        self.done += number * batches
        return [max(times) for times in zip(*(_value(one) for one in answers))]

    def calibrate(self, options: Options) -> None:
        """Set the number of calls in a batch, so that a batch takes about ``options.batch`` seconds."""
        # The launch must be negligible beside the loop in the kernel.
        target = options.batch * (4 if self._counted else 1)
        self.number = 1
        while self.number < _MOST:
            seconds = min(self.run(self.number, 2, options.timeout))  # one may have been disturbed
            if seconds >= 0.7 * target:
                break
            self.number = min(max(2 * self.number, int(self.number * target / max(seconds, 1e-9))), _MOST)
            if self.number <= 2 and seconds > 0.35 * target:
                break
        self.row.calls = self.number

    def measure(self, batches: int, timeout: float) -> float:
        """Run some batches and store their times; return their sum in seconds, 0 after an error."""
        if self.row.status != "ok":
            return 0.0
        times = self.run(self.number, batches, timeout)
        self._seconds += [seconds / self.number / self._operations for seconds in times]
        return sum(times)

    def finish(self) -> None:
        """Set the statistics of the times in the row."""
        times = self._seconds
        quartiles = statistics.quantiles(times, n=4, method="inclusive") if len(times) > 1 else times * 3
        self.row.batches = len(times)
        figures = dict(zip(("q1", "median", "q3"), quartiles), min=min(times))
        self.row.seconds = {name: float(f"{seconds:.4g}") for name, seconds in figures.items()}

    def verify(self, timeout: float) -> None:
        """Check the data on all PEs; raise `_Bad` if they are wrong."""
        for each in self._group.ask(("verify", self.done), None, timeout):
            _value(each)


@dataclass
class _Entry:
    """A library at a point: its row, and as contestants its statement and, if there is one, the machine's limit."""

    row: Row
    group: AnyGroup | None = None
    contestants: list[_Contestant] = field(default_factory=list)


class _Bad(Exception):
    """The status of a PE's answer is not ``ok``; the arguments are status and reason."""


@contextlib.contextmanager
def _noted(row: Row) -> Iterator[None]:
    """Return a context manager that records `_Bad` and `GroupError` in a row instead of raising them."""
    try:
        yield
    except _Bad as bad:
        row.status, row.reason = bad.args
    except GroupError as error:
        row.status, row.reason = "failed", str(error)


def _value(one: Answer) -> Any:
    status, value = one
    if status != "ok":
        raise _Bad(status, value)
    return value


def points(cases: list[Case], options: Options) -> list[tuple[Case, int, Point]]:
    """Return the points to measure, in ascending number of PEs: case, number of PEs, values of the axes."""
    counts = sorted({n for one in cases for n in options.pes or one.pes})
    return [
        (one, n, point)
        for n in counts
        for one in cases
        if n in (options.pes or one.pes)
        for point in one.points(n, options.sizes, options.axes)
    ]


class Runner:
    """Measures points; as a context manager, it stops the groups at the end."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.device = ""
        self._groups: dict[tuple[str, int], AnyGroup] = {}
        self._largest = 0
        self._missing = {peer: missing(peer, options.hosts) for peer in options.peers}
        self.present = tuple(peer for peer, reason in self._missing.items() if not reason)

    def __enter__(self) -> Runner:
        """Return the runner."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *_rest: Any) -> None:
        """Stop all groups; after an error or Ctrl-C, without waiting for them."""
        self._stop(0 if kind else 5)

    def _stop(self, patience: float) -> None:
        for group in self._groups.values():
            group.stop(patience)
        self._groups.clear()

    def run(self, points: list[tuple[Case, int, Point]]) -> Iterator[Rows]:
        """Measure points; yield the rows of each: those of the contenders, ishmem first, then of the machine."""
        before = 0
        self._largest = max((point.get("size") or 0 for _case, _n, point in points), default=0)
        for one, n, point in points:
            if n != before:
                self._stop(5)
            before = n
            yield self._rows(one, n, point)

    def _rows(self, one: Case, n: int, point: Point) -> Rows:
        contenders = [name for name in one.bodies if name in ("ishmem", "local", *self.options.peers)]
        entries = [self._enter(one, contender, n, point) for contender in contenders]
        contestants = [contestant for entry in entries for contestant in entry.contestants]
        self._take_batches(entries)
        for entry in entries:
            self._leave(entry)
        limits = [each.row for each in contestants if each.row.contender == MACHINE and each.row.seconds]
        return [entry.row for entry in entries] + limits

    def _enter(self, one: Case, contender: str, n: int, point: Point) -> _Entry:
        """Return a contender's entry, after running body and statement once, a check, and the choice of batch size."""
        row = Row(one.name, one.side, n, "ishmem" if contender == "local" else contender, point, limit=one.limit)
        entry = _Entry(row)
        with _noted(row):
            if self._missing.get(contender):
                raise _Bad("skipped", self._missing[contender])
            entry.group = self._group(contender, n)
            answers = entry.group.ask(("prepare", one.key, point), None, self.options.timeout)
            plan = [_value(each) for each in answers].pop()
            self.device = self.device or entry.group.device
            first = _Contestant(entry.group, "main", row, plan)
            first.run(1, 1, self.options.timeout)
            first.verify(self.options.timeout)
            found = [first]
            if plan["limit"]:
                limit = Row(one.name, one.side, n, MACHINE, point, limit=one.limit)
                found.append(_Contestant(entry.group, "limit", limit, plan))
            for contestant in found:
                contestant.run(1, 1, self.options.timeout)  # may compile
                contestant.calibrate(self.options)
            entry.contestants = found
        return entry

    def _take_batches(self, entries: list[_Entry]) -> None:
        """Measure all contestants in turn, so that other load on the machine affects all of them alike."""
        wanted, at_once = self.options.batches, 3
        contestants = [contestant for entry in entries for contestant in entry.contestants]
        for contestant in contestants:
            with _noted(contestant.row):
                spent = contestant.measure(1, self.options.timeout)
                # Slow statements run in fewer batches: as many as fit into twice the time, at least 3.
                fit = int(2 * self.options.batches * self.options.batch / max(spent, 1e-9))
                wanted = min(wanted, max(3, fit))
        for turn, taken in enumerate(range(1, wanted, at_once)):
            # An operation and its limit use the same buffers: the second to run finds them in the caches.
            step = -1 if turn % 2 else 1
            for contestant in (each for entry in entries for each in entry.contestants[::step]):
                with _noted(contestant.row):
                    contestant.measure(min(at_once, wanted - taken), self.options.timeout)
        for contestant in contestants:
            if contestant.row.status == "ok":
                contestant.finish()

    def _leave(self, entry: _Entry) -> None:
        """Check the data after the measurement, and free the buffers of the plan; record failures in the row."""
        if entry.group is None or not entry.group.running:
            return
        with _noted(entry.row):
            for contestant in entry.contestants[:1]:
                contestant.verify(self.options.timeout)
        if entry.group.running:
            with _noted(entry.row):
                entry.group.ask(("release",), None, self.options.timeout)

    def _group(self, contender: str, n: int) -> AnyGroup:
        if (contender, n) not in self._groups:
            # Large enough for a few arrays of one block per PE; untouched memory costs nothing.
            env = {"ISHMEM_SYMMETRIC_SIZE": str(5 * n * self._largest + (64 << 20))}
            env = {name: value for name, value in env.items() if name not in os.environ}
            local = contender == "local"
            made = LocalGroup(n) if local else Group(contender, n, self.options.files, env, self.options.hosts)
            self._groups[contender, n] = made
        return self._groups[contender, n]
