"""The status of each PE, in memory that the PEs and the launcher share; it stays readable after a PE was killed.

The launcher creates the board, or PE 0 without one. Each record occupies a page; behind the records is space for
tracebacks, which PEs write on request. The module needs only the standard library. Records have no locks: a reader
may see a text that is partly updated.

``python -m ishmem.common.status_board BOARD NUMBERS REASON`` prints where the PEs of a node are, when one of them does
not answer and there is no ishmem run: the path of the board, the PE numbers of its records, separated by commas, and
``interrupted`` or the limit that a PE has exceeded, in seconds.
"""

from __future__ import annotations

import contextlib
import ctypes
import enum
import faulthandler
import fcntl
import functools
import mmap
import os
import signal
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from ishmem.common import callsite, kernel_wait, limits, processes

TELL = signal.SIGRTMAX - 4
"""Signal that requests a PE's traceback; a thread of the PE writes it, once it can run Python code."""

INSIST = signal.SIGRTMAX - 5
"""Signal on which a handler in the main thread writes the traceback, while compiled code holds the interpreter."""

_PAGE = 4096
_TRACE = 1 << 16  # bytes for the tracebacks of a PE; unwritten pages occupy no memory
_REASON = 256  # bytes, from the simulated driver
IN_TURN = 512
"""Bytes for a text with the names of kernels that may run only one after the other."""

_TEXT = _PAGE - 8 * 64 - _REASON - IN_TURN
_STEP = 0.002
_INSIST_AFTER = 0.2  # seconds
_ONCE = 5.0  # seconds in which one report serves all PEs that are interrupted


class SignalHandlers(Protocol):
    """The interface of the core's functions that install handlers of signals `TELL` and `INSIST`."""

    def answer_on(self, number: int, pipe: int, /) -> None:
        """Install a handler of signal ``number``: it writes a byte to ``pipe``, and the `KernelWait` to the board."""

    def ignore_unless_handled(self, number: int, /) -> None:
        """Ignore signal ``number`` if it has no handler, and so would end the process."""

    def insist_on(self, number: int, file: int, place: int, /) -> None:
        """Make signal ``number`` write a traceback to byte ``place`` of ``file``, while Python code cannot run."""


class PeState(enum.IntEnum):
    """The state of a PE in the job."""

    ABSENT = 0
    JOINING = 1
    JOINED = 2
    ABANDONED = 3
    """It left after an error, without waiting for the other PEs."""
    LEFT = 4
    FAILED = 5
    """Its ``init`` failed; it may call ``init`` again."""


_WORDS = ("not yet in init", "in init", "in no wait", "gave up after an error", "has finalised", "failed in init")


class _Text(ctypes.Structure):
    """Base of ctypes structures with a text: read and written as ``str``, cut after ``_TEXT`` - 1 bytes."""

    _fields_ = [("_bytes", ctypes.c_char * _TEXT)]

    @property
    def text(self) -> str:
        """The text."""
        return bytes(self._bytes).decode(errors="replace")

    @text.setter
    def text(self, words: str) -> None:
        self._bytes = words.encode(errors="replace")[: _TEXT - 1]


class Record(_Text):
    """The record of one PE. Times are those of ``time.monotonic``, in seconds.

    Attributes:
        pid: Process that called ``init``, by its number in ``/proc``.
        trace: That process's file descriptor for tracebacks.
        state: A `PeState`.
        ended: Whether ishmem run has seen the end of the PE.
        exiting: Time at which its program ended without ``finalize``, or left after an error; 0 before.
        gave_up: Time at which its program failed; threads and exit handlers may keep its process alive. 0 before.
        status: The exit status with which it failed.
        code: Its exit status, or minus the signal.
        beat: Time at which Python code last ran, or since which a kernel has waited for long.
        kernel: The wait of a kernel of the PE, as of the last `TELL`: a `KernelWait`.
        reason: The reason why a kernel may wait for ever on the simulator, as of the last `TELL`.
        in_turn: The kernels that have not ended and may run only one after the other.
        text: The call in which it waits.
        since: Time at which the wait began; 0 outside long waits.
    """

    _fields_ = [
        ("pid", ctypes.c_int64),
        ("trace", ctypes.c_int64),
        ("state", ctypes.c_int64),
        ("exiting", ctypes.c_double),
        ("ended", ctypes.c_int64),
        ("gave_up", ctypes.c_double),
        ("status", ctypes.c_int64),
        ("code", ctypes.c_int64),
        ("beat", ctypes.c_double),
        ("since", ctypes.c_double),
        ("kernel", ctypes.c_byte * kernel_wait.NBYTES),
        ("reason", ctypes.c_char * _REASON),
        ("in_turn", ctypes.c_char * IN_TURN),
    ]

    @property
    def is_inside(self) -> bool:
        """Whether the PE is a member of the job now."""
        return self.state in (PeState.JOINING, PeState.JOINED)

    def how(self) -> str:
        """Return a text on how the PE's process has ended; meaningless before its end."""
        return processes.describe_end(self.code)


