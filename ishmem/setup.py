"""Initialisation and exit: ``init``, ``finalize``, ``global_exit`` and the level of thread support."""

from __future__ import annotations

import atexit
import faulthandler
import functools
import importlib
import logging
import os
import re
import secrets
import socket
import sys
import threading
import time
from collections import Counter
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, NoReturn, TypeVar

import ishmem
from ishmem import _core, amo, wait
from ishmem.common import callsite, constants, processes, refusals, status_board
from ishmem.common.deferred_signals import deferred
from ishmem.common.errors import IshmemError, LevelZeroError, PeerLost, StateError
from ishmem.common.routines import exported
from ishmem.common.shared_numbers import Kind
from ishmem.common.status_board import PeState, Record, StatusBoard
from ishmem.environment import arrays, stack
from ishmem.environment.launcher import launched
from ishmem.host_collectives import checks
from ishmem.runtime import (
    called_by_core,
    check,
    extensions,
    itt,
    job,
    kernel_loading,
    long_waits,
    mpi_job,
    network,
    process_group as process_groups,
    program_end,
    unfinished_work,
)
from ishmem.runtime.global_exit import end_job, end_process, prepare as prepare_exit

if TYPE_CHECKING:
    import dpctl

__all__ = exported(__name__)

_LEAK_WARNINGS = {"auto": ResourceWarning, "warn": RuntimeWarning}
_NEEDS_STACK = (
    "ishmem.active_sets", "ishmem.ipc.links", "ishmem.ipc.hub", "ishmem.runtime.device_sharing",
    "ishmem.runtime.heap", "ishmem.runtime.late_delivery", "ishmem.runtime.proxy", "ishmem.runtime.queue_workers",
    "ishmem.runtime.registered", "ishmem.statics",
)  # fmt: skip
"""What ``init`` imports once the SYCL stack is loaded."""
LEAKS_SHOWN = 10
"""Lines of a report of allocations that were never freed."""

log = logging.getLogger("ishmem")
_record: Record | None = None
"""The record of this process on the status board."""
_mpi: mpi_job.MpiJob | None = None
"""The exit handling of this process in a job over MPI."""
T = TypeVar("T")


class Membership(NamedTuple):
    """What this process knows of its job before it connects to the other PEs.

    Attributes:
        job: Name of the job; of a job over several nodes, the part on this node.
        pe, n_pes: The PE number and the number of PEs.
        node: The PEs of this PE's node.
        network: MPI between the nodes, if there are several.
        mpi: Exit handling in a job of several PEs over MPI.
        hint: Advice for the error message when the PEs cannot connect.
    """

    job: str
    pe: int
    n_pes: int
    node: network.Node
    network: network.Network | None = None
    mpi: mpi_job.MpiJob | None = None
    hint: str = ""


class Session:
    """The context manager that ``init`` returns; it calls ``finalize`` on exit."""

    def __enter__(self) -> Session:
        """Return the running session."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Finalise; after an exception, leave at once, and the other PEs count this PE as lost.

        ``sys.exit()`` with status 0 is no such exception.
        """
        if kind is not None and (status := program_end.status_after(error)):
            abandon(f"{kind.__name__}: {error}", status)
        elif job.running():
            finalize()


