"""The hub of a job, to which every PE has one connection, so that the number of connections is that of the PEs.

The hub forwards every part of a collective, every loss and every leave in one total order, and it alone decides whether
a collective has timed out: all PEs get the same result, unless the hub dies. It runs as a thread of the supervisor of
``ishmem run`` or of a node's monitor, which detect the ends of processes and report them to it; in jobs without either,
in the process of the first PE.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import logging
import operator
import os
import selectors
import signal
import socket
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO, Callable

from ishmem.common.errors import IshmemError
from ishmem.common.job_end import REPORT

from . import wire
from .wire import Census, Kind, Message, MessageError

log = logging.getLogger("ishmem")

RETRY = 0.01
"""Seconds between two attempts to connect."""
AHEAD = 1 << 12
"""The number of collectives by which a PE may be ahead of another, having timed out in each."""

_LARGEST_STATUS = 255
_INIT = 1  # the last collective of ``init`` in a job on several nodes that goes on after a loss
_STRANGERS = 64  # connections that have not sent a HELLO yet


class _Session:
    """The state of the PEs from one ``init`` on; after a failed ``init``, PEs may join again in a new session."""

    def __init__(self, pes: Sequence[int], lost: Mapping[int, str]) -> None:
        self.pes = pes
        self.lost = dict(lost)
        self.left: set[int] = set()
        self.peers: dict[int, socket.socket] = {}
        self.joined: set[int] = set()
        self.latest = dict.fromkeys(pes, -1)  # the last collective in which each PE has taken part
        self.aborted: set[int] = set()
        self.early: list[tuple[Message, list[int]]] = []  # parts to be sent to PEs that join later
        # For each team that shrinks, by its members: the number and the census that each member has sent.
        self.questions: dict[tuple[int, ...], dict[int, tuple[int, Census]]] = {}

    @property
    def is_full(self) -> bool:
        return self.joined.union(self.lost).issuperset(self.pes)

    def forget_early(self) -> None:
        for _message, fds in self.early:
            wire.close_fds(fds)
        self.early.clear()


class Hub:
    """The hub of one job; its methods may be called from any thread.

    Attributes:
        job: The name of the job; for a job on several nodes, it includes the port.
        status: The exit status with which a PE has ended the job; else None.
        on_lost: A function that the thread calls at each loss, before it sends the message to the PEs; None for none.
    """

    def __init__(
        self, job: str, n_pes: int, numbers: Sequence[int] = (), patience: float | None = REPORT, starts: bool = True
    ) -> None:
        """Listen for the PEs of a job and start the thread.

        Args:
            job: The name of the job, which is secret.
            n_pes: The number of PEs.
            numbers: The PE numbers, if the PEs are a part of a larger job; by default 0 to ``n_pes - 1``.
            patience: Seconds to wait for a report to `ended` after a connection has ended without a reason.
                ``None``: there are no reports, and the thread ends with the last connection.
            starts: Whether to start the thread; else the caller calls `run`.

        Raises:
            IshmemError: The address of the job is in use.
        """
        self._n_pes, self._patience = n_pes, patience
        self._pes = numbers or range(n_pes)
        self._closed = False
        self.status: int | None = None
        self.on_lost: Callable[[], None] | None = None
        self._ended: dict[int, str] = {}
        self._processes: dict[int, int] = {}
        self._due: list[tuple[float, _Session, int, str]] = []  # losses that wait for a report of the end
        self._reasons: dict[socket.socket, str] = {}
        self._strangers: list[socket.socket] = []
        self._session = _Session(self._pes, {})
        self._reports: list[tuple[int, str]] = []
        self._listener: socket.socket | None = _listen(job)
        self.job = wire.name_with_port(job, self._listener)
        self._selector = selectors.DefaultSelector()
        self._wake = socket.socketpair()
        self._watch(self._wake[0], lambda end: end.recv(64))
        self._watch(self._listener, self._accept)
        _alive.add(self)
        self._thread = threading.Thread(target=self.run, name="ishmem-hub", daemon=True)
        if starts:
            self._thread.start()

    @property
    def has_begun(self) -> bool:
        """Whether all PEs have completed ``init``, in a job on several nodes that continues after a loss."""
        return min(self._session.latest.values()) >= _INIT

    @property
    def lost(self) -> set[int]:
        """The numbers of the lost PEs."""
        return set(self._session.lost)

    @property
    def left(self) -> set[int]:
        """The numbers of the PEs that have left."""
        return set(self._session.left)

    def wait(self) -> None:
        """Wait for the thread to end."""
        self._thread.join()

    def close(self) -> None:
        """Close all connections and end the thread; PEs then count PE 0, in a job on several nodes all, as lost."""
        self._closed = True
        with contextlib.suppress(OSError):  # the thread may have seen it already, and ended
            self._wake[1].send(b"x")
        self.wait()

    def ended(self, pe: int, how: str) -> None:
        """Report that the process of a PE has ended, with text ``how`` as reason; the PE is lost unless it has left."""
        self._reports.append((pe, how))
        self._wake[1].send(b"x")

    # ---- the thread

    def run(self) -> None:
        """Handle connections, messages and reports until the hub is closed; its thread, or its creator, calls this."""
        if threading.current_thread() is self._thread:
            signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())  # they are for the other threads
        try:
            while not self._closed:
                self._step()
        finally:
            self._release()

    def _step(self) -> None:
        due = self._next()
        for key, _ in self._selector.select(None if due is None else max(due - time.monotonic(), 0)):
            call, connection = key.data
            if connection.fileno() >= 0:  # a call for an earlier event may have closed it
                call(connection)
        self._handle_reports()
        if self._patience is None and self._processes and not self._connections():
            self._closed = True

    def _next(self) -> float | None:
        """Return the time of ``time.monotonic`` at which the next loss is due; None if there is none."""
        return min((at for at, *_ in self._due), default=None)

    def _connections(self) -> int:
        """Return the number of connections to PEs, those of earlier sessions included."""
        return len(self._selector.get_map()) - len(self._strangers) - (2 if self._listener else 1)

    def _handle_reports(self) -> None:
        """Count as lost the PEs whose processes have ended, and those without a report in time."""
        while self._reports:
            pe, how = self._reports.pop(0)
            self._ended[pe] = how
            self._drain(pe)  # it may have left before it ended
            self._lose(self._session, pe, how)
        now, due, self._due = time.monotonic(), self._due, []
        for entry in due:
            at, session, pe, how = entry
            if pe in self._ended or now >= at:
                self._lose(session, pe, self._ended.get(pe, how))
            else:
                self._due.append(entry)

    def _drain(self, pe: int) -> None:
        """Handle all messages that a PE has sent, and the end of its connection if that has ended."""
        session = self._session
        while connection := session.peers.get(pe):
            if not self._receive(session, pe, connection):
                return

    def _receive(self, session: _Session, pe: int, connection: socket.socket) -> bool:
        """Handle the next message of a PE, or the end of its connection; return whether there was either."""
        try:
            received = wire.receive(connection)
            if received is None:
                self._end(session, pe)
            elif received[0].pe == pe:
                self._handle(session, *received)
            else:
                wire.close_fds(received[1])
                raise MessageError(f"PE {pe} speaks for PE {received[0].pe}")
        except BlockingIOError:
            return False
        except MessageError as error:
            self._cut(session, pe, f"it sent an invalid message: {error}")
        except OSError as error:
            self._cut(session, pe, f"its connection failed: {error}")
        return True

    def _handle(self, session: _Session, message: Message, fds: list[int]) -> None:
        sender = message.pe
        if message.kind == Kind.PART:
            try:
                self._forward_part(session, message, fds)
            finally:
                wire.close_fds(fds)
        elif message.kind == Kind.ABORT:
            self._abort_collective(session, message)
        elif message.kind == Kind.LEFT:
            session.left.add(sender)
            self._forward(session, message)  # also to that PE, which may end when it receives it
            self._report_survivors(session)
        elif message.kind == Kind.FAILED:
            self._lose(session, sender, message.payload.decode(errors="replace"), message.sequence)
        elif message.kind == Kind.SHRINK:
            census = Census.unpack(message.payload)
            session.questions.setdefault(census.pes, {})[sender] = message.sequence, census
            self._report_survivors(session)
        elif message.kind == Kind.EXIT:
            if message.sequence > _LARGEST_STATUS:
                raise MessageError(f"exit status {message.sequence}")
            self.status = message.sequence
            self._forward(session, message, but=sender)
        else:
            raise MessageError(f"{message.kind.name} from PE {sender}")

    def _forward_part(self, session: _Session, message: Message, fds: list[int]) -> None:
        pe, sequence = message.pe, message.sequence
        if sequence <= session.latest[pe]:
            raise MessageError(f"part {sequence} of PE {pe} twice")
        _check_ahead(session, sequence, f"part {sequence} of PE {pe}")
        session.latest[pe] = sequence
        if sequence in session.aborted:
            return
        if not session.is_full and not session.lost:
            session.early.append((message, [os.dup(fd) for fd in fds]))
        self._send(session, pe, message._replace(payload=b""))  # the acknowledgement
        self._forward(session, message, fds, but=pe)

    def _abort_collective(self, session: _Session, message: Message) -> None:
        """End a collective with an error on every PE, as a PE requests, unless all PEs have sent their parts."""
        sequence = message.sequence
        _check_ahead(session, sequence, f"an abort of collective {sequence}")
        if sequence > min(session.latest.values()) and sequence not in session.aborted:
            session.aborted.add(sequence)
            self._forward(session, message)  # also to the PE that has sent it

    def _end(self, session: _Session, pe: int) -> None:
        """Handle the end of a connection: the PE is lost unless it has left."""
        how = self._reasons.get(session.peers[pe]) or self._ended.get(pe)
        if how or self._patience is None or pe in session.left or pe in session.lost:
            self._cut(session, pe, how or f"process {self._processes[pe]} ended without leaving")
        else:
            at = time.monotonic() + self._patience
            self._due.append((at, session, pe, f"process {self._processes[pe]} closed its connection without leaving"))
            self._cut(session, pe)

    def _cut(self, session: _Session, pe: int, how: str | None = None) -> None:
        """Close the connection to a PE; with a reason ``how``, record the PE as lost unless it has left."""
        connection = session.peers.pop(pe)
        self._reasons.pop(connection, None)
        self._drop(connection)
        if how:
            self._lose(session, pe, how)
        if pe not in session.left or not session.peers:
            self._listen_again()

    def _lose(self, session: _Session, pe: int, how: str, status: int = 1) -> None:
        if pe in session.left or pe in session.lost:
            return
        session.lost[pe] = how
        if self.on_lost:
            self.on_lost()
        session.forget_early()
        self._forward(session, Message(Kind.LOST, pe, status, how.encode()), but=pe)
        self._report_survivors(session)

    def _report_survivors(self, session: _Session) -> None:
        """Send the survivors of each team their combined census, once all of them have sent theirs.

        All receive the same one, after the losses that it excludes and before any other loss.

        Model: tests/models/shrink.pml.
        """
        for members, asked in list(session.questions.items()):
            left = tuple(pe for pe in members if pe not in session.lost and pe not in session.left)
            if not all(pe in asked and pe in session.peers for pe in left):
                continue
            del session.questions[members]
            if not left:
                continue
            sent = [asked[pe][1] for pe in left]
            free = functools.reduce(operator.and_, (each.free for each in sent), (1 << 64) - 1)
            heap = sent[0].heap if len({each.heap for each in sent}) == 1 else 0
            survivors = Census(free, max(each.highest for each in sent), heap, left).pack()
            for pe in left:
                self._send(session, pe, Message(Kind.SHRINK, pe, asked[pe][0], survivors))

    # ---- sending

    def _forward(self, session: _Session, message: Message, fds: Sequence[int] = (), but: int | None = None) -> None:
        """Send a message and copies of file descriptors to all connected PEs except PE ``but``, if that is given."""
        for pe in sorted(session.peers, reverse=True):  # PE 0, with which the hub may end, is the last
            if pe != but:
                self._send(session, pe, message, fds)

    def _send(self, session: _Session, pe: int, message: Message, fds: Sequence[int] = ()) -> None:
        connection = session.peers[pe]
        try:
            wire.send(connection, message, fds)
        except ConnectionError:
            pass  # the end of this connection is about to be read
        except OSError as error:
            timed_out = isinstance(error, BlockingIOError)
            what = f"it received no message for {wire.SEND_TIMEOUT} s" if timed_out else "its connection failed"
            self._reasons.setdefault(connection, f"{what}: {error}")
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    # ---- connecting

    def _listen_again(self) -> None:
        """Listen again: PEs whose ``init`` has failed, or which have all left, may call ``init`` again."""
        if not self._listener:
            with contextlib.suppress(IshmemError):
                self._listener = _listen(self.job)
                self._watch(self._listener, self._accept)

    def _accept(self, listener: socket.socket) -> None:
        try:
            connection = wire.accept(listener, self.job)
        except OSError as error:
            log.warning("could not accept a connection: %s", error)
            time.sleep(RETRY)  # most likely out of file descriptors: avoid a busy loop
            return
        self._watch(connection, self._admit)
        self._strangers.append(connection)
        if len(self._strangers) > _STRANGERS:
            self._refuse(self._strangers[0], "it sent no HELLO")
        try:
            wire.check_user(wire.peer_process(connection)[1])
        except MessageError as error:
            self._refuse(connection, str(error))

    def _admit(self, connection: socket.socket) -> None:
        """Handle the first message of a connection: admit the PE if it is a valid HELLO, else refuse the connection."""
        fds: list[int] = []
        try:
            received = wire.receive(connection)
            if received is None:
                raise MessageError("it closed the connection before it sent a HELLO")
            message, fds = received
            self._join(wire.check_hello(message, self.job, self._n_pes, self._pes), connection)
        except BlockingIOError:
            return
        except (OSError, MessageError) as error:
            self._refuse(connection, str(error))
        finally:
            wire.close_fds(fds)

    def _join(self, pe: int, connection: socket.socket) -> None:
        """Add a PE to the session, or to a new session if it has joined this one before."""
        process = wire.peer_process(connection)[0]
        self._drain(pe)
        if self._processes.get(pe, process) != process or pe in self._session.peers:
            raise MessageError(f"PE {pe} has joined before")
        if pe in self._session.joined:
            self._session.forget_early()
            self._session = _Session(self._pes, self._ended)
        self._processes[pe] = process
        self._welcome(self._session, pe, connection)

    def _welcome(self, session: _Session, pe: int, connection: socket.socket) -> None:
        self._strangers.remove(connection)
        self._selector.modify(
            connection, selectors.EVENT_READ, (functools.partial(self._receive, session, pe), connection)
        )
        session.peers[pe] = connection
        session.joined.add(pe)
        self._send(session, pe, wire.welcome(self.job, pe))
        for lost, how in session.lost.items():
            self._send(session, pe, Message(Kind.LOST, lost, 1, how.encode()))
        for message, fds in session.early:
            self._send(session, pe, message, fds)
        if session.is_full:
            session.forget_early()
            self._stop_listening()

    def _stop_listening(self) -> None:
        if self._listener:
            self._drop(self._listener)
            self._listener = None
        for stranger in list(self._strangers):
            self._refuse(stranger, "all PEs have joined")

    def _refuse(self, connection: socket.socket, why: str) -> None:
        log.warning("refused a connection of process %d: %s", wire.peer_process(connection)[0], why)
        with contextlib.suppress(OSError):
            wire.send(connection, Message(Kind.REFUSED, 0, 0, why.encode()))
        self._strangers.remove(connection)
        self._drop(connection)

    def _watch(self, source: socket.socket | BinaryIO, call: Callable[[Any], object]) -> None:
        """Register a connection, a listener or a file: ``call`` is called with it whenever it is readable."""
        self._selector.register(source, selectors.EVENT_READ, (call, source))

    def _drop(self, source: socket.socket | BinaryIO) -> None:
        self._selector.unregister(source)
        source.close()

    def _release(self) -> None:
        """Close every socket and file descriptor, without a message to the PEs."""
        self._closed = True
        for key in list(self._selector.get_map().values()):
            _call, connection = key.data
            connection.close()
        self._wake[1].close()
        self._selector.close()
        self._session.forget_early()
        _alive.discard(self)  # not before: `start` waits for a hub that still has the address


def _check_ahead(session: _Session, sequence: int, what: str) -> None:
    at = 1 + min(session.latest.values())
    if sequence > at + AHEAD:
        raise MessageError(f"{what} is too far ahead: the job is at {at}")


def _listen(job: str) -> socket.socket:
    try:
        return wire.listen(job)
    except OSError as error:
        raise IshmemError(f"cannot listen for the PEs of this job: {error}; is the job running already?") from error


def start(job: str, n_pes: int, numbers: Sequence[int] = ()) -> Hub:
    """Return this process's hub of a job, else a new `Hub` of these arguments, which ends with its last connection."""
    for hub in list(_alive):
        if hub.job == job:
            if not hub._closed:  # PEs can still join
                return hub
            hub.wait()
    return Hub(job, n_pes, numbers, None)


def elsewhere() -> None:
    """Do nothing, in place of `start`: the supervisor of the job runs the hub."""


@dataclasses.dataclass(frozen=True)
class OfMonitor:
    """A replacement of `start` where the monitor of the node is the hub, even for a PE that is alone on its node.

    Attributes:
        wait: A function that waits until the monitor listens.
    """

    wait: Callable[[], object]

    def __call__(self) -> None:
        """Wait until the monitor listens."""
        self.wait()


# A forked child inherits its parent's connections; while they are open, no PE detects the parent's death.
_alive: weakref.WeakSet[Hub] = weakref.WeakSet()


def _forget() -> None:
    for hub in list(_alive):
        if not hub._closed:
            hub._release()


os.register_at_fork(after_in_child=_forget)
