"""The nodes of a job, and MPI between them.

A job whose PEs are on one node uses none of this. Otherwise the PEs of a node share memory and links, and each PE has
an engine (``ishmem/core/engine.hpp``) that reaches the PEs of other nodes over two communicators of its own.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import mmap
import os
import secrets
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from ishmem import _core
from ishmem.common.errors import IshmemError
from ishmem.common.layout import MAX_TEAMS, Layout

log = logging.getLogger("ishmem")

PIECE = 1 << 30
"""Largest message of a long payload, in bytes: MPI counts to 2 GiB."""

_RANKS = {
    "PMI_RANK": "PMI_SIZE",
    "PMIX_RANK": "",
    "OMPI_COMM_WORLD_RANK": "OMPI_COMM_WORLD_SIZE",
    "PALS_RANKID": "",
    "SLURM_STEP_ID": "SLURM_STEP_NUM_TASKS",
}
"""Variables that launchers of MPI programs set, and those with the number of processes, where there are any."""

_DRAIN = 2.0  # seconds that what is left to send may take at the end
_NORESERVE = 0x4000  # of mmap(2): not in Python's module before 3.13


class Node(NamedTuple):
    """The PEs of this PE's node.

    Attributes:
        pes: Their numbers, ascending.
        place: Which of them this PE is, from 0.
        number: Which of the job's nodes it is, in the order of their first PEs.
    """

    pes: tuple[int, ...]
    place: int
    number: int = 0


def launched_by_mpi() -> bool:
    """Return whether a launcher of MPI programs has started this process as one of several."""
    ranks = [(rank, size) for rank, size in _RANKS.items() if rank in os.environ]
    return bool(ranks) and not any(size and os.environ.get(size) == "1" for _rank, size in ranks)


def world() -> Any:
    """Return mpi4py's ``COMM_WORLD``.

    Raises:
        IshmemError: mpi4py is not installed, or finds no MPI library.
    """
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise IshmemError(
            f"this process was started by an MPI launcher, and mpi4py cannot be used ({error}); install mpi4py for the "
            "MPI library of this machine (pip install mpi4py), or start the program with ishmrun"
        ) from error
    return MPI.COMM_WORLD


def identity(override: str | None) -> str:
    """Return what processes of one node have in common, and no others: boot and network namespace."""
    if override:
        return override
    with open("/proc/sys/kernel/random/boot_id") as file:
        return f"{file.read().strip()}-{os.stat('/proc/self/ns/net').st_ino}"


def meet(comm: Any, override: str | None) -> tuple[str, Node, Network | None]:
    """Return a name for the job of a communicator, this PE's node, and the network if there are several; collective.

    Raises:
        IshmemError: MPI does not allow calls from several threads, and there are several nodes.
    """
    me = comm.Get_rank()
    mine = (secrets.token_hex(16) if me == 0 else "", identity(override))
    records = comm.allgather(mine)
    job, nodes = records[0][0], [record[1] for record in records]
    order = {name: number for number, name in enumerate(dict.fromkeys(nodes))}
    pes = tuple(pe for pe, name in enumerate(nodes) if name == nodes[me])
    node = Node(pes, pes.index(me), order[nodes[me]])
    if len(order) == 1:
        return job, node, None
    return f"{job}-{node.number}", node, Network(comm, node, [order[name] for name in nodes])


class Network:
    """MPI between the nodes of a job.

    Attributes:
        nodes: The number of each PE's node.
    """

    def __init__(self, comm: Any, node: Node, nodes: list[int]) -> None:
        """Duplicate the communicator; collective.

        Raises:
            IshmemError: MPI does not allow calls from several threads.
        """
        from mpi4py import MPI

        self._mpi, self._world, self.nodes = MPI, comm, nodes
        self._node = node
        if MPI.Query_thread() < MPI.THREAD_MULTIPLE:
            raise IshmemError(
                "MPI was initialised without MPI_THREAD_MULTIPLE, which several nodes need; import ishmem or mpi4py "
                "first, and leave mpi4py.rc.thread_level at 'multiple'"
            )
        self._comms = [comm.Dup(), comm.Dup()]
        self._memory: list[mmap.mmap] = []
        self._running = False
        atexit.register(self._at_exit)

    def allgather(self, payload: bytes) -> list[bytes]:
        """Return what each PE gives, in the order of the PEs; collective, for ``init``."""
        gathered: list[bytes] = self._world.allgather(payload)
        return gathered

    def is_far(self, pe: int) -> bool:
        """Return whether a PE is on another node."""
        return self.nodes[pe] != self._node.number

    def start(self, layout: Layout, lock: int, piece: int | None = None) -> None:
        """Start the engine once the core is configured.

        ``lock`` is the address of the lock under which hosts do atomics on this PE's memory, 0 where they need none;
        ``piece`` the largest message of a long payload in bytes.
        """
        n_pes = len(self.nodes)
        sizes = [MAX_TEAMS * n_pes * layout.ring_bytes, n_pes * 8 * (MAX_TEAMS + 1)]
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NORESERVE
        self._memory = [mmap.mmap(-1, size, flags) for size in sizes]
        addresses = [_address(memory) for memory in self._memory]
        _core.set_nodes(self.nodes)
        _core.set_mirrors(addresses[0], sizes[0], addresses[1], sizes[1])
        words = [_word(self._mpi, handle) for handle in (self._mpi.BYTE, *self._comms)]
        _core.start_engine(self._mpi.__file__, words[0], self._mpi.ANY_SOURCE, words[1], words[2], piece or PIECE, lock)
        self._running = True

    def leave(self, look: Callable[[], None]) -> None:
        """Wait until all PEs of other nodes have left or are lost; they have been told that this one leaves."""
        far = {pe for pe in range(len(self.nodes)) if self.is_far(pe)}
        while far - set(_core.left_pes()) and _core.lost_pe() < 0:
            if not _core.drive_engine():
                time.sleep(0.0002)
            look()

    def stop(self, politely: bool) -> None:
        """Stop the engine; ``politely`` after `leave`, when all PEs do so."""
        if not self._running:
            return
        self._running = False
        deadline = time.monotonic() + _DRAIN
        while not _core.drain_engine() and time.monotonic() < deadline:
            time.sleep(0.0002)
        politely = politely and _core.lost_pe() < 0
        if politely:
            arrived = self._comms[0].Ibarrier()
            while not arrived.Test() and time.monotonic() < deadline:
                _core.drain_engine()
                time.sleep(0.0002)
        _core.stop_engine()
        if politely:
            for comm in self._comms:
                with contextlib.suppress(Exception):
                    comm.Free()
            atexit.unregister(self._at_exit)

    def abort(self, status: int) -> None:
        """End all processes of the MPI job with a status; does not return."""
        self._mpi.COMM_WORLD.Abort(status)

    def _at_exit(self) -> None:
        """End the MPI job where this PE ends without having left: the others would wait for it in ``MPI_Finalize``."""
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        if not self._mpi.Is_finalized():
            time.sleep(0.5)  # in which the others say what this means to them
            self.abort(1)


@dataclass
class _Numbering:
    """Links number the PEs of a node from 0; the job has other numbers for them."""

    pes: tuple[int, ...]

    def of(self, numbered: dict[int, str]) -> dict[int, str]:
        return {self.pes[index]: how for index, how in numbered.items()}


class NodeLinks:
    """The links of a node, of which a job has several, with the job's numbers of the PEs.

    Attributes:
        pe, n_pes: This PE's number on its node, and how many PEs that has.
        lost: PEs of the job that are lost, and how.
    """

    def __init__(self, links: Any, node: Node, on_lost: Callable[[int, str], None], on_left: Callable[[int], None]):
        self._links, self._pes = links, node.pes
        self.pe, self.n_pes = links.pe, links.n_pes
        self.lost = _Numbering(node.pes).of(links.lost)
        self._on_lost, self._on_left = on_lost, on_left
        links.on_lost, links.on_left = self._lose, self._leave
        self.allgather, self.exit, self.close = links.allgather, links.exit, links.close
        self.leave, self.awaited = links.leave, links.awaited

    def _lose(self, index: int, how: str) -> None:
        self.lost[self._pes[index]] = how
        self._on_lost(self._pes[index], how)

    def _leave(self, index: int) -> None:
        self._on_left(self._pes[index])

    @property
    def on_exit(self) -> Any:
        """What is called when a PE of the node ends the job."""
        return self._links.on_exit

    @on_exit.setter
    def on_exit(self, call: Any) -> None:
        self._links.on_exit = call

    @property
    def on_lost(self) -> Any:
        """What is called when a PE of the node is lost; only for taking it away."""
        return self._links.on_lost

    @on_lost.setter
    def on_lost(self, call: Any) -> None:
        self._links.on_lost = call


def _word(mpi: Any, handle: Any) -> int:
    """Return a handle as the word that C++ passes: an int (MPICH) or an address."""
    return int(mpi._handleof(handle)) & 0xFFFFFFFFFFFFFFFF


def _address(memory: mmap.mmap) -> int:
    import numpy as np

    return int(np.frombuffer(memory, np.uint8).ctypes.data)