def init(
    heap_size: int | str | None = None,
    *,
    device: str | dpctl.SyclDevice | None = None,
    comm: Any = None,
    uid: str | bytes | None = None,
    rank: int | None = None,
    nranks: int | None = None,
    process_group: Any = None,
    on_loss: str | None = None,
) -> Session:
    """Start ishmem on this PE: allocate the symmetric heap and share it with all PEs of the job.

    Collective, blocking. The PE number and the number of PEs come from ``comm``, or from ``process_group``, or from
    ``uid`` with ``rank`` and ``nranks``, or from ``ishmem run``, or from an MPI launcher (``MPI.COMM_WORLD``); without
    any of them the job has one PE. As a context manager, the result calls ``finalize`` on exit.

    A library may call it again, without arguments, in a program that has called it: the job ends after as many calls of
    ``finalize``. After that, ``init`` starts another job; not with numba-dpex, whose kernels keep the addresses of the
    first one.

    Args:
        heap_size: Bytes of this PE's symmetric heap, or text such as ``"1G"``; by default ``ISHMEM_SYMMETRIC_SIZE``.
        device: A ``dpctl.SyclDevice`` or a filter string; by default PEs take the visible GPUs in turn.
        comm: An mpi4py communicator whose processes are the PEs.
        uid: On one node and without MPI: the text that PE 0 got from ``get_uniqueid``, on every PE.
        rank: Number of this PE, with ``uid``.
        nranks: Number of PEs, with ``uid``.
        process_group: A group of ``torch.distributed``, such as ``torch.distributed.group.WORLD``, whose processes are
            the PEs; all on one node.
        on_loss: "end": the job ends when a PE dies; "continue": calls that need it raise, and `shrink` returns the
            team of those that are left; the same on all PEs; by default ``ISHMEM_ON_LOSS``.

    Raises:
        StateError: A job has ended, and numba-dpex is in use or ``MPI_Finalize`` was called.
        ValueError: A setting or argument is not allowed; a further call has an argument.
        IshmemError: A PE could not start; raised on every PE.

    Example:
        >>> with ishmem.init(heap_size="256M"):  # doctest: +SKIP
        ...     print(f"PE {ishmem.my_pe()} of {ishmem.n_pes()}")

    Source: OpenSHMEM 1.6, 9.1.1 (shmem_init); ishmem_init, ishmemx_init_attr.
    """
    if job.running():
        _count_init(
            heap_size=heap_size, device=device, comm=comm, uid=uid, rank=rank, nranks=nranks,
            process_group=process_group, on_loss=on_loss,
        )  # fmt: skip
        return Session()
    _refuse_restart()
    settings_module = _import("ishmem.environment.settings")
    began = time.monotonic_ns()
    settings = settings_module.load(on_loss)
    size = settings.symmetric_size if heap_size is None else _size(heap_size)
    member = _membership(settings, comm, process_group, uid, rank, nranks)
    settings_module.start_logging(settings, member.pe, member.n_pes)
    _start(member, settings, size, device)
    _observe(job.current(), began)
    return Session()


def _import(*names: str) -> Any:
    """Import modules, undisturbed by handlers of signals, which may use ishmem; return the last one."""
    with deferred():
        return [importlib.import_module(name) for name in names][-1]


def _count_init(**arguments: Any) -> None:
    """Count a further call of ``init``."""
    this, given = job.current(), [name for name, value in arguments.items() if value is not None]
    if given:
        raise ValueError(
            f"init got {', '.join(given)}, and this process is PE {this.pe} of {this.n_pes} already; a further call "
            "takes no arguments. Code that may run again, as a notebook's cell: if not ishmem.is_initialized(): "
            "ishmem.init(...)"
        )
    this.unmatched_inits += 1


def _refuse_restart() -> None:
    """Raise if this process was a PE and cannot be one again."""
    job.refuse_fork()
    job.refuse_stale_devices()
    if job.was_finished_by_mpi():
        raise StateError("ishmem.init() was called after MPI_Finalize; start a new process")
    if job.finished():
        kernel_loading.refuse_restart()


