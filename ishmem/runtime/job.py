"""This process as a PE: its number, heap, links and teams."""

from __future__ import annotations

import itertools
import logging
import os
import struct
import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Callable, NoReturn, Protocol

from ishmem import _core
from ishmem.common.errors import SAME_CALLS, PeerLost, StateError, SymmetryError, WaitTimeout
from ishmem.common.layout import MAX_TEAMS, RECORD, TWIN, NodeList, TeamRecord
from ishmem.common.shared_numbers import Kind
from ishmem.common.team_shape import Shape
from ishmem.environment import stack
from ishmem.runtime.copy_engine import CopyEngine
from ishmem.runtime.losses import Losses
from ishmem.runtime.network import Node
from ishmem.runtime.proxy import raise_problem as raise_proxy_problem
from ishmem.runtime.violation_errors import raise_violation, take_loss

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from ishmem.common.status_board import StatusBoard
    from ishmem.environment.settings import Settings
    from ishmem.ipc.links import Links
    from ishmem.runtime.heap import SymmetricHeap
    from ishmem.runtime.late_delivery import Late
    from ishmem.runtime.mpi_job import MonitorProcess, MpiJob
    from ishmem.runtime.network import Network
    from ishmem.runtime.proxy import Proxy
    from ishmem.runtime.queue_workers import QueueWorkers

log = logging.getLogger("ishmem")
PREDEFINED = WORLD, SHARED, NODE = 0, 1, 2  # handles of teams
BARRIERS = ("another collective call",), ("barrier_all",), ("sync_all", "team_sync")
"""The names of the routines of each kind of barrier, indexed by the core's BarrierKind."""


def barrier_kind(routine: str) -> int:
    """Return the index of a routine in `BARRIERS`; 0 for one that is not there."""
    return next((kind for kind, names in enumerate(BARRIERS) if routine in names), 0)


class WaitRecords(Protocol):
    """The part of ``ishmem.runtime.long_waits`` that a job uses; that module imports this one."""

    def begin(self) -> None:
        """Start monitoring waits for hangs, at the end of ``init``."""

    def hang(self) -> WaitTimeout | None:
        """Return the error of all waits once ``ISHMEM_TIMEOUT`` has passed; None before."""

    def kernel_hang(self) -> WaitTimeout | None:
        """Return the error of a kernel that the driver has ended after ``ISHMEM_TIMEOUT``; None for another end."""

    def report_wait(self, details: Callable[[], str] | None = None) -> None:
        """Record that this thread still waits, as ``details()`` says; raise ``WaitTimeout`` if the wait must end."""

    def ending_with(self, event: threading.Event) -> AbstractContextManager[None]:
        """Return a context manager in which waits of this thread raise ``WaitTimeout`` once ``event`` is set."""

    def over(self) -> None:
        """Record that this thread's wait has ended."""

    def submitted(self, name: str, event: Any) -> None:
        """Record that kernel ``name`` has been submitted; ``event`` completes with it."""

    def for_kernel(self) -> AbstractContextManager[None]:
        """Record that this thread waits for a kernel to end."""

    def close(self) -> None:
        """Stop reporting waits."""


