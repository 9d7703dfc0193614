"""The nodes of a job, and MPI between them.

The PEs of one node share memory and are connected by links (``ishmem.ipc``). Only a job on several nodes has a
`Network`: there each PE also runs an engine (``ishmem/core/network_engine.hpp``), which reaches the PEs of other nodes
over two MPI communicators of the job's own.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import mmap
import os
import secrets
import socket
import sys
import time
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from ishmem import _core
from ishmem.common.errors import IshmemError
from ishmem.common.layout import MAX_TEAMS, Layout
from ishmem.environment import mpi_library
from ishmem.environment.mpi_variables import launched
from ishmem.ipc import wire

if TYPE_CHECKING:
    from ishmem.ipc.links import Links
    from ishmem.runtime import staging

log = logging.getLogger("ishmem")

PIECE = 1 << 30
"""Largest MPI message in bytes; longer payloads are split, as MPI counts are below 2**31."""

RECORD = 64
"""Bytes that each PE contributes to the one allgather of ``init``."""

_TOKEN, _DIGEST = 16, 16  # bytes
_THREADS = _TOKEN + _DIGEST  # place in a record of the byte that says whether all threads may call MPI
_PINGS, _CLOCK = 20, 7  # of `clock_offset`: requests, and their tag
_TREE = 8  # tag of `from_above`
_DRAIN = 2.0  # seconds to send the remaining messages at the end
_DRAIN_LOST = 0.2  # the same when a PE is lost or this PE has failed
_CONNECT, _HELLO = 20.0, 1.0  # seconds for the next connection of another PE, and for the rest of its first message
_NORESERVE = 0x4000  # of mmap(2): the mmap module has it since Python 3.13


class Node(NamedTuple):
    """The PEs of this PE's node.

    Attributes:
        pes: PE numbers, ascending.
        place: Index of this PE in ``pes``.
        number: Number of the node; nodes are numbered in the order of their first PEs.
    """

    pes: tuple[int, ...]
    place: int
    number: int = 0


def world() -> Any:
    """Return mpi4py's ``COMM_WORLD``.

    Raises:
        IshmemError: mpi4py is not installed, or finds no MPI library.
    """
    for name, value in mpi_library.transport_default().items():
        os.environ.setdefault(name, value)
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise IshmemError(
            f"this process was started by an MPI launcher, and mpi4py cannot be used ({error}); install mpi4py for the "
            "MPI library of this machine (pip install mpi4py), or start the program with ishmem run"
        ) from error
    check_size(MPI)
    return MPI.COMM_WORLD


def check_size(mpi: Any) -> None:
    """Check that MPI's world has the size that the launcher has set; ``mpi`` is the module ``mpi4py.MPI``.

    Raises:
        IshmemError: The sizes differ: the launcher is that of another MPI library.
    """
    this, size = launched(), mpi.COMM_WORLD.Get_size()
    if this is not None and this.size is not None and this.size != size:
        version = mpi_library.name_of(mpi.Get_library_version())
        raise IshmemError(
            f"this process is {this.words}, but MPI.COMM_WORLD has {size}: mpi4py has loaded {version}, and the "
            "launcher is that of another MPI; use the mpiexec of mpi4py's library, or install mpi4py for the "
            "launcher's (ishmem doctor tells more)"
        )


def identity(override: str | None) -> str:
    """Return a text that identifies the node: ``override`` if given, else boot id and network namespace."""
    if override:
        return override
    with open("/proc/sys/kernel/random/boot_id") as file:
        return f"{file.read().strip()}-{os.stat('/proc/self/ns/net').st_ino}"


def record(name: str) -> bytes:
    """Return the record that a PE on node ``name`` sends in `gather_nodes`.

    It contains a token (that of PE 0 names the job), a digest of ``name``, whether all threads may call MPI, and the
    host name, for messages.
    """
    digest = hashlib.blake2b(name.encode(), digest_size=_DIGEST).digest()
    known = secrets.token_bytes(_TOKEN) + digest + bytes([_all_threads()])
    return (known + socket.gethostname().encode())[:RECORD].ljust(RECORD, b"\0")


def nodes_of(records: list[bytes]) -> list[int]:
    """Return the node number of each PE, from the records of all; nodes are numbered in the order of first PEs."""
    digests = [each[_TOKEN:_THREADS] for each in records]
    order = {digest: number for number, digest in enumerate(dict.fromkeys(digests))}
    return [order[digest] for digest in digests]


def gather_nodes(comm: Any, override: str | None) -> tuple[str, Node, Network | None]:
    """Return the job's name, this PE's node, and the network, which is None for a job on one node; collective.

    ``override`` is the setting ``ISHMEM_NODE``, which names the node, or None.

    Raises:
        IshmemError: There are several nodes, and a PE has initialised MPI without MPI_THREAD_MULTIPLE; on every PE.
    """
    me = comm.Get_rank()
    records = comm.allgather(record(identity(override)))
    job, nodes = records[0][:_TOKEN].hex(), nodes_of(records)
    pes = tuple(pe for pe, number in enumerate(nodes) if number == nodes[me])
    node = Node(pes, pes.index(me), nodes[me])
    if max(nodes) == 0:
        return job, node, None
    if refused := [pe for pe, each in enumerate(records) if not each[_THREADS]]:
        raise IshmemError(
            f"MPI was initialised without MPI_THREAD_MULTIPLE on PE {', '.join(map(str, refused))}; several nodes need "
            "it: leave mpi4py.rc.thread_level at 'multiple', or call MPI.Init_thread(MPI.THREAD_MULTIPLE)"
        )
    hosts = {number: each[_THREADS + 1 :].rstrip(b"\0").decode() for number, each in zip(nodes, records)}
    return f"{job}-{node.number}", node, Network(comm, node, nodes, hosts)


def gather_one_node(comm: Any, override: str | None) -> tuple[str, Node]:
    """Return name and node of a job without MPI; ``override`` is as for `gather_nodes`; collective.

    Raises:
        IshmemError: There are several nodes; on every PE.
    """
    records = comm.allgather(record(identity(override)))
    hosts = dict.fromkeys(each[_THREADS + 1 :].rstrip(b"\0").decode() for each in records)
    if max(nodes_of(records)):
        raise IshmemError(
            f"the PEs are on several nodes ({', '.join(hosts)}), which need MPI: start them by ishmem run --hosts or "
            "an MPI launcher, and call init(comm=MPI.COMM_WORLD)"
        )
    return records[0][:_TOKEN].hex(), Node(tuple(range(comm.Get_size())), comm.Get_rank())


def _all_threads() -> bool:
    """Return whether all threads may call MPI; true where MPI is not used."""
    mpi = sys.modules.get("mpi4py.MPI")
    return mpi is None or not mpi.Is_initialized() or mpi.Query_thread() >= mpi.THREAD_MULTIPLE


class Network:
    """MPI between the nodes of a job.

    Attributes:
        nodes: The node number of each PE.
        hosts: The host name of each node.
        width: Number of PEs of the largest node.
        device_memory: Whether device addresses are passed to MPI; set by `start`.
        direct_payloads, staged_payloads: Payloads that have gone by device addresses, and by the copy engine through
            host memory; set by `stop`.
    """

    def __init__(self, comm: Any, node: Node, nodes: list[int], hosts: dict[int, str]) -> None:
        """Duplicate communicator ``comm``, and store this PE's node and the attributes; collective."""
        from mpi4py import MPI

        self._mpi, self._world, self.nodes, self.hosts = MPI, comm, nodes, hosts
        self.width = max(Counter(nodes).values())
        self._node = node
        self._comms = [comm.Dup(), comm.Dup()]
        self._memory: list[mmap.mmap] = []
        self._running = self.device_memory = self._goes_on = False
        self.direct_payloads = self.staged_payloads = 0
        self._staging: staging.Staging | None = None

    def reports(self, text: str) -> list[str]:
        """Return the texts of all PEs, in PE order, or an empty list when all are empty; collective, for ``init``."""
        if not self.greatest(bool(text)):
            return []
        return self.all_of(text)

    def all_of(self, text: str) -> list[str]:
        """Return the texts of all PEs, in PE order; collective, for ``init``."""
        gathered: list[str] = self._world.allgather(text)
        return gathered

    def greatest(self, value: int) -> int:
        """Return the greatest of the values of all PEs; collective, for ``init``."""
        return int(self._world.allreduce(value, self._mpi.MAX))

    def from_above(self, value: list[Any]) -> list[Any]:
        """Send ``value`` to the nodes below and return that of the node above, [] on node 0; for a node's first PE."""
        first, node = self.nodes.index, self._node.number
        below = wire.below(node, max(self.nodes) + 1)
        sent = [self._world.isend(value, first(other), _TREE) for other in below]
        found: list[Any] = self._world.recv(source=first(wire.above(node)), tag=_TREE) if node else []
        for request in sent:
            request.wait()
        return found

    def clock_offset(self, wanted: bool) -> int:
        """Return the nanoseconds to add to this node's ``CLOCK_MONOTONIC`` to get that of node 0; collective.

        The first PE of each node requests the time of PE 0 several times and uses the fastest reply; the error is at
        most half the time of that request. Returns 0 if ``wanted`` is False on all PEs.
        """
        if not self.greatest(wanted):
            return 0
        me, found = self._world.Get_rank(), 0
        leaders = [self.nodes.index(number) for number in range(1, max(self.nodes) + 1)]
        if me == 0:
            for leader in leaders:
                for _ in range(_PINGS):
                    self._world.recv(source=leader, tag=_CLOCK)
                    self._world.send(time.monotonic_ns(), leader, tag=_CLOCK)
        elif me in leaders:
            found = min(self._ask_clock() for _ in range(_PINGS))[1]
        return int(self._world.allgather(found)[self.nodes.index(self._node.number)])

    def _ask_clock(self) -> tuple[int, int]:
        """Request the time of PE 0; return the duration and the offset to PE 0's clock, both in nanoseconds."""
        asked = time.monotonic_ns()
        self._world.send(None, 0, tag=_CLOCK)
        told: int = self._world.recv(source=0, tag=_CLOCK)
        answered = time.monotonic_ns()
        return answered - asked, told - (asked + answered) // 2

    def where(self, pe: int) -> str:
        """Return the number and the host name of the node of a PE, for messages."""
        node = self.nodes[pe]
        return f"node {node} ({self.hosts[node]})"

    def is_far(self, pe: int) -> bool:
        """Return whether a PE is on another node."""
        return self.nodes[pe] != self._node.number

    def share_mirrors(self, layout: Layout, links: Any) -> None:
        """Create the memory in which this node's PEs see what hosts of other nodes enter into collectives; collective.

        The first PE of the node creates the memory; pages that are not written occupy none.
        """
        size = MAX_TEAMS * _core.team_mirror_bytes(len(self.nodes), layout.host_ring_bytes, layout.host_slot_bytes)
        made, received = [], []
        try:
            if self._node.place == 0:
                made.append(os.memfd_create("ishmem-mirrors", os.MFD_CLOEXEC))
                os.ftruncate(made[0], size)
            received = [fd for _payload, fds in links.allgather(b"", made, what="init") for fd in fds]
            self._memory = [mmap.mmap(received[0], size)]
        finally:
            wire.close_fds([*made, *received])

    def start(self, device_memory: str, card: tuple[int, int] | None, hub: str | None) -> None:
        """Start the engine, after `share_mirrors`; the core must be configured.

        Args:
            device_memory: The setting ``ISHMEM_MPI_DEVICE_MEMORY``.
            card: Level Zero handles of context and device if the host reads the heap slowly.
            hub: The name of the hub in a job that continues after losses, which sends no messages by MPI; else None.
        """
        self._goes_on, sockets = bool(hub), self._connect_all(hub) if hub else []
        _core.set_nodes(self.nodes)
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NORESERVE
        own = [mmap.mmap(-1, size, flags) for size in (_core.departure_bytes(len(self.nodes)), _core.landing_bytes())]
        self._memory += own
        mirrors, (departures, landings) = self._memory[0], map(_address, own)
        _core.set_regions(
            mirrors=_address(mirrors), mirror_bytes=len(mirrors), departures=departures, landings=landings
        )
        byte, requests, payloads = (_word(self._mpi, handle) for handle in (self._mpi.BYTE, *self._comms))
        self.device_memory = not hub and bool(mpi_library.handles_device_memory(self._mpi, device_memory, os.environ))
        from ishmem.runtime import staging  # loads the stack, which ishmem doctor has to examine first

        self._staging = staging.create(*card) if card and not self.device_memory else None
        setup = _core.NetworkEngineSetup()
        setup.library, setup.byte, setup.any_source = self._mpi.__file__, byte, self._mpi.ANY_SOURCE
        setup.requests, setup.payloads, setup.sockets = requests, payloads, sockets
        setup.piece, setup.device_memory = PIECE, self.device_memory
        if self._staging:
            setup.staging = self._staging.setup
        _core.start_engine(setup)
        log.debug("payloads between nodes go %s", mpi_library.payloads(self.device_memory))
        self._running = True

    def _connect_all(self, hub: str) -> list[int]:
        """Return the descriptors of connections to the PEs of other nodes, -1 for others; collective."""
        me, found = self._world.Get_rank(), [-1] * len(self.nodes)
        token = hashlib.blake2b(hub.encode(), digest_size=_TOKEN).digest()
        with wire.listen_tcp() as listener:
            places = self._world.allgather((wire.host_addresses(), listener.getsockname()[1]))
            for pe in filter(self.is_far, range(me)):
                connection = wire.connect_tcp(*places[pe])
                connection.sendall(token + me.to_bytes(4, "little"))
                found[pe] = connection.detach()
            later = set(filter(self.is_far, range(me, len(found))))
            for pe, connection in accept_peers(listener, token, later).items():
                connection.setblocking(True)
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                found[pe] = connection.detach()
        return found

    def leave(self, report_wait: Callable[[], None]) -> None:
        """Wait until all PEs of other nodes have left or a PE is lost; this PE has announced that it leaves.

        ``report_wait`` is called while waiting and may raise.
        """
        far = {pe for pe in range(len(self.nodes)) if self.is_far(pe)}
        while far - set(_core.left_pes()) and _core.lost_pe() < 0:
            if not _core.drive_engine():
                time.sleep(0.0002)
            report_wait()

    def stop(self, politely: bool) -> None:
        """Stop the engine; collective with ``politely``, which is allowed only after `leave`; at most about 2 s."""
        if not self._running:
            return
        self._running = False
        politely = politely and not self._goes_on and _core.lost_pe() < 0
        deadline = time.monotonic() + (_DRAIN if politely or self._goes_on else _DRAIN_LOST)
        while not _core.drain_engine() and time.monotonic() < deadline:
            time.sleep(0.0002)
        if politely:
            arrived = self._comms[0].Ibarrier()
            while not arrived.Test() and time.monotonic() < deadline:
                _core.drain_engine()
                time.sleep(0.0002)
        self.direct_payloads, self.staged_payloads = _core.direct_payloads(), _core.staged_payloads()
        drained = _core.drain_engine()
        _core.stop_engine()
        if self._staging:
            self._staging.close(sent=drained)
        if politely:
            for comm in self._comms:
                with contextlib.suppress(Exception):
                    comm.Free()