def init_thread(requested: int, heap_size: int | str | None = None, **arguments: Any) -> constants.Thread:
    """Start ishmem as ``init`` does, and return the level of thread support, which is always ``THREAD_MULTIPLE``.

    Collective, blocking. Any number of threads may call ishmem concurrently. Collective calls on a team come from one
    thread at a time and in the same order on all PEs; ``finalize`` must not run concurrently with any other call.

    Args:
        requested: ``THREAD_SINGLE``, ``THREAD_FUNNELED``, ``THREAD_SERIALIZED`` or ``THREAD_MULTIPLE``.
        heap_size: As for ``init``.
        arguments: The keyword arguments of ``init``.

    Raises:
        ValueError: ``requested`` is none of the levels.
        StateError, IshmemError: As for ``init``.

    Example:
        >>> level = ishmem.init_thread(ishmem.THREAD_MULTIPLE)  # doctest: +SKIP

    Source: OpenSHMEM 1.6, 9.2.1 (shmem_init_thread); ishmem_init_thread.
    """
    if requested not in list(constants.Thread):
        levels = ", ".join(f"THREAD_{level.name}" for level in constants.Thread)
        raise ValueError(f"requested is {requested!r}; allowed are {levels}")
    init(heap_size, **arguments)
    return query_thread()


def query_thread() -> constants.Thread:
    """Return the level of thread support, which is always ``THREAD_MULTIPLE``; not collective.

    Raises:
        StateError: Not between ``init`` and ``finalize``.

    Example:
        >>> ishmem.query_thread() == ishmem.THREAD_MULTIPLE
        True

    Source: OpenSHMEM 1.5, 9.2.2 (shmem_query_thread); ishmem_query_thread.
    """
    job.current()
    return constants.Thread.MULTIPLE


def _size(heap_size: int | str) -> int:
    from ishmem.common.sizes import parse_size

    try:
        return parse_size(heap_size)
    except ValueError:
        raise ValueError(f"heap_size is {heap_size!r}; allowed are bytes, or text such as '512M' or '1G'") from None


def _membership(
    settings: Any, comm: Any, process_group: Any, uid: str | bytes | None, rank: int | None, nranks: int | None
) -> Membership:
    by_launcher = settings.npes is not None and settings.joined in (None, os.getpid())  # not a child process of a PE
    if comm is not None:
        if not (hasattr(comm, "Get_rank") and hasattr(comm, "Get_size")):
            raise TypeError(f"comm is a communicator of mpi4py, such as MPI.COMM_WORLD, got {comm!r}")
        mpi_job.check(comm)
        _check_sizes(comm, settings.npes if by_launcher else None)
        return _member_of(comm, settings)
    if process_group is not None:
        group = process_groups.Processes(process_group)
        _check_sizes(group, settings.npes if by_launcher else None, "process_group", "torchrun --nproc-per-node")
        name, node = network.gather_one_node(group, settings.node)
        return Membership(name, group.Get_rank(), group.Get_size(), node)
    if uid is not None:
        if rank is None or nranks is None or not 0 <= rank < nranks:
            raise ValueError(f"init with uid= needs 0 <= rank < nranks, got rank={rank} and nranks={nranks}")
        name = uid.decode() if isinstance(uid, bytes) else uid
        _check_namespace_of(name, rank, nranks)
        hint = "; init(uid=...) joins PEs of one node and network namespace, init(comm=MPI.COMM_WORLD) those of several"
        return _on_one_node(name, rank, nranks, hint)
    if rank is not None or nranks is not None:
        raise ValueError("init takes rank= and nranks= together with uid=; PE 0 gets one from get_uniqueid()")
    this = launched()
    if by_launcher and this is not None:
        raise IshmemError(
            f"this process is PE {settings.pe} of {settings.npes} of an ishmem run, and {this.words}; "
            "start the PEs by one of them"
        )
    if by_launcher:
        _check_network(settings)
        os.environ["ISHMEM_JOINED"] = str(os.getpid())
        return _on_one_node(settings.job, settings.pe, settings.npes)
    if settings.npes is None and this is not None:
        return _join_world(settings)
    process_groups.refuse_torchrun()
    if settings.npes is None:
        _refuse_lost_variables()
    return _on_one_node(secrets.token_hex(16), 0, 1)


