"""The connection of a PE to the other PEs of its job on this node, through a hub (``ishmem.ipc.hub``)."""

from __future__ import annotations

import contextlib
import functools
import logging
import math
import os
import select
import socket
import threading
import time
import weakref
from collections.abc import Iterable, Sequence
from typing import Callable

from ishmem.common import start_failures
from ishmem.common.errors import IshmemError, PeerLost, StateError
from ishmem.common.job_end import FIRST_CAUSE

from . import hub, wire
from .wire import Census, Kind, Message, MessageError

log = logging.getLogger("ishmem")

_VERDICT_TIMEOUT = 5.0  # seconds a PE waits for the hub's decision on a collective that has timed out
_LONGEST_POLL = 1e6  # seconds; the kernel's limit is 32 bits of milliseconds
_LOOK = 0.1  # seconds between two calls of ``report_wait`` while a PE waits

Part = tuple[bytes, list[int]]
StartHub = Callable[[], object]


class _Round:
    """The state of one collective: the parts that have arrived, or the error with which it ends."""

    def __init__(self) -> None:
        self.parts: dict[int, Part] = {}
        self.own: Part = (b"", [])
        self.error: IshmemError | None = None

    def close(self) -> None:
        for _, fds in [*self.parts.values(), self.own]:
            wire.close_fds(fds)
        self.parts, self.own = {}, (b"", [])


