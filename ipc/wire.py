"""The messages among the PEs of a job, and their connections: format, sending, receiving, authentication, addresses."""

from __future__ import annotations

import array
import contextlib
import errno
import hashlib
import hmac
import json
import os
import select
import socket
import struct
import time
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ishmem.common.errors import IshmemError
from ishmem.common.shared_numbers import MESSAGE_HEADER, MESSAGE_MAGIC, Kind as Kind

VERSION = 1
MAX_PAYLOAD = 64 * 1024
MAX_FDS = 64
MAX_PES = 1 << 16
SEND_TIMEOUT = 10
"""Seconds after which a PE that does not read its messages counts as lost."""

_HEADER = struct.Struct("<" + "".join(MESSAGE_HEADER.values()))
_HELLO = struct.Struct("<32sI")
_CREDENTIALS = struct.Struct("iII")
_LARGEST = _HEADER.size + MAX_PAYLOAD


class Message(NamedTuple):
    """One message of a kind; ``pe`` is its sender or subject; its file descriptors are sent as ancillary data."""

    kind: Kind
    pe: int
    sequence: int = 0
    payload: bytes = b""
    n_fds: int = 0

    def pack(self) -> bytes:
        """Return the message as bytes: header and payload."""
        head = (MESSAGE_MAGIC, VERSION, self.kind, self.pe, self.n_fds, self.sequence, len(self.payload))
        return _HEADER.pack(*head) + self.payload


class Census(NamedTuple):
    """The payload of a SHRINK message: data of one PE, sent to the hub, or of all survivors of a team, sent by the hub.

    Attributes:
        free: A bit mask of the team handles that are free on the PE, or on all survivors.
        highest: An upper bound of the barrier numbers of former teams of the PE, or of all survivors.
        heap: A digest of the allocations on the PE, not 0; of the survivors, 0 if theirs differ.
        pes: The members of the team, or its survivors.
    """

    free: int
    highest: int
    heap: int
    pes: tuple[int, ...]

    def pack(self) -> bytes:
        """Return the census as the payload of a message."""
        return struct.pack(f"<QQQ{len(self.pes)}I", self.free, self.highest, self.heap, *self.pes)

    @classmethod
    def unpack(cls, payload: bytes) -> Census:
        """Return the census in the payload of a message; raise ``MessageError`` if it is malformed."""
        if len(payload) < 28 or len(payload) % 4:
            raise MessageError(f"a census of {len(payload)} bytes")
        free, highest, heap, *pes = struct.unpack(f"<QQQ{len(payload) // 4 - 6}I", payload)
        return cls(free, highest, heap, tuple(pes))


class MessageError(IshmemError):
    """The bytes received are not a valid message of this job."""


def parse(data: bytes, n_fds: int = 0) -> Message:
    """Return the message in ``data``, which arrived with ``n_fds`` file descriptors.

    Raises:
        MessageError: The message is malformed; the text describes the fault.
    """
    if len(data) < _HEADER.size:
        raise MessageError(f"a message of {len(data)} bytes is shorter than its header")
    magic, version, kind, pe, declared_fds, sequence, length = _HEADER.unpack_from(data)
    if magic != MESSAGE_MAGIC:
        raise MessageError("not an ishmem message")
    if version != VERSION:
        raise MessageError(f"message version {version}, this is version {VERSION}")
    if kind not in set(Kind):
        raise MessageError(f"unknown message kind {kind}")
    if pe >= MAX_PES:
        raise MessageError(f"PE {pe} is out of range")
    if length != len(data) - _HEADER.size or length > MAX_PAYLOAD:
        raise MessageError(f"a payload of {length} bytes in a message of {len(data)} bytes")
    if declared_fds != n_fds or (n_fds and kind != Kind.PART) or n_fds > MAX_FDS:
        raise MessageError(f"{n_fds} file descriptors arrived with a message that declares {declared_fds}")
    return Message(Kind(kind), pe, sequence, data[_HEADER.size :], n_fds)


def hello(job: str, pe: int, n_pes: int) -> Message:
    """Return PE ``pe``'s first message to the hub of ``n_pes`` PEs; it proves that the PE has the job's name."""
    return Message(Kind.HELLO, pe, 0, _HELLO.pack(_digest("token", job), n_pes))


def welcome(job: str, pe: int) -> Message:
    """Return the hub's first message to an admitted PE; it proves that the hub has the job's name."""
    return Message(Kind.WELCOME, pe, 0, _digest("welcome", job))