def accept_peers(listener: socket.socket, token: bytes, pes: set[int]) -> dict[int, socket.socket]:
    """Return the connections by which each of ``pes`` has sent ``token`` and its number; drop connections of others.

    Raises:
        IshmemError: None of the missing PEs has connected for `_CONNECT` seconds.
    """
    from multiprocessing.connection import wait  # slow

    found: dict[int, socket.socket] = {}
    with contextlib.ExitStack() as strangers:
        waiting, deadline = [listener], time.monotonic() + _CONNECT
        while missing := pes - found.keys():
            ready = wait(waiting, max(deadline - time.monotonic(), 0.0))
            if not ready:
                raise IshmemError(f"init: no connection from PE {min(missing)} for {_CONNECT:g} s")
            if listener in ready:
                waiting.append(strangers.enter_context(listener.accept()[0]))
                continue
            connection = next(each for each in waiting if each in ready)
            waiting.remove(connection)
            pe = _peer_of(connection, token)
            if pe in missing:
                found[pe], deadline = connection.dup(), time.monotonic() + _CONNECT
    return found


def _peer_of(connection: socket.socket, token: bytes) -> int:
    """Return the number of the PE that has begun to send ``token`` and its number; -1 for anything else."""
    connection.settimeout(_HELLO)
    with contextlib.suppress(OSError):
        hello = connection.recv(len(token) + 4, socket.MSG_WAITALL)
        if len(hello) == len(token) + 4 and hello.startswith(token):
            return int.from_bytes(hello[len(token) :], "little")
    return -1


