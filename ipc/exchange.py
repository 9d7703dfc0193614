"""The connections among the PEs of a job on one node.

PE 0 is the hub: every other PE has a single connection, to the hub, so the number of connections grows
linearly. The hub forwards every part of a collective, every loss and every leave in one total order, and it
alone decides whether a collective completed or failed: all PEs see the same outcome, unless the hub dies.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import math
import os
import select
import selectors
import socket
import threading
import time
import weakref
from collections.abc import Iterable, Sequence
from typing import Callable, Protocol, Union

from ishmem.common.errors import IshmemError, PeerLost, StateError

from . import wire
from .wire import Kind, Message, MessageError

log = logging.getLogger("ishmem")

_VERDICT_TIMEOUT = 5.0  # seconds a PE waits for the hub's decision on a collective that has timed out
_RETRY = 0.01
_AHEAD = 1 << 12  # how many collectives one PE may be ahead of another: it may have timed out in each
_LARGEST_STATUS = 255
_STRANGERS = 64  # connections that have not sent a HELLO yet

_LOOK = 0.1  # seconds between two checks, while waiting, whether the other PEs are alive
_FATE_PATIENCE = 1.0  # seconds the launcher may take to notice the end of a process

Part = tuple[bytes, list[int]]
Outcome = Union[IshmemError, None]


class Fates(Protocol):
    """Knows how the processes of the PEs have ended: the status board of ishmrun."""

    def fate(self, pe: int, patience: float) -> str | None:
        """Return how a PE's process has ended, None while it runs; wait up to ``patience`` seconds for the answer."""

    def first_lost(self) -> int | None:
        """Return the PE whose end has ended the job, if any; it may have ended before it connected."""


class _Round:
    """One collective: the parts that have arrived, or the error that it ends with."""

    def __init__(self) -> None:
        self.parts: dict[int, Part] = {}
        self.own: Part = (b"", [])
        self.error: Outcome = None

    def close(self) -> None:
        for _, fds in [*self.parts.values(), self.own]:
            wire.close_fds(fds)
        self.parts, self.own = {}, (b"", [])