def _check_network(settings: Any) -> None:
    """Check that this PE can reach the supervisor: by an abstract socket, which is one of a network namespace."""
    here = processes.network()
    if settings.npes > 1 and settings.network and here and here != settings.network:
        raise IshmemError(
            f"PE {settings.pe} is in another network namespace ({here}) than its ishmem run ({settings.network}), so "
            "it cannot reach the other PEs; start all PEs in one (of a container: ishmem run inside it, or "
            "--network=host), or use MPI: mpiexec ... ishmem run prog.py"
        )


def _check_namespace_of(uid: str, rank: int, nranks: int) -> None:
    """Check that this PE is in the network namespace of `get_uniqueid`: abstract sockets do not cross.

    The other PEs are told.
    """
    made, here = re.fullmatch(r"[0-9a-f]{32}-(\d+)", uid), processes.network()
    if made and here and made[1] != here:
        why = (
            f"PE {rank} is in another network namespace ({here}) than the process that has called get_uniqueid "
            f"({made[1]}), so the PEs cannot reach each other; start all in one (containers: --network=host, or one "
            "pod), or use MPI: init(comm=MPI.COMM_WORLD). If only that process is elsewhere, pass a uid of your own"
        )
        refusals.record_refusal(uid, rank, nranks, why)
        raise IshmemError(why)


def _refuse_lost_variables() -> None:
    """Raise in a PE of ``ishmem run`` that does not know it, and would be a job of one PE: others wait for it."""
    board = status_board.of_launcher()
    if board and board.n_pes > 1 and any(record.state == PeState.ABSENT for record in board):
        raise IshmemError(
            f"ishmem run has started this process as one of {board.n_pes} PEs, but ISHMEM_PE, ISHMEM_NPES and "
            "ISHMEM_JOB are not in its environment: what starts the program (env -i, sudo, ssh) has to pass on "
            "ISHMEM_*, ONEAPI_DEVICE_SELECTOR and LD_LIBRARY_PATH"
        )


def _check_sizes(comm: Any, by_launcher: int | None, name: str = "comm", launcher: str = "mpiexec -n") -> None:
    """Check that ishmem run, the MPI launcher and ``comm`` agree on the number of PEs."""
    size = comm.Get_size()
    if by_launcher not in (None, size):
        raise IshmemError(
            f"init({name}=) got a communicator of {size} processes, in a job of {by_launcher} PEs that ishmem run has "
            f"started; leave {name}= out, or start the program with {launcher} {by_launcher}"
        )
    if "mpi4py.MPI" in sys.modules:  # it may be a communicator that only looks like one of MPI
        network.check_size(sys.modules["mpi4py.MPI"])


def _on_one_node(name: str, pe: int, n_pes: int, hint: str = "") -> Membership:
    return Membership(name, pe, n_pes, network.Node(tuple(range(n_pes)), pe), hint=hint)


def _join_world(settings: Any) -> Membership:
    """Join the processes of an MPI launcher; end this process if they do not all arrive before the timeout."""
    faulthandler.dump_traceback_later(settings.init_timeout, exit=True)  # MPI_Init knows no time-out
    try:
        return _member_of(network.world(), settings)
    finally:
        faulthandler.cancel_dump_traceback_later()


def _member_of(comm: Any, settings: Any) -> Membership:
    mpi = mpi_job.of(comm, bool(settings.hub and settings.on_loss == "continue"))
    try:
        name, node, between = network.gather_nodes(comm, settings.node)
    except IshmemError:
        if mpi:
            mpi.leave()  # every PE raises, so none waits for this one
        raise
    return Membership(name, comm.Get_rank(), comm.Get_size(), node, between, mpi)


