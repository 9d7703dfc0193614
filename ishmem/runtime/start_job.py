"""The start of a job in ``init``, once the place of this process is known: links, heap, teams and helpers.

A step that fails on one PE fails on all PEs.
"""

from __future__ import annotations

import atexit
import importlib
import os
import socket
import sys
from typing import TYPE_CHECKING, Any, Callable, TypeVar

from ishmem import _core
from ishmem.common import callsite
from ishmem.common.deferred_signals import deferred
from ishmem.common.errors import IshmemError, PeerLost
from ishmem.common.shared_numbers import Kind
from ishmem.common.status_board import PeState, StatusBoard
from ishmem.environment import arrays, stack
from ishmem.runtime import (
    extensions,
    itt,
    job,
    kernel_loading,
    leave_job,
    long_waits,
    mpi_job,
    network,
    unfinished_work,
)
from ishmem.runtime.global_exit import end_job, end_process, prepare as prepare_exit
from ishmem.runtime.membership import Membership

if TYPE_CHECKING:
    import dpctl

_NEEDS_STACK = (
    "ishmem.active_sets", "ishmem.ipc.links", "ishmem.ipc.hub", "ishmem.runtime.device_sharing",
    "ishmem.runtime.heap", "ishmem.runtime.late_delivery", "ishmem.runtime.proxy", "ishmem.runtime.queue_workers",
    "ishmem.runtime.registered", "ishmem.statics",
)  # fmt: skip
"""The modules that ``init`` imports once the SYCL stack is loaded."""

T = TypeVar("T")
Attach = Callable[[job.Job], None]
"""A function that adds the parts of a job for chapters of the interface, once its teams exist."""


def import_undisturbed(*names: str) -> Any:
    """Import modules and return the last one; handlers of signals, which may use ishmem, run afterwards."""
    with deferred():
        return [importlib.import_module(name) for name in names][-1]


def start(
    member: Membership, settings: Any, size: int, device: str | dpctl.SyclDevice | None, attach: Attach
) -> None:
    """Start the job of this process and make it the running one; collective, blocking.

    Args:
        member: The place of this process in the job.
        settings: The settings.
        size: Bytes of the symmetric heap.
        device: As in ``init``.
        attach: Adds the parts of the job for chapters of the interface.

    Raises:
        IshmemError, PeerLost, ValueError, TypeError: As ``init`` does; what this has opened is closed.
    """
    this = job.Job(member.pe, member.n_pes, settings, member.node, member.network)
    this.mpi = member.mpi
    board = _board(member, settings)
    leave_job.watch_main_thread()
    leave_job.watch_end(board, member, is_brief=False)
    monitor = None
    try:
        if member.mpi and not this.losses.hub:
            this.is_watched = True
            monitor = mpi_job.start_monitor(member.job, member.node, member.network, settings.node_timeout)
        stack.load()
        import_undisturbed(*_NEEDS_STACK)
        _open_links(this, member, monitor)
        _open_heap(this, member, size, device, board)
        _together(this, lambda: _attach(this, attach))
    except BaseException:
        if board:
            board[member.node.place].state = PeState.FAILED
        _close_failed_init(this, monitor)
        _core.forget_lost()  # PEs that this failed init has marked as lost must not count in the next one
        raise
    _run(this, member)


def _open_links(this: job.Job, member: Membership, monitor: mpi_job.MonitorProcess | None) -> None:
    """Connect this PE to the hub, and over MPI register it with the monitors; collective."""
    this.links = _connect(this, member, _hub_of(this, member, monitor))
    this.links.on_exit = end_process
    if member.mpi and this.losses.hub:
        member.mpi.before_finalize(leave_job.finalize_before_mpi)
    elif member.mpi:
        _watch(this, member, member.mpi, monitor)


def _open_heap(
    this: job.Job, member: Membership, size: int, device: str | dpctl.SyclDevice | None, board: StatusBoard | None
) -> None:
    """Allocate the heap of this PE and open those of the others; waits are reported from here on. Collective."""
    from ishmem.runtime.heap import SymmetricHeap

    settings = this.settings
    this.heap = _together(
        this,
        lambda: SymmetricHeap(_queue(device, member), size, member.pe, member.n_pes, member.node, member.network),
    )
    offers = this.heap.exchange_handles(this.links, settings.p2p, settings.on_loss)
    if this.network:
        this.network.share_mirrors(this.heap.layout, this.links)
    this.board = prepare_exit(this.links, board)
    _name_pes(this, member)
    this.waits = long_waits.LongWaits(this, settings.timeout, lambda: end_job(this, 1))
    _together(this, lambda: this.heap.open(offers, settings.init_timeout))
    this.heap.settle(this.links)


def _run(this: job.Job, member: Membership) -> None:
    """Make ``this``, all parts of which are ready, the running job."""
    this.waits.begin()
    if this.settings.on_loss == "continue":
        this.losses.go_on()
    job.start(this)
    leave_job.watch_end(this.board, member, this.settings.debug is None)
    if this.settings.debug is not None:
        from ishmem.runtime import debug

        debug.log_start(this)
    this.heap.warn_of_troubles()
    extensions.call_first()
    unfinished_work.watch()
    atexit.register(leave_job.at_exit)


def observe(this: job.Job, began: int) -> None:
    """Record this PE's calls since ``began`` (ns) if a setting or VTune requests it; on several nodes collective."""
    offset = this.network.clock_offset(bool(this.settings.trace)) if this.network else 0
    if this.settings.trace or this.settings.stats or itt.wanted():
        from ishmem.runtime.tracing import Observer

        this.observer = Observer(this, began, offset)


def _name_pes(this: job.Job, member: Membership) -> None:
    """Set the PE numbers and the name of the node on the status board, which has records of the node's PEs only."""
    this.board.numbers = member.node.pes
    if member.network:
        this.board.node = f"node {member.node.number} ({socket.gethostname()})"


