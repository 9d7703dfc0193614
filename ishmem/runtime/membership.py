"""How this process joins a job: by MPI, a process group of torch, a unique identifier, ``ishmem run``, or alone."""

from __future__ import annotations

import faulthandler
import os
import re
import secrets
import sys
from typing import Any, NamedTuple

from ishmem.common import processes, start_failures, status_board
from ishmem.common.errors import IshmemError
from ishmem.common.status_board import PeState
from ishmem.environment.mpi_variables import launched
from ishmem.runtime import mpi_job, network, process_group as process_groups


class Membership(NamedTuple):
    """The place of this process in its job, before it connects to the other PEs.

    Attributes:
        job: Name of the job; in a job on several nodes, of its part on this node.
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


def find_membership(
    settings: Any, comm: Any, process_group: Any, uid: str | bytes | None, rank: int | None, nranks: int | None
) -> Membership:
    """Return the place of this process in its job; the arguments are those of ``init``.

    Raises:
        TypeError, ValueError: Arguments that do not fit together.
        IshmemError: The processes cannot be the PEs of one job.
    """
    ways = {"comm": comm, "process_group": process_group, "uid": uid}
    given = [name for name, value in ways.items() if value is not None]
    if len(given) > 1:
        raise ValueError(f"init takes one of comm=, process_group= and uid=; got {' and '.join(given)}")
    if uid is None and (rank is not None or nranks is not None):
        raise ValueError("init takes rank= and nranks= together with uid=; PE 0 gets one from get_uniqueid()")
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
    """Check that this PE is in the network namespace of its supervisor: abstract sockets do not cross."""
    here = processes.network()
    if settings.npes > 1 and settings.network and here and here != settings.network:
        raise IshmemError(
            f"PE {settings.pe} is in another network namespace ({here}) than its ishmem run ({settings.network}), so "
            "it cannot reach the other PEs; start all PEs in one (of a container: ishmem run inside it, or "
            "--network=host), or use MPI: mpiexec ... ishmem run prog.py"
        )


def _check_namespace_of(uid: str, rank: int, nranks: int) -> None:
    """Check that this PE is in the network namespace of `get_uniqueid`: abstract sockets do not cross.

    A failure is recorded for the other PEs, too.
    """
    made, here = re.fullmatch(r"[0-9a-f]{32}-(\d+)", uid), processes.network()
    if made and here and made[1] != here:
        why = (
            f"PE {rank} is in another network namespace ({here}) than the process that has called get_uniqueid "
            f"({made[1]}), so the PEs cannot reach each other; start all in one (containers: --network=host, or one "
            "pod), or use MPI: init(comm=MPI.COMM_WORLD). If only that process is elsewhere, pass a uid of your own"
        )
        start_failures.record_refusal(uid, rank, nranks, why)
        raise IshmemError(why)


def _refuse_lost_variables() -> None:
    """Raise in a PE of ``ishmem run`` that lacks the variables: it would be a job of one PE, and others wait for it."""
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
    faulthandler.dump_traceback_later(settings.init_timeout, exit=True)  # MPI_Init has no time-out
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