class Job:
    """The job of this process, from ``init`` to ``finalize``.

    Attributes:
        unmatched_inits: The calls of ``init`` for which no ``finalize`` has been called.
        no_waits: Why kernels may not wait for other PEs; empty when they may.
        proxy: The proxy for operations of this PE's kernels; None when they need none.
        statics: The ``Statics`` of ``ishmem.statics``.
        registered: The ``Registered`` of ``ishmem.runtime.registered``.
        active_sets: The ``ActiveSets`` of ``ishmem.active_sets``.
        observer: The ``Observer`` of ``ishmem.runtime.tracing``; None when calls are not recorded.
        late: The late delivery of operations, with ``ISHMEM_SIM_ORDER``; else None.
        everyone: The handle of the team that allocates: the world, or after losses the team of the remaining PEs.
        losses: The lost PEs that this PE has recorded.
        mpi, monitor: In a job over MPI, its exit handling, and the monitor that this PE has started; else None.
        is_watched: Whether a monitor process runs the hub of this node and ends the job over MPI after the first loss.
    """

    links: Links
    heap: SymmetricHeap
    default_engine: CopyEngine
    queue_workers: QueueWorkers
    proxy: Proxy | None
    statics: Any
    registered: Any
    active_sets: Any
    board: StatusBoard
    waits: WaitRecords
    no_waits: str

    def __init__(
        self, pe: int, n_pes: int, settings: Settings, node: Node | None = None, network: Network | None = None
    ) -> None:
        self.pe, self.n_pes, self.settings = pe, n_pes, settings
        self.unmatched_inits = 1
        self.node = node or Node(tuple(range(n_pes)), pe)
        self.network = network
        self.mpi: MpiJob | None = None
        self.monitor: MonitorProcess | None = None
        self.is_watched = False
        self.observer: Any = None
        self.late: Late | None = None
        self.gone: dict[int, str] = {}
        self.losses = Losses(self)
        self.everyone = WORLD
        self.teams: dict[int, Shape] = {}
        self.team_configs: dict[int, Any] = {}
        self.highest_sequence = 0
        self.first_sequences: dict[int, int] = {}  # first barrier number of each team
        self.contexts: set[Any] = set()
        self._local = threading.local()
        self.agreements = [0] * MAX_TEAMS
        self._pe_lists: dict[int, Any] = {}  # device memory with the PE numbers of teams without a stride
        self._node_lists: dict[int, tuple[NodeList, Any]] = {}  # and its device memory, of teams that span nodes

    @property
    def engine(self) -> CopyEngine:
        """The copy engine of this thread: of the context whose operation it runs, else the default one."""
        return getattr(self._local, "engine", None) or self.default_engine

    def new_engine(self) -> CopyEngine:
        """Return a new copy engine, which the caller closes."""
        return CopyEngine(self.heap.context, self.heap.device, self.heap.host_only, self.raise_lost)

    def use_engine(self, engine: CopyEngine | None) -> CopyEngine | None:
        """Set the copy engine of this thread, ``None`` for the default one; return the previous one."""
        previous = getattr(self._local, "engine", None)
        self._local.engine = engine
        return previous

    def on_lost(self, pe: int, how: str) -> None:
        """Record and log that a PE is lost for reason ``how``; called by the thread that reads the links."""
        if self.gone.get(pe) == how:
            return
        self.gone[pe] = how
        printed = self.losses.hub or (getattr(self, "board", None) and self.board.supervised)  # by ishmem run
        log.log(logging.INFO if printed else logging.WARNING, "PE %d is lost: %s", pe, how)
        self.losses.add(pe)

    def lose(self, pe: int, how: str) -> None:
        """Record the loss of a PE that the links have not reported; ``how`` describes the loss."""
        self.links.lost.setdefault(pe, how)
        self.on_lost(pe, how)

    def on_left(self, pe: int) -> None:
        """Record that a PE has finalised; called by the thread that reads the links."""
        self.gone.setdefault(pe, "it has finalised or exited")
        if not (self.network and self.network.is_far(pe)):  # the engine reports such a PE: see note_far
            _core.set_left(pe)

    def note_far(self) -> None:
        """Record which PEs of other nodes have left or are lost, as the engine reports."""
        if self.network is None:
            return
        for pe in _core.left_pes():
            if self.network.is_far(pe):
                self.gone.setdefault(pe, "it has finalised or exited")
        lost = _core.lost_pe()
        if lost >= 0 and self.network.is_far(lost) and not self.losses.goes_on:
            self.links.lost.setdefault(lost, f"it left after an error, on {self.network.where(lost)}")
            self.gone[lost] = self.links.lost[lost]

    def raise_lost(self, routine: str, members: Iterable[int] = ()) -> NoReturn:
        """Raise ``PeerLost`` for a PE that is gone, of ``members`` where possible; ``WaitTimeout`` after a hang."""
        self.note_far()
        if error := self.waits.hang():  # that PE reached ISHMEM_TIMEOUT first
            raise error
        pe = self.losses.pe_for(members)
        raise self.loss_of(pe, self.links.lost.get(pe) or self.gone.get(pe, "unknown"), routine)

    def loss_of(self, pe: int, how: str, routine: str) -> PeerLost:
        """Return the error that a PE is gone for reason ``how``; a monitor then gives this PE time to end itself."""
        if self.is_watched:
            self.links.report(Kind.RAISED)
        return PeerLost(f"{routine} on PE {self.pe}: PE {pe} is gone ({how})", pe)

    def raise_problems(self) -> None:
        """Raise errors of this PE's kernels: a failed launch, or a violation that ``ISHMEM_CHECK`` found.

        numba-dpex does not report a launch that the driver refuses.
        """
        if take_loss(self.heap):
            self.losses.await_reported()
            self.raise_lost("a wait in a kernel")
        raise_violation(self.heap, self.handles, self.settings.check)  # it may be why the device is lost
        self.heap.raise_lost_device()
        if self.proxy and raise_proxy_problem():
            self.raise_lost("an operation in a kernel")
        if self.late:
            self.late.raise_changed()

    def start_teams(self) -> None:
        """Create the predefined teams: the world, the PEs that share memory, and the PEs of this node."""
        for handle in range(MAX_TEAMS):
            self._write_team(handle, TeamRecord())
        self.set_team(WORLD, Shape(0, 1, self.n_pes))
        if near := self._node_shape():
            self.set_team(SHARED, near)
            self.set_team(NODE, near)

    def _node_shape(self) -> Shape | None:
        """Return the PEs of this node as a team; None when they have no common stride."""
        pes = self.node.pes
        stride = pes[1] - pes[0] if len(pes) > 1 else 1
        if pes == tuple(range(pes[0], pes[0] + stride * len(pes), stride)):
            return Shape(pes[0], stride, len(pes))
        return None

    def why_no_team(self, handle: int) -> str:
        """Return why a predefined team does not exist on this PE; empty for the handles of other teams."""
        return (
            f"the PEs of this node, {', '.join(map(str, self.node.pes))}, have no common stride, so that they form no "
            "team; let the launcher place PEs in blocks, or on the nodes in turn"
            if handle in PREDEFINED
            else ""
        )

    @property
    def handles(self) -> list[int]:
        """The handles of this PE's teams."""
        return sorted(handle for handle in self.teams if handle < TWIN)

    @property
    def whole_teams(self) -> dict[int, Shape]:
        """The teams without a lost member, by handle; a loss ends calls of the other teams, on some members only."""
        lost = self.links.lost.keys()
        return {handle: shape for handle, shape in self.teams.items() if not lost or lost.isdisjoint(shape)}

    def set_team(self, handle: int, shape: Shape, sequence: int = 0, config: Any = None) -> None:
        """Register a team for this PE's host and kernels, and its twin for the host.

        ``sequence`` is an upper bound of the barrier numbers of former teams with this handle, ``config`` its options.
        """
        me = shape.index(self.pe)
        self.first_sequences[handle] = sequence
        for number in (handle, handle + TWIN):
            self.teams[number], self.team_configs[number] = shape, config
            self.agreements[number] = 0
            _core.set_team(number, shape, me, sequence)
        nodes = self._write_nodes(handle, shape) if me >= 0 and self.network else 0
        record = TeamRecord(shape.start, shape.stride, shape.size, me, sequence, nodes)
        self._write_team(handle, self._listed(handle, record, shape.pes) if shape.pes else record)

    def _listed(self, handle: int, record: TeamRecord, pes: tuple[int, ...]) -> TeamRecord:
        """Write the members of a team without a stride to the tables of kernels, and return its record."""
        self.heap.write_aliases(handle, pes)
        numbers = self._pe_lists[handle] = self.heap.device_bytes(struct.pack(f"<{len(pes)}q", *pes))
        return record._replace(start=self.heap.layout.alias(handle), stride=1, pes=int(numbers._pointer))

    def _write_nodes(self, handle: int, shape: Shape) -> int:
        """Write the `NodeList` of a team to device memory and return its address; 0 for a team on one node.

        In device memory PEs have the numbers that kernels use.
        """
        assert self.network is not None
        pes, on = list(shape), self.network.nodes
        nodes = NodeList.of(pes, self.pe, on, _core.pair_steps)
        if nodes is None:
            return 0
        written: NodeList | None = nodes
        if shape.pes:
            numbers = dict(zip(pes, itertools.count(self.heap.layout.alias(handle))))
            at = {number: on[pe] for pe, number in numbers.items()}
            written = NodeList.of(list(at), numbers[self.pe], at, _core.pair_steps)
        assert written is not None
        self._node_lists[handle] = nodes, self.heap.device_bytes(written.pack())
        return int(self._node_lists[handle][1]._pointer)

    def node_list(self, handle: int) -> NodeList | None:
        """Return the `NodeList` of a team; None for a team on one node."""
        return self._node_lists[handle][0] if handle in self._node_lists else None

    def remove_team(self, handle: int) -> None:
        """Unregister a team; a later team with its handle continues its barrier count."""
        record = TeamRecord.unpack(_core.read(self.pe, self.heap.layout.team(handle), RECORD))
        self._write_team(handle, TeamRecord())
        self._node_lists.pop(handle, None)
        reached = [self.highest_sequence, record.sequence]
        for number in (handle, handle + TWIN):
            del self.teams[number]
            reached.append(_core.remove_team(number))
        self.highest_sequence = max(reached)

    def _write_team(self, handle: int, record: TeamRecord) -> None:
        _core.write(self.pe, self.heap.layout.team(handle), record.pack())

    def barrier(self, routine: str, team: int = WORLD) -> None:
        """Wait until every PE of a team has called; collective. It completes no operation; ``routine`` is for errors.

        Raises:
            SymmetryError: PEs of the team have made different calls.
            PeerLost: A PE is gone.
        """
        outcome = _core.barrier(team, -1.0, barrier_kind(routine))
        if outcome != _core.SATISFIED:
            self.raise_incomplete(routine, outcome, team)

    def raise_incomplete(self, routine: str, outcome: int, team: int = WORLD) -> NoReturn:
        """Raise ``SymmetryError`` or ``PeerLost`` for a barrier with another ``outcome`` than ``SATISFIED``."""
        if outcome == _core.MIXED:
            other = " or ".join(BARRIERS[_core.mixed_with()])
            raise SymmetryError(f"{routine} on PE {self.pe}: another PE has called {other}; {SAME_CALLS}")
        self.raise_lost(routine, self.teams[team])


