"""Initialisation and exit: ``init``, ``finalize``, ``global_exit`` and the level of thread support."""

from __future__ import annotations

import secrets
import time
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn

import ishmem
from ishmem import amo, wait
from ishmem.common import constants, processes
from ishmem.common.errors import StateError
from ishmem.common.routines import exported
from ishmem.host_collectives import checks
from ishmem.runtime import called_by_core, check, job, kernel_loading, leave_job, program_status, start_job
from ishmem.runtime.global_exit import end_job
from ishmem.runtime.membership import find_membership

if TYPE_CHECKING:
    import dpctl

__all__ = exported(__name__)


class Session:
    """The context manager that ``init`` returns; it calls ``finalize`` on exit."""

    def __enter__(self) -> Session:
        """Return the running session."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Call ``finalize``; after an exception, leave the job at once instead, so that this PE counts as lost.

        ``sys.exit()`` with status 0 is no exception here. Does nothing if the block has called ``finalize``.
        """
        if kind is not None and (status := program_status.status_after(error)):
            leave_job.abandon(f"{kind.__name__}: {error}", status)
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
    any of them the job has one PE. As a context manager, the result calls ``finalize`` on exit; after an exception in
    the block, this PE leaves at once and counts as lost.

    A library may call ``init`` again, without arguments, in a program that has called it: the job ends after as many
    calls of ``finalize``. After that, ``init`` starts another job, but not with numba-dpex, whose kernels contain the
    addresses of the first job.

    Args:
        heap_size: Bytes of this PE's symmetric heap, or text such as ``"1G"``; by default ``ISHMEM_SYMMETRIC_SIZE``.
        device: A ``dpctl.SyclDevice`` or a filter string; by default PEs take the visible GPUs in turn.
        comm: An mpi4py communicator whose processes are the PEs.
        uid: On one node and without MPI: the text that ``get_uniqueid`` returned on one process, the same on every PE.
        rank: Number of this PE, from 0 to ``nranks - 1``; with ``uid`` only, which needs it.
        nranks: Number of PEs; with ``uid`` only, which needs it.
        process_group: A group of ``torch.distributed``, such as ``torch.distributed.group.WORLD``, whose processes are
            the PEs; all on one node.
        on_loss: "end": the job ends when a PE dies; "continue": calls that need the lost PE raise, and `shrink` returns
            the team of the remaining PEs. The same on all PEs; by default ``ISHMEM_ON_LOSS``.

    Raises:
        StateError: A job has ended, and numba-dpex is in use or ``MPI_Finalize`` was called; or this process is a fork
            of a PE, or of a process that had opened a device.
        ValueError: A setting or argument is not allowed; a further call has an argument.
        TypeError: ``comm`` is no communicator of mpi4py.
        IshmemError: A PE could not start, or the processes cannot be the PEs of one job; on every PE.

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
    settings_module = start_job.import_undisturbed("ishmem.environment.settings")
    began = time.monotonic_ns()
    settings = settings_module.load(on_loss)
    size = settings.symmetric_size if heap_size is None else _size(heap_size)
    member = find_membership(settings, comm, process_group, uid, rank, nranks)
    settings_module.start_logging(settings, member.pe, member.n_pes)
    start_job.start(member, settings, size, device, _attach_chapters)
    start_job.observe(job.current(), began)
    return Session()


def _count_init(**arguments: Any) -> None:
    """Count a call of ``init`` in a running job; raise ``ValueError`` if an argument is not None."""
    this, given = job.current(), [name for name, value in arguments.items() if value is not None]
    if given:
        raise ValueError(
            f"init got {', '.join(given)}, and this process is PE {this.pe} of {this.n_pes} already; a further call "
            "takes no arguments. Code that may run again, as a notebook's cell: if not ishmem.is_initialized(): "
            "ishmem.init(...)"
        )
    this.unmatched_inits += 1


def _refuse_restart() -> None:
    """Raise ``StateError`` if ``init`` cannot start a job: after a fork, ``MPI_Finalize`` or a job with numba-dpex."""
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
        requested: ``THREAD_SINGLE``, ``THREAD_FUNNELED``, ``THREAD_SERIALIZED`` or ``THREAD_MULTIPLE``; not used.
        heap_size: As for ``init``.
        arguments: The keyword arguments of ``init``.

    Raises:
        ValueError: ``requested`` is none of the levels, or as for ``init``.
        StateError, TypeError, IshmemError: As for ``init``.

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


def _attach_chapters(this: job.Job) -> None:
    """Attach the static objects and active sets to a new job, and pass the core the Python functions that it calls."""
    from ishmem.active_sets import ActiveSets
    from ishmem.statics import Statics

    called_by_core.install(amo.by_kernel, wait.raise_unsatisfied, checks.raise_failed)
    this.statics = Statics()
    this.active_sets = ActiveSets()


def finalize() -> None:
    """Complete all operations of this PE, free the symmetric heap and leave the job.

    Collective, blocking: returns when every PE has called. After several calls of ``init``, the last of as many calls
    does this, and those before it are ``barrier_all``. For allocations that were never freed, PE 0 issues a
    ``ResourceWarning`` with the lines that made them; ``ISHMEM_LEAKS`` makes that a ``RuntimeWarning``, nothing, or an
    error. On several nodes, ``MPI_Finalize`` calls it if the program has not; a call after that returns at once.

    Raises:
        StateError: Not between ``init`` and ``finalize``.
        PeerLost: A PE died before it finalised, and the job does not continue after losses; this PE has finalised.
        LevelZeroError: The device is lost; this PE leaves the job and counts as lost on the other PEs.
        ValueError, IndexError, SymmetryError: As for ``quiet``; this PE has finalised.
        IshmemError: With ``ISHMEM_LEAKS=error``, allocations were never freed; this PE has finalised.

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
        leave_job.leave(this)


def global_exit(status: int) -> NoReturn:
    """End all PEs of the job at once with an exit status; does not return.

    Python's output is flushed; neither ``finalize`` nor exit handlers run. Any PE may call, from any thread; if several
    call, the job ends with one of their statuses. Not collective.

    Args:
        status: Exit status of the job, from 0 to 255.

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

    It is text, and callable before ``init``. All PEs must be in the network namespace of the process that calls.

    Example:
        >>> uid = ishmem.get_uniqueid()  # on one process, which sends it to the others
        >>> ishmem.init(uid=uid, rank=rank, nranks=4)  # doctest: +SKIP

    Source: Intel SHMEM 1.5.2, ishmemx_get_uniqueid.
    """
    return f"{secrets.token_hex(16)}-{processes.network()}"