class Links:
    """This PE's connections to the others; every method may be called from any thread.

    Attributes:
        pe: Number of this PE.
        n_pes: Number of PEs.
        lost: The PEs lost so far, and how.
        left: The PEs that have left with ``leave``.
        on_lost: Called with the PE and how it was lost, from the reader thread, when a PE's connection
            ends without ``leave``.
        on_left: Called with the PE, from the reader thread, when another PE has left.
        on_exit: Called with the status, from the reader thread, when another PE ends the job.
    """

    def __init__(self, job: str, pe: int, n_pes: int) -> None:
        """Set up without connecting; use ``Links.connect``."""
        self.pe = pe
        self.n_pes = n_pes
        self.lost: dict[int, str] = {}
        self.left: set[int] = set()
        self.on_lost: Callable[[int, str], None] | None = None
        self.on_left: Callable[[int], None] | None = None
        self.on_exit: Callable[[int], None] | None = None
        self._fates_of: Fates | None = None
        self._numbers: Sequence[int] = range(n_pes)
        self._job = job
        self._closed = False
        self._calling = threading.Lock()  # one collective at a time
        self._changed = threading.Condition()  # guards all below
        self._sequence = 0
        self._finished = 0  # rounds below this have ended on this PE; parts that arrive for them later are dropped
        self._rounds: dict[int, _Round] = {}
        self._latest: dict[int, int] = {}
        self._peers: dict[int, socket.socket] = {}
        self._strangers: list[socket.socket] = []
        self._listener: socket.socket | None = None
        self._fates: dict[int, str] = {}
        self._news: list[Callable[[], None]] = []
        self._selector = selectors.DefaultSelector()
        self._wake: tuple[socket.socket, ...] = ()
        self._reader: threading.Thread | None = None

    @classmethod
    def connect(
        cls,
        job: str,
        pe: int,
        n_pes: int,
        timeout: float,
        on_lost: Callable[[int, str], None] | None = None,
        on_left: Callable[[int], None] | None = None,
        fates: Fates | None = None,
        numbers: Sequence[int] = (),
    ) -> Links:
        """Connect the PEs of a job; ``job`` is a name that only its PEs know.

        ``fates`` reports processes that end before they connect, and how lost PEs have ended. ``numbers`` are the PE
        numbers for error messages, where the PEs of one node are part of a larger job.

        Collective; blocks until all PEs have connected.

        Raises:
            ValueError: ``pe`` or ``n_pes`` is out of range.
            IshmemError: A PE did not connect in time, or this one was refused.
            PeerLost: A PE died while the PEs were connecting.
        """
        if not 0 <= pe < n_pes <= wire.MAX_PES:
            raise ValueError(f"PE {pe} of {n_pes}: a job has 1 to {wire.MAX_PES} PEs, numbered from 0")
        links = cls(job, pe, n_pes)
        links.on_lost, links.on_left = on_lost, on_left
        links._fates_of, links._numbers = fates, numbers or range(n_pes)
        deadline = time.monotonic() + timeout
        try:
            if n_pes > 1:
                links._start(timeout, deadline)
            links._gather(b"", (), "init", timeout, deadline)
        except BaseException:
            links.close()
            raise
        return links

    def allgather(
        self, payload: bytes, fds: Sequence[int] = (), timeout: float | None = None, what: str = "allgather"
    ) -> list[tuple[bytes, list[int]]]:
        """Send bytes and file descriptors to all PEs and return those of each PE, in the order of PEs.

        Collective; blocks until all PEs have called it. The caller owns every returned descriptor,
        duplicates of its own ones included, and still owns those it passed. ``what`` names the call in errors.

        Raises:
            ValueError: More than ``wire.MAX_PAYLOAD`` bytes or ``wire.MAX_FDS`` descriptors.
            IshmemError: A PE did not arrive in time; raised on every PE.
            PeerLost: A PE has died or left; raised on every PE.
            StateError: After ``leave`` or ``close``.
        """
        if len(payload) > wire.MAX_PAYLOAD or len(fds) > wire.MAX_FDS:
            got = f"{len(payload)} bytes and {len(fds)} file descriptors"
            raise ValueError(f"{got}; at most {wire.MAX_PAYLOAD} and {wire.MAX_FDS} are allowed")
        deadline = None if timeout is None else time.monotonic() + timeout
        return self._gather(payload, fds, what, timeout, deadline)

    def leave(self, timeout: float | None = None, look: Callable[[], None] | None = None) -> None:
        """Leave the job, so that the other PEs do not count this one as lost.

        Collective; blocks until every other PE has left or is lost. ``look`` is called periodically and may raise.

        Raises:
            IshmemError: PEs have not left in time; the message names them.
            StateError: After ``leave`` or ``close``.
        """
        with self._changed:
            self._check_open()
            self.left.add(self.pe)
            self._forward(Message(Kind.LEFT, self.pe))
            if not self._wait_for(lambda: not self._awaited(), timeout, look):
                raise IshmemError(f"{self._name(self._awaited())} did not leave within {timeout:g} s")

    def awaited(self) -> str:
        """Name the PEs that have still to leave."""
        return self._name(self._awaited())

    def exit(self, status: int) -> None:
        """Tell all PEs to end with a status; does not wait for them."""
        with self._changed:
            self._forward(Message(Kind.EXIT, self.pe, status))

    def close(self) -> None:
        """Close all connections, without waiting for any PE; a second call does nothing.

        Unless ``leave`` was called before, the other PEs count this one as lost.
        """
        with self._changed:
            if self._closed:
                return
            self._closed = True
            self._changed.notify_all()
            for end in self._wake[1:]:
                end.send(b"x")
        if self._reader and self._reader is not threading.current_thread():
            self._reader.join()
        with self._changed:
            self._release()

    # ---- collectives

    def _gather(
        self, payload: bytes, fds: Sequence[int], what: str, timeout: float | None, deadline: float | None
    ) -> list[Part]:
        with self._calling, self._changed:
            self._check_open()
            sequence = self._sequence
            self._sequence += 1
            current = self._round(sequence)
            try:
                if not current.error:
                    current.own = (payload, [os.dup(fd) for fd in fds])
                    self._contribute(sequence, current, fds)
                self._await(sequence, what, timeout, deadline)
                parts = [current.parts[pe] for pe in range(self.n_pes)]
                current.parts, current.own = {}, (b"", [])  # the caller owns the descriptors now
                return parts
            finally:
                self._finished = self._sequence
                self._rounds.pop(sequence, None)
                current.close()

    def _contribute(self, sequence: int, current: _Round, fds: Sequence[int]) -> None:
        self._forward(Message(Kind.PART, self.pe, sequence, current.own[0]), fds)
        if self.pe == 0:  # on other PEs, the own part counts once the hub has acknowledged it
            current.parts[0] = current.own
            current.own = (b"", [])

    def _await(self, sequence: int, what: str, timeout: float | None, deadline: float | None) -> None:
        current = self._rounds[sequence]
        if not self._wait_round(current, None if deadline is None else deadline - time.monotonic()):
            missing = set(range(self.n_pes)) - set(current.parts) - {self.pe}
            text = f"{self._name(missing or {0})} did not arrive in {what} within {timeout:g} s"
            self._forward(Message(Kind.ABORT, self.pe, sequence, text.encode()))
            if self.pe == 0 or not self._wait_round(current, _VERDICT_TIMEOUT):
                current.error = IshmemError(text)
        if current.error:
            raise current.error
        if self._closed:
            raise StateError("the connections were closed during a collective")

    def _wait_round(self, current: _Round, timeout: float | None) -> bool:
        def done() -> bool:
            return bool(current.error) or self._closed or len(current.parts) == self.n_pes

        return self._wait_for(done, timeout, None if self._sequence > 1 else self._look_for_absent)

    def _wait_for(self, done: Callable[[], bool], timeout: float | None, look: Callable[[], None] | None) -> bool:
        """Wait until ``done`` returns true, calling ``look`` periodically; return False on a timeout."""
        if look is None:
            return self._changed.wait_for(done, timeout)
        deadline = math.inf if timeout is None else time.monotonic() + timeout
        while not self._changed.wait_for(done, min(_LOOK, deadline - time.monotonic())):
            if time.monotonic() >= deadline:
                return False
            look()
        return True

    def _fate(self, pe: int, patience: float = 0.0) -> str | None:
        return self._fates_of.fate(pe, patience) if self._fates_of else None

    def _look_for_absent(self) -> None:
        """On the hub, count PEs as lost whose processes ended before they connected."""
        if self.pe == 0:
            for pe in set(range(1, self.n_pes)) - set(self._peers) - set(self.lost) - self.left:
                if how := self._fate(pe):
                    self._lose(pe, how)

    def _round(self, sequence: int) -> _Round:
        current = self._rounds.get(sequence)
        if current is None:
            current = self._rounds[sequence] = _Round()
            current.error = self._absence(self.lost) or self._absence(self.left)
        return current

    def _absence(self, pes: Iterable[int]) -> Outcome:
        """Return the error for the first of ``pes``, if any: the first PE lost caused the loss of the others."""
        for pe in pes:
            return self._absence_of(pe)
        return None

    def _absence_of(self, pe: int) -> PeerLost:
        how, number = self.lost.get(pe), self._numbers[pe]
        return PeerLost(f"PE {number} is lost: {how}" if how else f"PE {number} has left the job", number)

    def _check_open(self) -> None:
        if self._closed or self.pe in self.left:
            raise StateError(f"PE {self.pe} has left the job or has closed its connections")

    def _awaited(self) -> set[int]:
        """Return the PEs that have still to leave; none without a connection that could report it."""
        if self._closed or not self._peers:
            return set()
        return set(range(self.n_pes)) - self.left - set(self.lost)

    # ---- receiving, in the reader thread

    def _read(self) -> None:
        while not self._closed:
            for key, _ in self._selector.select():
                call, connection = key.data
                if not self._closed and connection.fileno() >= 0:  # a call for an earlier event may have closed it
                    call(connection)
            self._tell()

    def _tell(self) -> None:
        """Call the user's callbacks for the events so far, without holding the lock."""
        with self._changed:
            news, self._news = self._news, []
        for call in news:
            try:
                call()
            except Exception:
                log.exception("a callback of the PE connections failed")

    def _take(self, pe: int, connection: socket.socket) -> None:
        """Handle the next message of a connected PE, or the end of its connection."""
        try:
            received = wire.receive(connection)
        except BlockingIOError:
            return
        except (OSError, MessageError) as error:
            self._end(pe, f"its connection failed: {error}")
            return
        if received is None:
            how = self._fate(pe, _FATE_PATIENCE)
            self._end(pe, how or f"process {wire.peer_process(connection)[0]} ended without leaving")
            return
        message, fds = received
        try:
            with self._changed:
                self._handle(pe, message, fds)
                self._changed.notify_all()
        except MessageError as error:
            wire.close_fds(fds)
            self._end(pe, f"it sent an invalid message: {error}")

    def _handle(self, sender: int, message: Message, fds: list[int]) -> None:
        if message.pe >= self.n_pes or (self.pe == 0 and message.pe != sender):
            raise MessageError(f"PE {sender} speaks for PE {message.pe}")
        if message.kind == Kind.PART:
            self._take_part(message, fds)
        elif message.kind == Kind.ABORT:
            self._take_abort(message)
        elif message.kind == Kind.LEFT:
            self._take_left(message.pe)
        elif message.kind == Kind.EXIT:
            self._take_exit(message)
        elif message.kind == Kind.LOST and self.pe != 0:
            self._lose(message.pe, message.payload.decode(errors="replace"))
        else:
            raise MessageError(f"{message.kind.name} from PE {sender}")

    def _take_part(self, message: Message, fds: list[int]) -> None:
        pe, sequence = message.pe, message.sequence
        if sequence <= self._latest.get(pe, -1):
            raise MessageError(f"part {sequence} of PE {pe} twice")
        if sequence > self._finished + _AHEAD:
            raise MessageError(f"part {sequence} of PE {pe} is too far ahead: this PE is at {self._finished}")
        self._latest[pe] = sequence
        current = None if sequence < self._finished else self._round(sequence)
        if current is None or current.error:
            wire.close_fds(fds)
        elif pe == self.pe:
            current.parts[pe], current.own = current.own, (b"", fds)
        else:
            current.parts[pe] = (message.payload, fds)
            if self.pe == 0:
                self._send(pe, message._replace(payload=b""))  # the acknowledgement
                self._forward(message, fds)

    def _take_abort(self, message: Message) -> None:
        if message.sequence < self._finished:
            return
        if message.sequence > self._finished + _AHEAD:
            text = f"an abort of collective {message.sequence} is too far ahead: this PE is at {self._finished}"
            raise MessageError(text)
        current = self._round(message.sequence)
        if not current.error and len(current.parts) < self.n_pes:
            current.error = IshmemError(message.payload.decode(errors="replace"))
            self._pass_on(message._replace(pe=0))  # also to the PE that requested the abort

    def _take_exit(self, message: Message) -> None:
        if message.sequence > _LARGEST_STATUS:
            raise MessageError(f"exit status {message.sequence}")
        self._pass_on(message)
        if self.on_exit:
            self._news.append(functools.partial(self.on_exit, message.sequence))

    def _take_left(self, pe: int) -> None:
        if pe in self.left or pe in self.lost:
            return
        self.left.add(pe)
        for current in self._rounds.values():
            if pe not in current.parts:
                current.error = current.error or self._absence([pe])
        self._pass_on(Message(Kind.LEFT, pe))
        if self.on_left:
            self._news.append(functools.partial(self.on_left, pe))

    def _lose(self, pe: int, how: str) -> None:
        if pe in self.left or pe in self.lost or pe == self.pe:
            return
        self.lost[pe] = how
        for current in self._rounds.values():
            if len(current.parts) < self.n_pes:
                current.error = current.error or self._absence([pe])
        self._pass_on(Message(Kind.LOST, pe, 0, how.encode()))
        if self.on_lost:
            self._news.append(functools.partial(self.on_lost, pe, how))

    def _end(self, pe: int, how: str) -> None:
        """Close the connection to a PE, and count the PE as lost unless it has left."""
        with self._changed:
            self._drop(self._peers.pop(pe))
            how = self._fates.get(pe, how)
            if pe == 0:
                self._lose_hub(how)
            else:
                self._lose(pe, how)
            self._changed.notify_all()

    def _lose_hub(self, how: str) -> None:
        """Count PE 0 as lost, and before it the PE whose loss caused it, which PE 0 may not have reported."""
        first = self._fates_of.first_lost() if self._fates_of else None
        if first and (first_how := self._fate(first)):
            self._lose(first, first_how)
        self._lose(0, how)

    # ---- sending

    def _pass_on(self, message: Message) -> None:
        if self.pe == 0:
            self._forward(message)

    def _forward(self, message: Message, fds: Sequence[int] = ()) -> None:
        """Send to all connected PEs but the one that the message is about; PEs other than 0 send to the hub only."""
        for pe in list(self._peers):
            if pe != message.pe:
                self._send(pe, message, fds)

    def _send(self, pe: int, message: Message, fds: Sequence[int] = ()) -> None:
        connection = self._peers[pe]
        try:
            wire.send(connection, message, fds)
        except ConnectionError:
            pass  # the reader thread is about to read the end of this connection
        except OSError as error:
            self._fates.setdefault(pe, f"it received no message for {wire.SEND_TIMEOUT} s: {error}")
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)  # the reader thread then ends it

    # ---- connecting

    def _start(self, timeout: float, deadline: float) -> None:
        if self.pe == 0:
            self._listener = _listen(self._job)
        else:
            self._peers[0] = self._join(timeout, deadline)
        self._wake = socket.socketpair()
        self._watch(self._wake[0], lambda _: None)
        if self._listener:
            self._watch(self._listener, self._accept)
        else:
            self._watch(self._peers[0], functools.partial(self._take, 0))
        self._reader = threading.Thread(target=self._read, name=f"ishmem-links-{self.pe}", daemon=True)
        self._reader.start()
        _alive.add(self)

    def _join(self, timeout: float, deadline: float) -> socket.socket:
        """Return the connection to PE 0, which may start later than this PE."""
        while True:
            if connection := _try_join(self._job, self.pe, self.n_pes, deadline):
                return connection
            if how := self._fate(0):
                self._lose_hub(how)
                raise self._absence_of(next(iter(self.lost)))
            if time.monotonic() > deadline:
                raise IshmemError(f"{self._name([0])} did not arrive in init within {timeout:g} s")
            time.sleep(_RETRY)

    def _name(self, pes: Iterable[int]) -> str:
        names = [str(self._numbers[pe]) for pe in sorted(pes)]
        return f"PE {names[0]}" if len(names) == 1 else f"PEs {', '.join(names)}"

    def _watch(self, connection: socket.socket, call: Callable[[socket.socket], None]) -> None:
        self._selector.register(connection, selectors.EVENT_READ, (call, connection))

    def _drop(self, connection: socket.socket) -> None:
        self._selector.unregister(connection)
        connection.close()

    def _accept(self, listener: socket.socket) -> None:
        try:
            connection = wire.accept(listener)
        except OSError as error:
            log.warning("could not accept a connection: %s", error)
            time.sleep(_RETRY)  # most likely out of file descriptors: avoid a busy loop
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
        """Handle the first message of a connection: admit the PE whose HELLO it is, or refuse the connection."""
        fds: list[int] = []
        try:
            received = wire.receive(connection)
            if received is None:
                raise MessageError("it closed the connection before it sent a HELLO")
            message, fds = received
            with self._changed:
                pe = wire.check_hello(message, self._job, self.n_pes)
                if pe in self._peers or pe in self.lost or pe in self.left:
                    raise MessageError(f"PE {pe} has joined before")
                self._welcome(pe, connection)
        except BlockingIOError:
            return
        except (OSError, MessageError) as error:
            wire.close_fds(fds)
            self._refuse(connection, str(error))

    def _welcome(self, pe: int, connection: socket.socket) -> None:
        self._strangers.remove(connection)
        take = functools.partial(self._take, pe)
        self._selector.modify(connection, selectors.EVENT_READ, (take, connection))
        self._peers[pe] = connection
        self._send(pe, wire.welcome(self._job, pe))
        for lost, how in self.lost.items():
            self._send(pe, Message(Kind.LOST, lost, 0, how.encode()))
        for sequence, current in self._rounds.items():
            for sender, (payload, fds) in current.parts.items():
                self._send(pe, Message(Kind.PART, sender, sequence, payload), fds)
        if len(self._peers) + len(self.lost) == self.n_pes - 1:
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

    def _release(self) -> None:
        """Close every socket and file descriptor, without a message to the other PEs."""
        self._selector.close()
        listeners = [self._listener] if self._listener else []
        for end in [*self._peers.values(), *self._strangers, *self._wake, *listeners]:
            end.close()
        for current in self._rounds.values():
            current.close()
        self._peers, self._strangers, self._listener, self._rounds = {}, [], None, {}