_job: Job | None = None
_finished = _by_mpi = False
_parents: list[Job] = []
"""The job of the process from which this one was forked; kept, as its destruction would free shared resources."""
_stale_devices = False
"""Whether this process is a fork of one that had opened the drivers."""


def current() -> Job:
    """Return the running job, after a wait for the work that dpnp has submitted.

    Raises:
        StateError: Before ``init`` or after ``finalize``.
    """
    if _job is None:
        refuse_fork()
        when = "after ishmem.finalize()" if _finished else "before ishmem.init()"
        when = "after MPI_Finalize, which has finalised ishmem" if _by_mpi else when
        raise StateError(f"ishmem was called {when}; it is usable from init to finalize")
    _core.settle_submitted()
    return _job


def peek() -> Job | None:
    """Return the running job, None if there is none, without a wait for work that dpnp has submitted."""
    return _job


def refuse_fork() -> None:
    """Raise ``StateError`` if this process is a fork of a PE, which is no PE."""
    if _parents:
        raise StateError(
            f"ishmem was called in a fork of PE {_parents[-1].pe}, which is no PE; call it in the process that has "
            "called init, or let a new process call init (subprocess, or multiprocessing's start method 'spawn')"
        )


def refuse_stale_devices() -> None:
    """Raise ``StateError`` if the drivers were opened before this process was forked: they do not work in a fork."""
    if _stale_devices:
        raise StateError(
            "ishmem.init() was called in a fork of a process that had opened the drivers of its devices, by dpctl or "
            "dpnp, which do not work in a fork: start processes by multiprocessing's 'spawn' or 'forkserver', or fork "
            "before the first use of a device"
        )


def _leave_to_parent() -> None:
    """In a fork, detach this process from its parent's job, so that its end does not affect the job."""
    global _job, _stale_devices
    _stale_devices = stack.has_devices()
    if _job is not None:
        _core.reset()  # the mappings are the PE's: no call of this process may count as one of the PE
        _parents.append(_job)
        _job = None


os.register_at_fork(after_in_child=_leave_to_parent)


def running() -> bool:
    """Return whether the process is between ``init`` and ``finalize``."""
    return _job is not None


def start(job: Job) -> None:
    """Make ``job`` the running one."""
    global _job
    _job = job


def finish(by_mpi: bool = False) -> None:
    """Record that the running job has ended; ``by_mpi`` is whether the program called ``MPI_Finalize``."""
    global _job, _finished, _by_mpi
    _job, _finished, _by_mpi = None, True, by_mpi


def finished() -> bool:
    """Return whether a job of this process has ended by ``finalize`` or otherwise."""
    return _finished


def was_finished_by_mpi() -> bool:
    """Return whether ``MPI_Finalize`` has ended the job."""
    return _by_mpi