class Links:
    """This PE's connections to the others; every method may be called from any thread.

    Attributes:
        pe, place: Number of this PE, and its index among those that are connected.
        n_pes: The number of connected PEs.
        lost: The lost PEs, each with the reason.
        failure: Once the job has failed, the time of ``time.monotonic`` and the exit status of the job; else None.
        left: The PEs that have left with ``leave``.
        on_lost: Called with a PE and the reason, from the reader thread, when the PE is lost: its connection
            has ended without ``leave``, for example.
        on_left: Called with the PE, from the reader thread, when another PE has left.
        on_exit: Called with the status, from the reader thread, when another PE ends the job.
    """

    def __init__(self, job: str, place: int, n_pes: int, pes: Sequence[int]) -> None:
        """Set the attributes, without a connection; programs call ``Links.connect``."""
        self.pe, self.place = pes[place], place
        self.n_pes = n_pes
        self.lost: dict[int, str] = {}
        self.failure: tuple[float, int] | None = None
        self.left: set[int] = set()
        self.on_lost: Callable[[int, str], None] | None = None
        self.on_left: Callable[[int], None] | None = None
        self.on_exit: Callable[[int], None] | None = None
        self._pes = pes
        self._is_watched = self._has_raised = False
        self._job = job
        self._closed = self._leaving = False
        refused = functools.partial(start_failures.raise_if_refused, job, self.pe, n_pes)
        self._report_wait: Callable[[], None] | None = refused
        self._calling = threading.Lock()  # one collective at a time
        self._changed = threading.Condition()  # guards all below
        self._sequence = 0
        self._finished = 0  # rounds below this have ended on this PE; parts that arrive for them later are dropped
        self._rounds: dict[int, _Round] = {}
        self._questions = 0
        self._survivors: dict[int, Census] = {}
        self._hub: socket.socket | None = None
        self._hub_problem = ""
        self._callbacks: list[Callable[[], None]] = []
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
        numbers: Sequence[int] = (),
        start_hub: StartHub | None = None,
    ) -> Links:
        """Connect the PEs of the job named ``job``, which is secret, within ``timeout`` seconds; return the links.

        ``pe`` is the number of this PE. If the ``n_pes`` PEs are those of one node of a larger job, ``numbers`` are
        their numbers, of which ``pe`` is an index. ``on_lost`` and ``on_left`` become attributes. The first PE calls
        ``start_hub`` before each attempt to connect; by default it is `hub.start`.
        Collective; blocks until all PEs have connected.

        Raises:
            ValueError: ``pe`` or ``n_pes`` is out of range.
            IshmemError: A PE did not connect in time, or has recorded an error, or the hub has refused this one.
            PeerLost: A PE died while the PEs were connecting.
        """
        if not 0 <= pe < n_pes <= wire.MAX_PES:
            raise ValueError(f"PE {pe} of {n_pes}: a job has 1 to {wire.MAX_PES} PEs, numbered from 0")
        links = cls(job, pe, n_pes, numbers or range(n_pes))
        links.on_lost, links.on_left = on_lost, on_left
        links._is_watched = isinstance(start_hub, hub.OfMonitor)
        deadline = time.monotonic() + timeout
        try:
            if n_pes > 1 or links._is_watched:
                links._start(timeout, deadline, start_hub or functools.partial(hub.start, job, n_pes))
            links._gather(b"", (), "init", timeout, deadline)
        except BaseException:
            links.close("its init failed")
            start_failures.raise_if_refused(job, pe, n_pes)  # the lost PE may have seen the record before this one
            raise
        links._report_wait = None
        return links

    def allgather(
        self, payload: bytes, fds: Sequence[int] = (), timeout: float | None = None, what: str = "allgather"
    ) -> list[tuple[bytes, list[int]]]:
        """Send bytes and file descriptors to all PEs and return those of each PE, in the order of PEs.

        Collective; blocks until all PEs have called it, at most ``timeout`` seconds, None for no limit. The caller owns
        every returned descriptor, duplicates of its own included, and those it passed. ``what`` is its name in errors.

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

    def agree_on_survivors(self, census: Census, report_wait: Callable[[], None]) -> Census:
        """Return the census of a team's survivors, the same on all of them, combined from those that they pass.

        Collective over the survivors; blocks until all of them have called it.

        Args:
            census: The members of the team, and the data of this PE.
            report_wait: A function that is called every 0.1 s; it may raise.

        Raises:
            PeerLost: The hub is lost.
            StateError: After ``leave`` or ``close``.
        """
        with self._calling, self._changed:
            self._check_open()
            if self.n_pes == 1:
                return census
            number = self._questions = self._questions + 1
            self._send(Message(Kind.SHRINK, self.pe, number, census.pack()))
            self._wait_for(lambda: number in self._survivors or self._closed or not self._hub, None, report_wait)
            if number not in self._survivors:
                self._check_open()
                raise self._absence_of(self._pes[0])
            return self._survivors.pop(number)

    def leave(self, timeout: float | None = None, report_wait: Callable[[], None] | None = None) -> None:
        """Leave the job, so that the other PEs do not count this one as lost.

        Collective; blocks until every other PE has left or is lost and the hub has acknowledged this PE's own leave, or
        the hub is lost. ``timeout`` is in seconds, None for no limit. ``report_wait`` is called every 0.1 s, may raise.

        Raises:
            IshmemError: PEs have not left in time; the message names them.
            StateError: After ``leave`` or ``close``.
        """
        with self._changed:
            self._check_open()
            self._leaving = True
            self._send(Message(Kind.LEFT, self.pe))
            if not self._wait_for(lambda: not self._still_to_leave(), timeout, report_wait):
                raise IshmemError(f"{self.awaited()} did not leave within {timeout:g} s")

    def awaited(self) -> str:
        """Return a text with the PEs that have not left yet, without this one unless it is the only one."""
        awaited = self._still_to_leave()
        return self._name(awaited - {self.pe} or awaited)

    def stream(self) -> int:
        """Return the file descriptor of the connection to a hub on another node; -1 for one on this node, or none."""
        return self._hub.fileno() if self._hub and self._hub.family != socket.AF_UNIX else -1

    def exit(self, status: int) -> None:
        """Send all other PEs the message to end with exit status ``status``; does not wait for them."""
        with self._changed:
            self._send(Message(Kind.EXIT, self.pe, status))

    def report(self, kind: Kind) -> None:
        """Send a message to the monitor of the node: `WATCH`, `RAISED` or `DONE`."""
        with self._changed:
            self._has_raised |= kind == Kind.RAISED
            self._send(Message(kind, self.pe))

    def fail(self, how: str, status: int) -> None:
        """Report to the other PEs that this PE's program has failed, with reason ``how`` and an exit status.

        It does not wait for them, but after an error that was reported by `RAISED`, it first waits up to `FIRST_CAUSE`
        seconds for the report of the PE that was lost first, whose exit status becomes that of the job.
        """
        text = how.encode(errors="replace")[: wire.MAX_PAYLOAD]
        with self._changed:
            if self._has_raised:
                self._changed.wait_for(lambda: self.failure, FIRST_CAUSE)
            self._send(Message(Kind.FAILED, self.pe, status, text))
            self._fail(status)

    def close(self, how: str = "") -> None:
        """Close all connections, without waiting for any PE; a second call does nothing.

        Unless ``leave`` was called before, the other PEs count this one as lost, with ``how`` as reason if it is not
        empty. Over MPI, the reason is that of `fail`.
        """
        with self._changed:
            if self._closed:
                return
            if how and not self._is_watched:
                self._send(Message(Kind.FAILED, self.pe, 1, how.encode()))
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
                parts = [current.parts[pe] for pe in self._pes]
                current.parts, current.own = {}, (b"", [])  # the caller owns the descriptors now
                return parts
            finally:
                self._finished = self._sequence
                self._rounds.pop(sequence, None)
                current.close()

    def _contribute(self, sequence: int, current: _Round, fds: Sequence[int]) -> None:
        if self._hub:  # the own part counts once the hub has acknowledged it
            self._send(Message(Kind.PART, self.pe, sequence, current.own[0]), fds)
        else:
            current.parts[self.pe], current.own = current.own, (b"", [])

    def _await(self, sequence: int, what: str, timeout: float | None, deadline: float | None) -> None:
        current = self._rounds[sequence]
        if not self._wait_round(current, None if deadline is None else deadline - time.monotonic()):
            missing = set(self._pes) - set(current.parts) - {self.pe}
            text = f"{self._name(missing or self._pes[:1])} did not arrive in {what} within {timeout:g} s"
            self._send(Message(Kind.ABORT, self.pe, sequence, text.encode()))
            if not self._wait_round(current, _VERDICT_TIMEOUT):
                current.error = IshmemError(text)
        if current.error:
            raise current.error
        if self._closed:
            raise StateError("the connections were closed during a collective")

    def _wait_round(self, current: _Round, timeout: float | None) -> bool:
        def done() -> bool:
            return bool(current.error) or self._closed or len(current.parts) == self.n_pes

        return self._wait_for(done, timeout, self._report_wait)

    def _wait_for(
        self, done: Callable[[], bool], timeout: float | None, report_wait: Callable[[], None] | None
    ) -> bool:
        """Wait until ``done`` returns true, calling ``report_wait`` periodically; return False on a timeout."""
        if report_wait is None:
            return self._changed.wait_for(done, timeout)
        deadline = math.inf if timeout is None else time.monotonic() + timeout
        while not self._changed.wait_for(done, min(_LOOK, deadline - time.monotonic())):
            if time.monotonic() >= deadline:
                return False
            report_wait()
        return True

    def _round(self, sequence: int) -> _Round:
        current = self._rounds.get(sequence)
        if current is None:
            current = self._rounds[sequence] = _Round()
            current.error = self._absence(self.lost) or self._absence(self.left)
        return current

    def _absence(self, pes: Iterable[int]) -> IshmemError | None:
        """Return the error for the first of ``pes``, or None: the first PE lost caused the loss of the others."""
        for pe in pes:
            return self._absence_of(pe)
        return None

    def _absence_of(self, pe: int) -> PeerLost:
        how = self.lost.get(pe)
        return PeerLost(f"PE {pe} is lost: {how}" if how else f"PE {pe} has left the job", pe)

    def _check_open(self) -> None:
        if self._closed or self._leaving:
            raise StateError(f"PE {self.pe} has left the job or has closed its connections")

    def _still_to_leave(self) -> set[int]:
        """Return the PEs that have neither left nor are lost; empty without a connection to the hub.

        This PE is one of them until the hub has returned its own message: the hub may end with its process.
        """
        if self._closed or not self._hub:
            return set()
        return set(self._pes) - self.left - set(self.lost)

    # ---- receiving, in the reader thread

    def _read(self, connection: socket.socket) -> None:
        ends = select.poll()
        ends.register(connection, select.POLLIN)
        ends.register(self._wake[0], select.POLLIN)
        while not self._closed and self._hub:
            ends.poll()
            while not self._closed and self._hub and self._receive(self._hub):
                self._run_callbacks()

    def _run_callbacks(self) -> None:
        """Call the callbacks of the events so far, without holding the lock."""
        with self._changed:
            callbacks, self._callbacks = self._callbacks, []
        for call in callbacks:
            try:
                call()
            except Exception:
                log.exception("a callback of the PE connections failed")

    def _receive(self, connection: socket.socket) -> bool:
        """Handle the next message of the hub, or the end of its connection; return whether there was either."""
        try:
            received = wire.receive(connection)
            if received is None:
                self._lose_hub(f"process {wire.peer_process(connection)[0]} ended without leaving")
            else:
                with self._changed:
                    self._handle(*received)
                    self._changed.notify_all()
        except BlockingIOError:
            return False
        except MessageError as error:
            self._lose_hub(f"it sent an invalid message: {error}")
        except OSError as error:
            self._lose_hub(f"its connection failed: {error}")
        return True

    def _lose_hub(self, how: str) -> None:
        """Close the connection to the hub, and count the first PE as lost, whose process may run the hub.

        If the job is on several nodes, count all other PEs as lost.
        """
        with self._changed:
            if self._hub:
                self._hub.close()
                self._hub = None
            self._fail(1)
            for pe in self._pes if wire.Place.of(self._job) else self._pes[:1]:
                self._lose(pe, "the monitor of this node has ended" if self._is_watched else self._hub_problem or how)
            self._changed.notify_all()

    def _handle(self, message: Message, fds: list[int]) -> None:
        if message.kind == Kind.PART and message.pe in self._pes:
            self._receive_part(message, fds)
        elif message.kind == Kind.ABORT:
            self._abort_collective(message)
        elif message.kind == Kind.LEFT:
            self._note_left(message.pe)
        elif message.kind == Kind.EXIT:
            self._fail(message.sequence)
            if self.on_exit:
                self._callbacks.append(functools.partial(self.on_exit, message.sequence))
        elif message.kind == Kind.SHRINK:
            self._survivors[message.sequence] = Census.unpack(message.payload)
        elif message.kind == Kind.LOST:
            self._fail(message.sequence)
            self._lose(message.pe, message.payload.decode(errors="replace"))
        else:
            wire.close_fds(fds)
            raise MessageError(f"{message.kind.name} of PE {message.pe}")

    def _fail(self, status: int) -> None:
        self.failure = self.failure or (time.monotonic(), status)

    def _receive_part(self, message: Message, fds: list[int]) -> None:
        pe, sequence = message.pe, message.sequence
        current = None if sequence < self._finished else self._round(sequence)
        if current is None or current.error:
            wire.close_fds(fds)
        elif pe == self.pe:
            current.parts[pe], current.own = current.own, (b"", fds)
        else:
            current.parts[pe] = (message.payload, fds)

    def _abort_collective(self, message: Message) -> None:
        if message.sequence >= self._finished:
            current = self._round(message.sequence)
            current.error = current.error or IshmemError(message.payload.decode(errors="replace"))

    def _note_left(self, pe: int) -> None:
        if pe in self.left or pe in self.lost:
            return
        self.left.add(pe)
        if pe == self.pe:
            return
        self._fail_incomplete(pe)
        if self.on_left:
            self._callbacks.append(functools.partial(self.on_left, pe))

    def _lose(self, pe: int, how: str) -> None:
        if pe in self.left or pe in self.lost or (pe == self.pe and not self._is_watched):
            return
        self.lost[pe] = how
        self._fail_incomplete(pe)
        if self.on_lost:
            self._callbacks.append(functools.partial(self.on_lost, pe, how))

    def _fail_incomplete(self, absent: int) -> None:
        for current in self._rounds.values():
            if len(current.parts) < self.n_pes:
                current.error = current.error or self._absence_of(absent)

    # ---- sending

    def _send(self, message: Message, fds: Sequence[int] = ()) -> None:
        if not self._hub:
            return
        try:
            wire.send(self._hub, message, fds)
        except ConnectionError:
            pass  # the reader thread is about to read the end of the connection
        except OSError as error:
            self._hub_problem = f"it received no message for {wire.SEND_TIMEOUT} s: {error}"
            with contextlib.suppress(OSError):
                self._hub.shutdown(socket.SHUT_RDWR)  # the reader thread then closes it

    # ---- connecting

    def _start(self, timeout: float, deadline: float, start_hub: StartHub) -> None:
        self._hub = connection = self._join(timeout, deadline, start_hub)
        self._wake = socket.socketpair()
        name = f"ishmem-links-{self.pe}"
        self._reader = threading.Thread(target=self._read, args=(connection,), name=name, daemon=True)
        self._reader.start()
        _alive.add(self)

    def _join(self, timeout: float, deadline: float, start_hub: StartHub) -> socket.socket:
        """Return the connection to the hub; repeat attempts until the deadline, as the hub may start later."""
        while True:
            if self.place == 0:
                start_hub()
            if connection := _try_join(self._job, self.pe, self.n_pes, deadline):
                return connection
            if time.monotonic() > deadline:
                raise IshmemError(f"{self._name(self._pes[:1])} did not arrive in init within {timeout:g} s")
            start_failures.raise_if_refused(self._job, self.pe, self.n_pes)
            time.sleep(hub.RETRY)

    def _name(self, pes: Iterable[int]) -> str:
        names = [str(pe) for pe in sorted(pes)]
        return f"PE {names[0]}" if len(names) == 1 else f"PEs {', '.join(names)}"

    def _release(self) -> None:
        """Close every socket and file descriptor, without a message to the other PEs."""
        for end in [*self._wake, *([self._hub] if self._hub else [])]:
            end.close()
        for current in self._rounds.values():
            current.close()
        self._hub, self._wake, self._rounds = None, (), {}


def _try_join(job: str, pe: int, n_pes: int, deadline: float) -> socket.socket | None:
    """Return the connection to the hub, or None if it does not listen yet or is busy."""
    try:
        connection = wire.connect(job)
    except (ConnectionError, BlockingIOError):
        return None
    try:
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
    """Return whether the hub has sent ``wanted`` before the deadline; raise ``IshmemError`` for another message."""
    poll = select.poll()
    poll.register(connection, select.POLLIN)
    if not poll.poll(min(max(0, deadline - time.monotonic()), _LONGEST_POLL) * 1000):
        return False
    received = wire.receive(connection)
    if received is None:
        return False
    message, fds = received
    wire.close_fds(fds)
    if message.kind == Kind.REFUSED:
        raise IshmemError(f"this PE cannot join the job: {message.payload.decode(errors='replace')}")
    if message != wanted:
        process = wire.peer_process(connection)[0]
        raise IshmemError(f"process {process} listens for the PEs of this job but is not part of it")
    return True


# A forked child inherits its parent's connections; while they are open, no PE detects the parent's death.
_alive: weakref.WeakSet[Links] = weakref.WeakSet()


def _forget() -> None:
    for links in list(_alive):
        links._closed = True
        links._changed = threading.Condition()
        links._calling = threading.Lock()
        links._release()


os.register_at_fork(after_in_child=_forget)