class Head(_Text):
    """The record of the whole job.

    Attributes:
        hang: Nonzero once some PE has reached ``ISHMEM_TIMEOUT``.
        text: The calls in which the PEs were at that time.
        closing: Nonzero once ``global_exit`` ends the job.
        goes_on: Nonzero once the PEs have agreed that the job continues after a loss.
        printed: Digest of the last error of a kernel that a PE has printed; the others need not repeat it.
        shown: Time at which the places of the PEs were last printed after SIGINT.
        noticed: Time at which they were last printed because of a long wait.
        losses: Number of PEs that the hub has counted as lost.
    """

    _fields_ = [
        ("hang", ctypes.c_int64),
        ("closing", ctypes.c_int64),
        ("goes_on", ctypes.c_int64),
        ("printed", ctypes.c_int64),
        ("shown", ctypes.c_double),
        ("noticed", ctypes.c_double),
        ("losses", ctypes.c_int64),
    ]


class StatusBoard:
    """The board of one job, or of the PEs of one node; ``board[pe]`` is the record of a PE.

    Attributes:
        numbers: The PE numbers of the job for the records.
        node: The node's description for messages, in a job on several nodes.
        supervised: Whether ishmem run has made the board; it then monitors whether PEs answer.
    """

    def __init__(self, fd: int, n_pes: int) -> None:
        """Map the memory behind a file descriptor and take ownership of it."""
        self.fd, self.n_pes = fd, n_pes
        self.numbers: Sequence[int] = range(n_pes)
        self.node = ""
        self.supervised = False
        memory = mmap.mmap(fd, _PAGE * (1 + n_pes))
        self.head = Head.from_buffer(memory)
        self._records = [Record.from_buffer(memory, _PAGE * (1 + pe)) for pe in range(n_pes)]

    @classmethod
    def make(cls, n_pes: int) -> StatusBoard:
        """Create the board of a job of ``n_pes`` PEs; ``IshmemError`` if the system has no memory for it."""
        size = _PAGE * (1 + n_pes) + _TRACE * n_pes
        with limits.doing(f"make the status board of the job, {size} bytes of shared memory", is_memory=True):
            fd = os.memfd_create("ishmem-board-" + os.urandom(8).hex())
            os.ftruncate(fd, size)
            return cls(fd, n_pes)

    @classmethod
    def find(cls, path: str | None, n_pes: int) -> StatusBoard | None:
        """Return the board of ishmem run at ``path``; None if there is none for this number of PEs."""
        if path is None:
            return None
        with contextlib.suppress(OSError):
            fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
            if _is_board(path) and os.fstat(fd).st_size == _PAGE * (1 + n_pes) + _TRACE * n_pes:
                found = cls(fd, n_pes)
                found.supervised = True
                return found
            os.close(fd)
        return None

    @classmethod
    def of_process(cls, pid: int) -> StatusBoard | None:
        """Return the board that another process of this user has open; None if it has none."""
        with contextlib.suppress(OSError):
            for name in os.listdir(f"/proc/{pid}/fd"):
                path = f"/proc/{pid}/fd/{name}"
                if _is_board(path):
                    n_pes = (os.stat(path).st_size - _PAGE) // (_PAGE + _TRACE)
                    return cls.find(path, n_pes)
        return None

    @property
    def path(self) -> str:
        """Path at which processes of the same user open the board while this process lives."""
        return f"/proc/{os.readlink('/proc/self')}/fd/{self.fd}"

    def __getitem__(self, pe: int) -> Record:
        return self._records[pe]

    def __iter__(self) -> Iterator[Record]:
        return iter(self._records)

    def join(self, pe: int, text: str, handlers: SignalHandlers) -> None:
        """Register this process as a PE, in the wait ``text``; ``handlers`` lets it write tracebacks on the signals."""
        record = self[pe]
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (TELL, INSIST))  # exec keeps the mask of the parent
        fd = os.open(f"/proc/self/fd/{self.fd}", os.O_WRONLY | os.O_CLOEXEC)  # for a file position of its own
        requests, pipe = os.pipe()
        os.set_blocking(pipe, False)
        handlers.ignore_unless_handled(INSIST)  # faulthandler restores this when the interpreter ends
        faulthandler.register(INSIST, file=fd, all_threads=False)
        handlers.insist_on(INSIST, fd, self._trace(pe))
        handlers.answer_on(TELL, pipe)
        write = functools.partial(_write_tracebacks, requests, fd, self._trace(pe))
        threading.Thread(target=write, name="ishmem-answer", daemon=True).start()
        record.text, record.since = text, time.monotonic()
        record.pid, record.trace, record.state = int(os.readlink("/proc/self")), fd, PeState.JOINING

    def how(self, pe: int) -> str:
        """Return a text on how the process of a PE has ended, and in which wait."""
        record = self[pe]
        return record.how() + (f" in {self.where(pe)}" if record.since and record.is_inside else "")

    def where(self, pe: int, now: float | None = None) -> str:
        """Return a text on the wait that a PE has recorded, with its duration if ``now`` is given."""
        record = self[pe]
        since = f", for {now - record.since:.1f} s" if now is not None else ""
        return record.text + since

    def find_places(self, pes: Iterable[int], patience: float = 0.7) -> dict[int, str]:
        """Return the calls in which PEs are, by the tracebacks that they write within ``patience`` seconds."""
        silent = {pe for pe in pes if self._request(pe)}
        places: dict[int, str] = {}
        now = time.monotonic()
        deadline, insist_at = now + patience, now + _INSIST_AFTER
        while silent and time.monotonic() < deadline:
            time.sleep(_STEP)
            if time.monotonic() > insist_at:
                insist_at = deadline
                for pe in silent:
                    self._send(pe, INSIST)
            for pe in [pe for pe in silent if self._dump(pe)]:
                time.sleep(_STEP)  # until the traceback is complete
                places[pe] = callsite.describe(callsite.of_dump(self._dump(pe).decode(errors="replace")))
                silent.remove(pe)
        return places

    def table(self, pes: Iterable[int]) -> list[str]:
        """Return a line for each PE with the call in which it is: from its record, else from its traceback."""
        pes, now = list(pes), time.monotonic()
        places = self.find_places(pe for pe in pes if not self[pe].ended and self[pe].is_inside)
        return [f"PE {self.numbers[pe]}: {self._line(pe, places.get(pe), now)}" for pe in pes]

    def announce(self, timeout: float) -> None:
        """Publish that a PE has waited for ``timeout`` seconds, and the call in which each PE is."""
        lines = "\n".join(f"  {line}" for line in self.table(range(self.n_pes)))
        which = f" of {self.node}" if self.node else ""
        if not self.head.hang:  # another PE may have published it meanwhile, and left
            self.head.text = f"ISHMEM_TIMEOUT, {timeout:g} s, is over; the PEs{which} are:\n{lines}"
            self.head.hang = 1

    def claim_notice(self, since: float, now: float) -> bool:
        """Return whether the caller is to print the places of the PEs, because of a wait that began at ``since``.

        Only the first caller is.
        """
        fcntl.lockf(self.fd, fcntl.LOCK_EX)
        try:
            if self.head.noticed > since:
                return False
            self.head.noticed = now
            return True
        finally:
            fcntl.lockf(self.fd, fcntl.LOCK_UN)

    def notice(self, limit: float) -> str:
        """Return the line to print once a wait has lasted for ``limit`` seconds, with the place of each PE."""
        which = f" of {self.node}" if self.node else ""
        places = "; ".join(self.table(range(self.n_pes)))
        words = f"a wait has lasted for {limit:g} s (ISHMEM_WAIT_NOTICE) and goes on"
        return f"ishmem: {words}; the PEs{which} are: {places}"

    def _line(self, pe: int, place: str | None, now: float) -> str:
        record = self[pe]
        end = f" ({record.how()})" if record.ended or record.code else ""
        n_pes = kernel_wait.MANY if self.node else self.n_pes
        kernel, reason = kernel_wait.describe(bytes(record.kernel), n_pes), record.reason.decode(errors="replace")
        if kernel and "work-groups" not in reason:  # a wait of ishmem is for a work-group or a PE
            reason = ""
        still = now - record.beat if record.beat else 0.0
        in_turn = record.in_turn.decode(errors="replace") if kernel or still > 1 else ""
        details = "".join(f"; {text}" for text in (kernel, reason, in_turn) if text)
        if record.since and record.is_inside:
            return self.where(pe, now) + details + end
        if end or not record.is_inside:
            return _WORDS[record.state] + end
        held = f", for {still:.1f} s in a kernel or other compiled code" if still > 1 else ""
        return f"{place}{held}{details}" if place else "does not answer"

    def _request(self, pe: int) -> bool:
        """Remove the last traceback of a PE and request one; return whether the PE exists."""
        os.pwrite(self.fd, bytes(len(self._dump(pe))), self._trace(pe))
        return self._send(pe, TELL)

    def process(self, pe: int) -> int | None:
        """Return the PID of a PE's process; None unless it has this board open, since PIDs are reused."""
        record = self[pe]
        with contextlib.suppress(OSError):
            if os.readlink(f"/proc/{record.pid}/fd/{record.trace}") == os.readlink(f"/proc/self/fd/{self.fd}"):
                return processes.own_number(str(record.pid))
        return None

    def _send(self, pe: int, number: int) -> bool:
        """Send a signal to a PE; return whether it exists.

        The main thread is addressed: under load, a timer's signal is pending there, and one for the process goes to a
        thread of the OpenCL runtime, which runs no Python code.
        """
        pid = self.process(pe)
        return pid is not None and bool(ctypes.CDLL(None).tgkill(pid, pid, number) == 0)

    def _trace(self, pe: int) -> int:
        return _PAGE * (1 + self.n_pes) + _TRACE * pe

    def _dump(self, pe: int) -> bytes:
        return os.pread(self.fd, _TRACE, self._trace(pe)).rstrip(b"\0")