def check_hello(message: Message, job: str, n_pes: int, pes: Sequence[int] = ()) -> int:
    """Return the number of the PE that has sent a connection's first message: one of ``pes``, by default of all.

    Raises:
        MessageError: The message is not a HELLO, or is of another job, number of PEs or PE number.
    """
    if message.kind != Kind.HELLO or len(message.payload) != _HELLO.size:
        raise MessageError("the first message is not a HELLO")
    token, declared = _HELLO.unpack(message.payload)
    if not hmac.compare_digest(token, _digest("token", job)):
        raise MessageError("a HELLO of another job")
    if declared != n_pes:
        raise MessageError(f"PE {message.pe} belongs to a job of {declared} PEs, this one has {n_pes}")
    if message.pe not in (pes or range(n_pes)):
        raise MessageError(f"PE {message.pe} cannot join a job of {n_pes} PEs")
    return message.pe


class Place(NamedTuple):
    """The place at which the hub of a job on several nodes listens, as contained in the job's name.

    Attributes:
        hosts: The name and the addresses of the hub's host.
        port: The port; 0 before the hub listens, for any free port.
        silence: Seconds without an answer after which a connection counts as ended; 0: never.
        secret: A secret that the PEs share.
    """

    hosts: list[str]
    port: int
    silence: float
    secret: str

    @classmethod
    def of(cls, job: str) -> Place | None:
        """Return the place in a job's name; None for a job on one node."""
        return cls(**json.loads(job)) if job.startswith("{") else None

    def name(self) -> str:
        """Return the name of the job that contains this place."""
        return json.dumps(self._asdict())


def listen(job: str) -> socket.socket:
    """Return a socket that listens at the address of a job; raises ``OSError`` if that is not possible."""
    place = Place.of(job)
    if place:
        return listen_tcp(place.port)
    listener = new_socket()
    try:
        listener.bind(address(job))
        listener.listen(128)
    except OSError:
        listener.close()
        raise
    return listener


def name_with_port(job: str, listener: socket.socket) -> str:
    """Return a job's name with the port of ``listener`` if the job is on several nodes; else the name unchanged."""
    place = Place.of(job)
    return place._replace(port=listener.getsockname()[1]).name() if place else job


def connect(job: str) -> socket.socket:
    """Return a connection to the hub of a job, for messages; raises ``OSError`` if that is not possible."""
    place = Place.of(job)
    if place is None:
        connection = new_socket()
        try:
            connection.connect(address(job))
        except OSError:
            connection.close()
            raise
        return connection
    return limit(connect_tcp(place.hosts, place.port), place.silence)


def address(job: str) -> str:
    """Return the abstract socket address of a job: a digest that does not reveal the job's name."""
    return "\0ishmem-" + _digest("address", job).hex()[:32]


def _digest(purpose: str, job: str) -> bytes:
    return hashlib.sha256(f"ishmem {purpose} {job}".encode()).digest()


def new_socket() -> socket.socket:
    """Return a Unix socket with message boundaries, whose sends time out after ``SEND_TIMEOUT`` seconds."""
    return limit(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))


def accept(listener: socket.socket, job: str) -> socket.socket:
    """Return the next connection of a job's listener; raises ``OSError`` if it has been closed already."""
    place = Place.of(job)
    return limit(listener.accept()[0], place.silence if place else 0.0)


def limit(connection: socket.socket, silence: float = 0.0) -> socket.socket:
    """Set time-outs of a connection, for sends and for ``silence`` seconds without an answer (0: none); return it."""
    if silence:
        each = max(1, int(silence / 4))  # seconds between the kernel's probes, of which 3 may be unanswered
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option in (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL):
            connection.setsockopt(socket.IPPROTO_TCP, option, each)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(silence * 1000))
    connection.setblocking(True)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", SEND_TIMEOUT, 0))
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 * _LARGEST)
    return connection


def peer_process(connection: socket.socket) -> tuple[int, int]:
    """Return process id and user id at the other end; over TCP 0 and this user, since a secret authenticates it."""
    if connection.family != socket.AF_UNIX:
        return 0, os.geteuid()
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid, uid, _ = _CREDENTIALS.unpack(raw)
    return pid, uid


def check_user(uid: int) -> None:
    """Raise ``MessageError`` if ``uid``, of the process at the other end, is not the user of this process."""
    if uid != os.geteuid():
        raise MessageError(f"a process of user {uid}; this job is of user {os.geteuid()}")


def send(connection: socket.socket, message: Message, fds: Sequence[int] = ()) -> None:
    """Send a message and copies of file descriptors; may block up to ``SEND_TIMEOUT`` seconds.

    Raises:
        OSError: The other end is closed, or does not read.
    """
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
    data = message._replace(n_fds=len(fds)).pack()
    deadline = time.monotonic() + SEND_TIMEOUT
    while True:
        try:
            if connection.family == socket.AF_UNIX:
                connection.sendmsg([data], rights, socket.MSG_NOSIGNAL)
            else:
                connection.sendall(data)
            return
        except OSError as error:
            # The kernel limits the descriptors in flight; the send succeeds once receivers have read.
            if error.errno != errno.ETOOMANYREFS or time.monotonic() > deadline:
                raise
        time.sleep(0.001)