def _start(member: Membership, settings: Any, size: int, device: str | dpctl.SyclDevice | None) -> None:
    this = job.Job(member.pe, member.n_pes, settings, member.node, member.network)
    this.mpi = member.mpi
    board = _board(member, settings)
    _watch_main_thread()
    _watch_end(board, member, is_brief=False)
    monitor = None
    try:
        if member.mpi and not this.losses.hub:
            this.is_watched = True
            monitor = mpi_job.start_monitor(member.job, member.node, member.network, settings.node_timeout)
        stack.load()
        _import(*_NEEDS_STACK)
        from ishmem.runtime.heap import SymmetricHeap

        this.links = _connect(this, member, _hub_of(this, member, board, monitor))
        this.links.on_exit = end_process
        if member.mpi and this.losses.hub:
            member.mpi.before_finalize(_finalize_before_mpi)
        elif member.mpi:
            _watch(this, member, member.mpi, monitor)
        this.heap = _together(
            this,
            lambda: SymmetricHeap(_queue(device, member), size, member.pe, member.n_pes, member.node, member.network),
        )
        offers = this.heap.exchange(this.links, settings.p2p, settings.on_loss)
        if this.network:
            this.network.share_mirrors(this.heap.layout, this.links)
        this.board = prepare_exit(this.links, board)
        _name_pes(this, member)
        this.waits = waits = long_waits.LongWaits(this, settings.timeout, lambda: end_job(this, 1))
        _together(this, lambda: this.heap.open(offers, settings.init_timeout))
        this.heap.settle(this.links)
        _together(this, lambda: _attach(this))
    except BaseException:
        if board:
            board[member.node.place].state = PeState.FAILED
        _close_after_failed_init(this, monitor)
        _core.forget_lost()  # PEs that this failed init has marked as lost must not count in the next one
        raise
    waits.begin()
    if settings.on_loss == "continue":
        this.losses.go_on()
    job.start(this)
    _watch_end(this.board, member, settings.debug is None)
    if settings.debug is not None:
        from ishmem.runtime import debug

        debug.log_start(this)
    this.heap.warn_of_troubles()
    extensions.call_first()
    unfinished_work.watch()
    atexit.register(_at_exit)


def _observe(this: job.Job, began: int) -> None:
    """Record this PE's calls, if a setting or VTune asks for it; collective in a job on several nodes."""
    offset = this.network.clock_offset(bool(this.settings.trace)) if this.network else 0
    if this.settings.trace or this.settings.stats or itt.wanted():
        from ishmem.runtime.tracing import Observer

        this.observer = Observer(this, began, offset)


def _name_pes(this: job.Job, member: Membership) -> None:
    """Let the status board, which counts the PEs of the node only, name them by their numbers in the job."""
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


def _hub_of(
    this: job.Job, member: Membership, board: StatusBoard | None, monitor: mpi_job.MonitorProcess | None
) -> Callable[[], object]:
    """Return how the first PE of the node starts the hub of the node's PEs, or waits for it to run elsewhere."""
    from ishmem.ipc import hub

    if this.settings.board and member.job == this.settings.job:
        return hub.elsewhere
    if this.is_watched:
        return hub.OfMonitor(lambda: monitor.addresses if monitor else [])
    pes = member.node.pes
    fate: hub.Fate = (lambda pe: board.fate(pes.index(pe))) if board else hub.unknown
    return lambda: hub.start(member.job, len(pes), fate, pes)


def _watch(this: job.Job, member: Membership, mpi: mpi_job.MpiJob, monitor: mpi_job.MonitorProcess | None) -> None:
    """Let the monitor of the node watch this PE, and the monitors of the nodes connect to each other; collective."""
    listening = _together(this, lambda: monitor.addresses if monitor else [])
    if monitor:
        monitor.connect(member.network.from_above(listening) if member.network else [])
    this.links.report(Kind.WATCH)
    this.monitor = monitor
    mpi.failure = lambda: this.links.failure
    if member.network:
        mpi.before_finalize(_finalize_before_mpi)


def _close_after_failed_init(this: job.Job, monitor: mpi_job.MonitorProcess | None) -> None:
    """Close what a failed ``init`` has opened; it is no loss, since every PE raises."""
    if waits := getattr(this, "waits", None):
        waits.close()
    if links := getattr(this, "links", None):
        if this.is_watched:
            links.report(Kind.DONE)
        links.close()
    if monitor:
        monitor.close()