def _write_tracebacks(requests: int, trace: int, place: int) -> None:
    """Write the main thread's traceback to a ``place`` of a file for each byte from a pipe, until that is closed."""
    main = threading.main_thread().ident
    while os.read(requests, _PAGE):
        frame = sys._current_frames().get(main) if main else None
        os.pwrite(trace, (callsite.dump(frame) or "(no Python code)").encode(errors="replace")[:_TRACE], place)
    os.close(requests)
    os.close(trace)


def _is_board(path: str) -> bool:
    with contextlib.suppress(OSError):  # it was closed meanwhile
        return os.readlink(path).startswith("/memfd:ishmem-board-")
    return False


def of_launcher() -> StatusBoard | None:
    """Return the board of the ``ishmem run`` that this process descends from.

    None if there is none, if a PE lies between, or if ``/proc`` does not show the namespace of this process.
    """
    name = str(os.getppid()) if processes.numbers() == [os.getpid()] else ""
    while name not in ("", "0"):
        if board := StatusBoard.of_process(int(name)):
            return None if any(record.pid == int(name) for record in board) else board
        name = "".join(processes.stat(int(name))[1:2])
    return None


def main(arguments: list[str]) -> int:
    """Print the report for the command's ``arguments``, unless another PE has; return 0, or 1 without a board."""
    path, listed, reason = arguments
    numbers = [int(number) for number in listed.split(",")]
    with open(path, "r+b") as file:
        board = StatusBoard.find(path, len(numbers))
        if board is None:
            return 1
        board.numbers = numbers
        fcntl.lockf(file, fcntl.LOCK_EX)
        lines = _interrupted(board) if reason == "interrupted" else _hanging(board, float(reason))
    if lines:
        print("\n".join(lines), file=sys.stderr)
    return 0


def _interrupted(board: StatusBoard) -> list[str]:
    if time.monotonic() < board.head.shown + _ONCE:
        return []
    board.head.shown = time.monotonic()
    lines = [f"  {line}" for line in board.table(range(board.n_pes))]
    words = "ishmem: SIGINT, but a PE does not answer; it ends at the next SIGINT, or in 10 s. The PEs are:"
    return [words, *lines]


def _hanging(board: StatusBoard, limit: float) -> list[str]:
    if board.head.hang:
        return []
    board.announce(limit)
    return [f"ishmem: {board.head.text}"]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