def _connect(this: job.Job, member: Membership, start_hub: Callable[[], object]) -> Any:
    from ishmem.ipc import hub
    from ishmem.ipc.links import Links

    timeout = this.settings.init_timeout
    arguments = member.job, member.node.place, len(member.node.pes), timeout
    if name := this.losses.hub:
        near = Links.connect(*arguments, None, None, member.node.pes, start_hub)
        whole = Links.connect(name, this.pe, this.n_pes, timeout, this.on_lost, this.on_left, start_hub=hub.elsewhere)
        return network.SpanningLinks(near, whole)
    try:
        return Links.connect(*arguments, this.on_lost, this.on_left, member.node.pes, start_hub)
    except PeerLost:
        raise
    except IshmemError as error:
        raise IshmemError(f"{error}{member.hint}") from None


def _hub_of(this: job.Job, member: Membership, monitor: mpi_job.MonitorProcess | None) -> Callable[[], object]:
    """Return the function by which the node's first PE starts the hub of its PEs, or waits for it to run elsewhere."""
    from ishmem.ipc import hub

    if this.settings.board and member.job == this.settings.job:
        return hub.elsewhere
    if this.is_watched:
        return hub.OfMonitor(lambda: monitor.addresses if monitor else [])
    return lambda: hub.start(member.job, len(member.node.pes), member.node.pes)


def _watch(this: job.Job, member: Membership, mpi: mpi_job.MpiJob, monitor: mpi_job.MonitorProcess | None) -> None:
    """Register this PE with the monitor of the node, and connect the monitors of the nodes; collective."""
    listening = _together(this, lambda: monitor.addresses if monitor else [])
    if monitor:
        monitor.connect(member.network.from_above(listening) if member.network else [])
    this.links.report(Kind.WATCH)
    this.monitor = monitor
    mpi.failure = lambda: this.links.failure
    if member.network:
        mpi.before_finalize(leave_job.finalize_before_mpi)


def _close_failed_init(this: job.Job, monitor: mpi_job.MonitorProcess | None) -> None:
    """Close all that a failed ``init`` has opened; this is not a loss, since every PE raises."""
    if waits := getattr(this, "waits", None):
        waits.close()
    if links := getattr(this, "links", None):
        if this.is_watched:
            links.report(Kind.DONE)
        links.close("its init failed")
    if monitor:
        monitor.close()


def _board(member: Membership, settings: Any) -> StatusBoard | None:
    """Return the status board of ishmem run, else a new one on the node's first PE and None on the others."""
    board = StatusBoard.find(settings.board, member.n_pes) if member.job == settings.job else None
    if board is None and member.node.place == 0:
        board = StatusBoard.make(len(member.node.pes))
    if board:
        board.join(member.node.place, callsite.describe(callsite.of_frame(sys._getframe())), _core)
    return board


def _attach(this: job.Job, attach: Attach) -> None:
    from ishmem.runtime import device_sharing, late_delivery
    from ishmem.runtime.proxy import Proxy
    from ishmem.runtime.queue_workers import QueueWorkers
    from ishmem.runtime.registered import Registered

    this.heap.attach(this.settings)
    if (seed := late_delivery.seed_of(this.settings.sim_order)) is not None:
        this.late = late_delivery.Late(this.heap, seed)
    if this.network:
        card = (this.heap.context, this.heap.device) if this.heap.is_card else None
        this.network.start(this.settings.mpi_device_memory, card, this.losses.hub)
    this.no_waits = "" if this.settings.shared_device == "allow" else device_sharing.reason(this.heap)
    this.start_teams()
    this.default_engine = this.new_engine()
    this.proxy = Proxy(this.heap) if this.heap.needs_proxy else None
    this.queue_workers = QueueWorkers(this.heap, this.losses.end_waits)
    this.registered = Registered()
    attach(this)
    kernel_loading.start(this.heap, this.settings, this.no_waits)


def _together(this: job.Job, action: Callable[[], T]) -> T:
    """Run a step of ``init`` on every PE; if it fails on one PE, every PE raises. Collective."""
    problem: Exception | None = None
    try:
        result = action()
    except Exception as error:
        problem = error
    report = f"{type(problem).__name__}: {problem}" if problem else ""
    reports = this.network.reports(report) if this.network else [
        text.decode() for text, _fds in this.links.allgather(report.encode(), what="init")
    ]
    failed = [f"PE {pe}: {text}" for pe, text in enumerate(reports) if text]
    if failed and this.mpi:
        this.mpi.leave()  # every PE raises, so none waits for this one
    if problem:
        raise problem
    if failed:
        raise IshmemError("init failed; " + "; ".join(failed))
    return result


def _queue(device: str | dpctl.SyclDevice | None, member: Membership) -> dpctl.SyclQueue:
    import dpctl

    from ishmem.runtime.peer_device import discrete_first

    if device is None:
        gpus = dpctl.get_devices(backend="level_zero", device_type="gpu")
        if not gpus:
            raise IshmemError(
                "no Level Zero GPU is visible to SYCL; check ONEAPI_DEVICE_SELECTOR "
                f"(now {os.environ.get('ONEAPI_DEVICE_SELECTOR')!r}, which counts within {stack.MASK}, now "
                f"{os.environ.get(stack.MASK)!r}) and ISHMEM_DEVICE"
            )
        device = discrete_first(gpus)[member.node.place % len(gpus)]
    chosen = device if isinstance(device, dpctl.SyclDevice) else dpctl.SyclDevice(device)
    # dpnp's queue for this device, so that one kernel accepts both symmetric and ordinary arrays.
    return arrays.tensor.Device.create_device(chosen).sycl_queue