def _finalize_before_mpi() -> None:
    """Finalise because the program calls ``MPI_Finalize``: between nodes, nothing works after it."""
    if not job.running():
        return
    log.info("the program called MPI_Finalize before ishmem.finalize(); finalising now")
    try:
        _finalize(job.current())
    except IshmemError as error:
        log.warning("%s", error)
    job.finish(by_mpi=True)


def _board(member: Membership, settings: Any) -> StatusBoard | None:
    """Return the status board of ishmem run, or a new one on the first PE of the node, which sends it to the others."""
    board = StatusBoard.find(settings.board, member.n_pes) if member.job == settings.job else None
    if board is None and member.node.place == 0:
        board = StatusBoard.make(len(member.node.pes))
    if board:
        board.join(member.node.place, callsite.describe(callsite.of_frame(sys._getframe())), _core)
    return board


def _attach(this: job.Job) -> None:
    from ishmem.active_sets import ActiveSets
    from ishmem.runtime import device_sharing, late_delivery
    from ishmem.runtime.proxy import Proxy
    from ishmem.runtime.queue_workers import QueueWorkers
    from ishmem.runtime.registered import Registered
    from ishmem.statics import Statics

    this.heap.attach(this.settings)
    if (seed := late_delivery.seed_of(this.settings.sim_order)) is not None:
        this.late = late_delivery.Late(this.heap, seed)
    if this.network:
        card = (this.heap.context, this.heap.device) if this.heap.is_card else None
        this.network.start(this.settings.mpi_device_memory, card, this.losses.hub)
    this.no_waits = "" if this.settings.shared_device == "allow" else device_sharing.reason(this.heap)
    this.start_teams()
    called_by_core.install(amo.by_kernel, wait.raise_unsatisfied, checks.raise_failed)
    this.default_engine = this.new_engine()
    this.proxy = Proxy(this.heap) if this.heap.needs_proxy else None
    this.queue_workers = QueueWorkers(this.heap, this.losses.end_waits)
    this.statics = Statics()
    this.registered = Registered()
    this.active_sets = ActiveSets()
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


def finalize() -> None:
    """Complete all operations of this PE, free the symmetric heap and leave the job.

    Collective, blocking: returns when every PE has called. After several calls of ``init``, the last of as many calls
    does this, and those before it are ``barrier_all``. ``ISHMEM_LEAKS`` decides whether arrays that were never freed
    are a ``ResourceWarning``, are ignored, reported with the line that allocated them, or an error. In a job on several
    nodes, ``MPI_Finalize`` calls it if the program has not; a call after that returns at once.

    Raises:
        StateError: Not between ``init`` and ``finalize``.
        PeerLost: A PE died before it finalised; this PE finalises nevertheless.
        LevelZeroError: The device is lost; this PE leaves the job, and the other PEs see it as lost.
        IndexError, SymmetryError: As for ``quiet``; this PE finalises nevertheless.

    Example:
        >>> session = ishmem.init()  # doctest: +SKIP
        >>> ishmem.finalize()  # doctest: +SKIP

    Source: OpenSHMEM 1.6, 9.1.4 (shmem_finalize); ishmem_finalize.
    """
    if not job.running() and job.was_finished_by_mpi():
        return
    this = job.current()
    this.unmatched_inits -= 1
    if this.unmatched_inits:
        ishmem.barrier_all()
    else:
        _finalize(this)