def receive(connection: socket.socket) -> tuple[Message, list[int]] | None:
    """Return the next message and its file descriptors, which the caller owns; None at the end of the connection.

    Does not block: raises ``BlockingIOError`` when no message has arrived.

    Raises:
        MessageError: It is malformed; its file descriptors are closed.
    """
    data, fds, flags = _receive_raw(connection) if connection.family == socket.AF_UNIX else _receive_far(connection)
    if not data and not fds:
        return None
    try:
        if flags & socket.MSG_TRUNC:
            raise MessageError(f"a message of more than {_LARGEST} bytes")
        if flags & socket.MSG_CTRUNC:
            raise MessageError("file descriptors were lost: too many were sent, or the limit was reached")
        return parse(data, len(fds)), fds
    except MessageError:
        close_fds(fds)
        raise


def _receive_raw(connection: socket.socket) -> tuple[bytes, list[int], int]:
    room = socket.CMSG_SPACE(MAX_FDS * array.array("i").itemsize)
    how = socket.MSG_DONTWAIT | socket.MSG_CMSG_CLOEXEC
    try:
        data, ancillary, flags, _ = connection.recvmsg(_LARGEST, room, how)
    except ConnectionResetError:
        # The other end closed before it read all our messages; those that it sent can still be read.
        data, ancillary, flags, _ = connection.recvmsg(_LARGEST, room, how)
    fds = array.array("i")
    for level, kind, content in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds.frombytes(content[: len(content) - len(content) % fds.itemsize])
    return data, list(fds), flags


def _receive_far(connection: socket.socket) -> tuple[bytes, list[int], int]:
    """Return the next message of a stream as bytes, no descriptors and no flags; raise if it is incomplete."""
    try:
        data = connection.recv(_LARGEST, socket.MSG_DONTWAIT | socket.MSG_PEEK)
    except ConnectionResetError:
        data = b""
    length = _HEADER.unpack_from(data)[-1] if len(data) >= _HEADER.size else 0
    whole = _HEADER.size + min(length, MAX_PAYLOAD)
    if 0 < len(data) < whole:
        ended = select.poll()
        ended.register(connection, select.POLLRDHUP)
        if ended.poll(0):
            raise ConnectionError("it ended within a message")
        raise BlockingIOError
    return connection.recv(whole, socket.MSG_DONTWAIT) if data else data, [], 0


def above(node: int) -> int:
    """Return the parent of a node in the tree of monitors, to which its monitor connects; node 0 has none.

    Each monitor has at most three neighbours in the tree.
    """
    if node == 0:
        raise ValueError("node 0 has no node above it")
    return (node - 1) // 2


def below(node: int, nodes: int) -> range:
    """Return the children of a node in the tree of ``nodes`` monitors; their monitors connect to the node's."""
    return range(2 * node + 1, min(2 * node + 3, nodes))


def host_addresses() -> list[str]:
    """Return the name of this host and its IPv4 addresses, the loopback address last."""
    import fcntl

    found = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        for _index, name in socket.if_nameindex():
            with contextlib.suppress(OSError):
                request = struct.pack("256s", name.encode())
                found.append(socket.inet_ntoa(fcntl.ioctl(any_socket, 0x8915, request)[20:24]))  # SIOCGIFADDR
    return [socket.gethostname(), *sorted(found, key=lambda address: address.startswith("127."))]


def listen_tcp(port: int = 0) -> socket.socket:
    """Return a socket that listens at a port on all addresses of this host; port 0: at any free port."""
    dual = socket.has_dualstack_ipv6()
    family = socket.AF_INET6 if dual else socket.AF_INET
    return socket.create_server(("", port), family=family, dualstack_ipv6=dual, backlog=1024)


def connect_tcp(hosts: Iterable[str], port: int) -> socket.socket:
    """Return a TCP connection to the first of a host's names and addresses that accepts one at ``port`` in 3 s.

    Raises:
        ConnectionError: No address accepts one.
    """
    problem: OSError | str = "it has no address"
    for host in hosts:
        try:
            found = socket.create_connection((host, port), timeout=3.0)
        except OSError as error:
            problem = error
            continue
        found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return found
    raise ConnectionError(f"{', '.join(hosts)}, port {port}: {problem}")


def close_fds(fds: Iterable[int]) -> None:
    """Close file descriptors that this process owns."""
    for fd in fds:
        with contextlib.suppress(OSError):
            os.close(fd)