def _listen(job: str) -> socket.socket:
    listener = wire.new_socket()
    try:
        listener.bind(wire.address(job))
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise IshmemError(f"PE 0 cannot listen for its job: {error}; is the job running already?") from error
    return listener


def _try_join(job: str, pe: int, n_pes: int, deadline: float) -> socket.socket | None:
    """Return the connection to PE 0, or None while PE 0 does not listen yet or is busy."""
    connection = wire.new_socket()
    try:
        connection.connect(wire.address(job))
        wire.check_user(wire.peer_process(connection)[1])
        wire.send(connection, wire.hello(job, pe, n_pes))
        if _is_welcome(connection, wire.welcome(job, pe), deadline):
            return connection
    except (ConnectionError, BlockingIOError):
        pass
    except BaseException:
        connection.close()
        raise
    connection.close()
    return None


def _is_welcome(connection: socket.socket, wanted: Message, deadline: float) -> bool:
    """Return whether PE 0 admits this PE; False when no answer arrives before the deadline."""
    poll = select.poll()
    poll.register(connection, select.POLLIN)
    if not poll.poll(max(0, deadline - time.monotonic()) * 1000):
        return False
    received = wire.receive(connection)
    if received is None:
        return False
    message, fds = received
    wire.close_fds(fds)
    if message.kind == Kind.REFUSED:
        raise IshmemError(f"PE 0 refused this PE: {message.payload.decode(errors='replace')}")
    if message != wanted:
        process = wire.peer_process(connection)[0]
        raise IshmemError(f"process {process} listens in place of PE 0 but is not part of this job")
    return True


# A forked child inherits its parent's connections; while they are open, no PE notices the parent's death.
_alive: weakref.WeakSet[Links] = weakref.WeakSet()


def _forget() -> None:
    for links in list(_alive):
        links._closed = True
        links._changed = threading.Condition()
        links._calling = threading.Lock()
        links._release()


os.register_at_fork(after_in_child=_forget)