class SpanningLinks:
    """Links of a job on several nodes that continues after a loss.

    Messages with descriptors use the links of the node; all others use the hub of ``ishmem run``, which reports losses
    on all nodes.

    Attributes:
        place, n_pes: Index of this PE on its node, and the number of PEs on the node.
        lost: The PEs lost so far, and how.
    """

    def __init__(self, near: Links, whole: Links) -> None:
        """Combine the links among the PEs of the node with those among all PEs."""
        self._near, self._whole = near, whole
        self.place, self.n_pes, self.lost = near.place, near.n_pes, whole.lost
        self.allgather, self.gather_all = near.allgather, whole.allgather
        self.exit, self.leave, self.awaited, self.fail = whole.exit, whole.leave, whole.awaited, whole.fail
        self.agree_on_survivors, self.stream = whole.agree_on_survivors, whole.stream

    def __setattr__(self, name: str, value: Any) -> None:
        """Set a callback of the links, or an attribute of this object."""
        if name in ("on_lost", "on_exit"):
            setattr(self._whole, name, value)
        else:
            super().__setattr__(name, value)

    def close(self, how: str = "") -> None:
        """Close all connections; ``how``: as for `Links.close`."""
        self._whole.close(how)
        self._near.close(how)


def _word(mpi: Any, handle: Any) -> int:
    """Return an MPI handle as a 64-bit word: an int (MPICH) or an address."""
    return int(mpi._handleof(handle)) & 0xFFFFFFFFFFFFFFFF


def _address(memory: mmap.mmap) -> int:
    import numpy as np

    return int(np.frombuffer(memory, np.uint8).ctypes.data)