def _finalize(this: job.Job) -> None:
    """End the job."""
    if this.observer:
        this.observer.leaving = time.monotonic_ns()
    leaks = _leaks(this)
    try:
        with long_waits.patience(this, lambda: ", for what is on queues") as report:
            this.queue_workers.drain(report)
        this.default_engine.quiet()
        _core.fence()
        this.raise_problems()
        this.heap.allocator.end_waits()
    except LevelZeroError:
        abandon()  # this PE's operations may never complete
        raise
    finally:
        if job.running():
            _leave(this)
    this.note_far()
    if this.links.lost and not this.losses.goes_on:
        pe, how = next(iter(this.links.lost.items()))
        raise this.loss_of(pe, how, "finalize")
    if leaks and this.settings.leaks == "error":
        raise IshmemError(leaks)
    if leaks and this.settings.leaks in _LEAK_WARNINGS and this.pe == 0:  # the allocations are the same on all PEs
        callsite.warn(leaks, _LEAK_WARNINGS[this.settings.leaks])


def _leave(this: job.Job) -> None:
    _core.publish_barriers_begun(False)
    state = PeState.ABANDONED
    try:
        with long_waits.patience(this, lambda: f", for {this.links.awaited()}") as report:
            this.links.leave(None, report)
            if this.network and not this.losses.hub:  # which has told this PE that all have left
                this.network.leave(report)
        state = PeState.LEFT
    finally:
        _close(this, state)


def _close(this: job.Job, state: PeState) -> None:
    try:
        _release(this, state)
    finally:
        if this.observer:
            this.observer.stop()


def _release(this: job.Job, state: PeState) -> None:
    atexit.unregister(_at_exit)
    this.waits.close()
    this.board[this.node.place].state = state
    drained = this.queue_workers.close()
    for context in list(this.contexts):
        context.close()
    job.finish()
    unfinished_work.unwatch()
    kernel_loading.stop()
    this.default_engine.close()
    this.losses.close()
    if this.late:
        this.late.close(failed=state is not PeState.LEFT or bool(this.links.lost))
    if this.proxy:
        this.proxy.close()
    if this.network:
        this.network.stop(politely=state is PeState.LEFT)
    if state is PeState.LEFT and not this.links.lost and _core.lost_pe() < 0:
        _leave_mpi(this)
    if drained:
        this.registered.close()
    this.heap.close(unmap=drained)  # commands that still run access the mappings
    this.links.close()


def _leave_mpi(this: job.Job) -> None:
    """Leave the MPI job, and report to the monitor of the node that the exit of this process is no failure."""
    if this.mpi:
        this.mpi.leave()
    if this.is_watched:
        this.links.report(Kind.DONE)
    if this.monitor:
        this.monitor.close()


def _leaks(this: job.Job) -> str:
    live = list(this.heap.allocator.live.values())
    if not live:
        return ""
    alike = Counter(f"{a.what}, from {a.where}" for a in live)
    shown = alike.most_common(LEAKS_SHOWN)
    lines = [f"  {text}" + f", {count} times" * (count > 1) for text, count in shown]
    if left := len(live) - sum(count for _text, count in shown):
        lines.append(f"  and {left} more")
    head = f"PE {this.pe}: {len(live)} symmetric allocations were never freed (by ishmem.free; del frees nothing):"
    return "\n".join([head, *lines])


def abandon(how: str = "it left after an error", status: int = 1) -> None:
    """Leave at once, without waiting for the other PEs, which then count this PE as lost.

    ``how`` is for their messages, ``status`` the exit status of a job over MPI.
    """
    if job.running():
        this = job.current()
        this.board[this.node.place].exiting = time.monotonic()  # before the other PEs learn of it, and fail
        _report(this, how, status)
        if observer := this.observer:
            observer.how = how
        _core.publish_barriers_begun(True)
        _close(this, PeState.ABANDONED)


def _watch_end(board: StatusBoard | None, member: Membership, is_brief: bool) -> None:
    """Tell the other PEs and ``ishmem run`` when the program fails, whose threads may keep the process for long."""
    global _record, _mpi
    _record, _mpi = board[member.node.place] if board else None, member.mpi
    program_end.watch_exceptions(board, member.pe, is_brief, _give_up)


def _give_up(how: str, status: int) -> None:
    if _record and _record.gave_up:
        return
    if _record:
        _record.status, _record.gave_up = status, time.monotonic()
    if _mpi:
        _mpi.end_later(status)
    if job.running():
        _tell_failure(job.current(), how, status)


@functools.cache
def _watch_main_thread() -> None:
    """Notice a status of ``sys.exit`` before the interpreter waits for the program's threads."""
    program_end.watch_status()
    if register := getattr(threading, "_register_atexit", None):
        process = os.getpid()
        register(lambda: _end_main_thread(process))


def _end_main_thread(process: int) -> None:
    if os.getpid() == process and (status := program_end.status_of_exit()):
        _give_up(f"exit with status {status}", status)


def _tell_failure(this: job.Job, how: str, status: int) -> None:
    """Let the other PEs count this one as lost; its threads may still use its memory."""
    this.board[this.node.place].exiting = time.monotonic()
    _report(this, how, status)
    this.board[this.node.place].state = PeState.ABANDONED
    this.links.close()


def _report(this: job.Job, how: str, status: int) -> None:
    """Tell those who watch this PE on several nodes that its program has failed; on one node the board does."""
    if this.is_watched:
        this.links.fail(how, status)
    elif this.losses.hub and this.network:
        this.links.fail(f"{how}, on {this.network.where(this.pe)}", status)


def _at_exit() -> None:
    if not job.running():  # in a fork
        return
    # sys.last_type is set if an exception ended the program; the other PEs must learn that at once.
    if hasattr(sys, "last_type"):
        abandon(f"{type(sys.last_value).__name__}: {sys.last_value}")
        return
    this = job.current()
    if this.mpi and (status := program_end.status()):
        abandon(f"exit with status {status}", status)
        return
    this.board[this.node.place].exiting = time.monotonic()
    log.info("the program ended without ishmem.finalize(); finalising now")
    try:
        _finalize(this)
    except IshmemError as error:
        log.warning("%s", error)


def global_exit(status: int) -> NoReturn:
    """End all PEs of the job at once with an exit status; does not return.

    Output is flushed; neither ``finalize`` nor exit handlers run. Any PE may call, from any thread; if several call,
    the job ends with one of their statuses. Not collective.

    Args:
        status: Exit status of the job, an integer.

    Raises:
        StateError: Not between ``init`` and ``finalize``.
        TypeError: ``status`` is not an integer.
        ValueError: ``status`` is not 0 to 255.

    Example:
        >>> ishmem.global_exit(3)  # doctest: +SKIP

    Source: OpenSHMEM 1.5, 9.1.5 (shmem_global_exit).
    """
    this, number = job.current(), check.integer(status, "status")
    if not 0 <= number <= 255:
        raise ValueError(f"status is {number}; allowed are 0 to 255")
    end_job(this, number)


def is_initialized() -> bool:
    """Return whether the process is between ``init`` and ``finalize``; callable at any time. Not collective.

    Example:
        >>> ishmem.is_initialized()
        True

    Source: OpenSHMEM 1.6, 9.1.5 (shmem_query_initialized); ishmemx_query_initialized.
    """
    return job.running()


def query_initialized() -> bool:
    """Return whether the process is between ``init`` and ``finalize``: ``is_initialized`` by its OpenSHMEM name.

    Example:
        >>> ishmem.query_initialized()
        True

    Source: OpenSHMEM 1.6, 9.1.5 (shmem_query_initialized); ishmemx_query_initialized.
    """
    return job.running()


def get_uniqueid() -> str:
    """Return a new identifier for ``init(uid=...)``, which one process creates and passes to all. Not collective.

    Example:
        >>> uid = ishmem.get_uniqueid()  # on one process, which sends it to the others
        >>> ishmem.init(uid=uid, rank=rank, nranks=4)  # doctest: +SKIP

    Source: Intel SHMEM 1.5.2, ishmemx_get_uniqueid.
    """
    return f"{secrets.token_hex(16)}-{processes.network()}"
