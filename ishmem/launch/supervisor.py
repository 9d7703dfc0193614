"""The supervisor of a job: starts the PEs, monitors them, and ends those that remain after a failure.

It is a process between the launcher and the PEs. The kernel signals it when the launcher dies, makes it the parent of
the PEs' orphans (it is a subreaper), and kills the PEs when the supervisor dies.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import subprocess
import threading
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Callable, NoReturn

from ishmem.common import processes
from ishmem.common.errors import IshmemError
from ishmem.common.job_end import FAILED_PROGRAM, Cause, JobEnd, State
from ishmem.common.limits import advice, doing
from ishmem.common.processes import adopt_orphans, end_children, exit_status
from ishmem.common.status_board import PeState, StatusBoard
from ishmem.ipc.hub import Hub
from ishmem.launch import preload

FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
STOP = signal.SIGUSR1
"""Signal to the supervisor: the reader of the output has closed it, or ishmem run has ended."""

_SIGNALS = frozenset((signal.SIGCHLD, STOP, *FORWARDED))
_PF_EXITING = 0x4
_LOOK = 0.5  # seconds between two checks of the status board

_BY_ADDRESS = (signal.SIGSEGV, signal.SIGBUS)
_CHECK = "  if a kernel has used a wrong address: ISHMEM_CHECK=1 names the call"


@dataclass(frozen=True)
class JobSpec:
    """The job that the supervisor runs.

    Attributes:
        command: The program and its arguments.
        environments: The environment of each PE.
        outputs: Descriptors for stdout and stderr of each PE; empty for those of ishmem run.
        report: Descriptor to which the supervisor writes events, one line each.
        board: The status board of the PEs.
        timeout: Seconds after which the job is ended; None: never.
        hang_timeout: Seconds after which a PE in a kernel counts as hanging; None: never.
        notice: Seconds in a kernel after which the state of the PEs is printed; 0: never.
        stdin: The PE that reads the standard input of ishmem run; the others read nothing.
        preload: Whether the PEs are forks of the supervisor, which then imports the SYCL stack first.
    """

    command: list[str]
    environments: list[dict[str, str]]
    outputs: list[tuple[int, int]]
    report: int
    board: StatusBoard
    timeout: float | None = None
    hang_timeout: float | None = None
    notice: float = 0.0
    stdin: int = 0
    preload: bool = False


def start(job: JobSpec) -> int:
    """Fork the supervisor and return its process number.

    If the supervisor is killed, this process becomes the parent of the job's orphans, which `wait` ends.
    """
    adopt_orphans()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    parent = os.getpid()
    with doing("start the supervisor of the job"):
        pid = os.fork()
    if pid == 0:
        _serve(job, parent, before)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return pid


@contextlib.contextmanager
def forwarding(forward: Callable[[int], None]) -> Iterator[None]:
    """Return a context manager that calls ``forward`` in a thread for each signal in `FORWARDED` that is not ignored.

    A signal handler of Python runs in the main thread, so it is late if that thread has just begun to wait.
    """
    wanted = [number for number in FORWARDED if signal.getsignal(number) != signal.SIG_IGN]
    ended = threading.Event()

    def serve() -> None:
        while (number := signal.sigwait(wanted)) and not ended.is_set():
            forward(number)

    before = signal.pthread_sigmask(signal.SIG_BLOCK, wanted)
    thread = threading.Thread(target=serve if wanted else ended.wait, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        if wanted and thread.ident:
            signal.pthread_kill(thread.ident, wanted[0])
        thread.join()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def wait(pid: int) -> int:
    """Wait for supervisor ``pid`` to end and return the exit status of the job; end its children if it was killed."""
    _, result = os.waitpid(pid, 0)
    status = os.waitstatus_to_exitcode(result)
    if status < 0:
        end_children()
    return exit_status(status)


def _serve(job: JobSpec, parent: int, mask: set[int | signal.Signals]) -> NoReturn:
    status = 1
    try:
        # Its own process group: signals of the terminal arrive through ishmem run only, once each.
        os.setpgid(0, 0)
        adopt_orphans()
        processes.signal_at_end_of_parent(STOP)
        supervisor = _Supervisor(job, mask)
        if os.getppid() == parent:
            status = supervisor.run()
    except preload.Program:
        raise  # in a forked PE
    except BaseException:
        traceback.print_exc()
    end_children()
    os._exit(status)


class _Supervisor(JobEnd):
    def __init__(self, job: JobSpec, mask: set[int | signal.Signals]) -> None:
        super().__init__(job.timeout)
        self._job = job
        self._mask = mask
        self._pid = os.getpid()
        self._running: dict[int, tuple[int, subprocess.Popen[bytes] | preload.Forked]] = {}
        self._cause: int | None = None
        self._hub: Hub | None = None
        self._look_at = time.monotonic()

    def run(self) -> int:
        """Start the PEs, monitor them until all have ended, and return the exit status of the job."""
        try:
            if self._job.preload:
                preload.load()
            for pe in range(len(self._job.environments)):
                self._start(pe)
        except (ImportError, IshmemError) as error:
            self.report(f"--preload: {error}")
            self.end(Cause.NOT_STARTED)
        except OSError as error:
            self.report(f"cannot start {self._job.command[0]}: {error.strerror}{advice(error)}")
            self.end(Cause.NOT_STARTED)
        for end in itertools.chain(*self._job.outputs):
            os.close(end)
        self._start_hub()
        while self._running:
            self._step()
        return self.result()

    def _start_hub(self) -> None:
        """Start the hub of the PEs; called after they are forked, since a fork does not copy its thread."""
        board = self._job.board
        if board.n_pes == 1 or self.status is not None:
            return
        try:
            name = self._job.environments[0]["ISHMEM_JOB"]
            self._hub = hub = Hub(name, board.n_pes)
            hub.on_lost = lambda: setattr(board.head, "losses", len(hub.lost))
        except (RuntimeError, OSError) as error:  # the first also where a thread cannot start
            self.report(f"cannot start the hub of the PEs: {error}{advice(error)}")
            self.end(Cause.NOT_STARTED)

    def _start(self, pe: int) -> None:
        job, (out, err) = self._job, self._job.outputs[pe] if self._job.outputs else (1, 2)
        process: subprocess.Popen[bytes] | preload.Forked
        if preload.can_run(job.command):
            source = 0 if pe == job.stdin else os.open(os.devnull, os.O_RDONLY)
            process = preload.fork(job.command, job.environments[pe], (source, out, err), self._become_pe)
            if source:
                os.close(source)
        else:
            process = subprocess.Popen(
                job.command,
                env=job.environments[pe],
                stdin=None if pe == job.stdin else subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
                preexec_fn=self._become_pe,
            )
        self._running[process.pid] = (pe, process)

    def _become_pe(self) -> None:
        """Prepare the child before exec; this is safe, since the supervisor has only one thread."""
        processes.die_with(self._pid)()
        signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)

    def _step(self) -> None:
        patience = min(self.due_at or self._look_at, self._look_at) - time.monotonic()
        got = signal.sigtimedwait(_SIGNALS, max(patience, 0.0))
        if got is None or not got.si_signo:  # 0: seen when a profiler samples this process
            now = time.monotonic()
            self.act(now)
            if now >= self._look_at:
                self._look_for_failures()
                self._look_for_kernels(now)
        elif got.si_signo == signal.SIGCHLD:
            self._reap()
        elif got.si_signo == STOP:
            self.end(Cause.UNREAD)
        else:
            self.forward(got.si_signo)

    def _look_for_failures(self) -> None:
        """Begin to end the job once a program has failed, though its threads or exit handlers may still run."""
        times = [self._job.board[pe].gave_up for pe, _ in self._running.values() if self._job.board[pe].gave_up]
        if self.goes_on:
            self._kill_failed(time.monotonic() - FAILED_PROGRAM)
        elif times and self.state is State.RUNNING:
            self.end(Cause.RAISED, since=min(times))

    def _kill_failed(self, before: float) -> None:
        """Kill the PEs whose programs have failed before a time of ``time.monotonic``, in a job that continues."""
        for pid, (pe, _) in self._running.items():
            if 0 < self._job.board[pe].gave_up < before:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(pid, signal.SIGKILL)

    def _look_for_kernels(self, now: float) -> None:
        """Print the PEs' state if one has been in a kernel for ``notice`` seconds; end the job after the limit."""
        limit, notice, board = self._job.hang_timeout or 0.0, self._job.notice, self._job.board
        self._look_at = now + min([_LOOK, *(each / 4 for each in (limit, notice) if each)])
        beats = [board[pe].beat for pe, _ in self._running.values() if board[pe].beat]
        oldest = min(beats, default=now)
        if self.status is not None or board.head.hang:
            return
        if limit and oldest < now - limit:
            board.announce(limit)
            self.report(*board.head.text.splitlines())
            self.end(Cause.HANG)
        elif notice and oldest < now - notice and board.claim_notice(oldest, now):
            self.report(board.notice(notice).removeprefix("ishmem: "))

    def _reap(self) -> None:
        """Collect children that have ended, orphans of the PEs included, and handle the ends of PEs."""
        ended = list(self._collect())
        if any(code for _pe, code in ended):
            # A PE that was killed may take longer to exit than PEs that fail because of it.
            dying = [pid for pid in self._running if _is_dying(pid)]
            ended += [self._remove(pid, os.waitpid(pid, 0)[1]) for pid in dying]
        board = self._job.board
        for pe, code in sorted(ended, key=lambda one: board[one[0]].exiting):
            self._ended(pe, code)

    def _collect(self) -> Iterator[tuple[int, int]]:
        """Yield the number of each PE that has ended, with its exit status or minus its signal."""
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, result = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return
                if pid in self._running:
                    yield self._remove(pid, result)

    def _remove(self, pid: int, result: int) -> tuple[int, int]:
        pe, process = self._running.pop(pid)
        process.returncode = os.waitstatus_to_exitcode(result)
        return pe, process.returncode

    def _ended(self, pe: int, code: int) -> None:
        board, first = self._job.board, self.status is None
        if -code in self.sent and board[pe].gave_up:
            code = board[pe].status
        cause = self._find_cause(pe)  # before the other PEs fail too
        deserted = bool(board[pe].is_inside and not board.head.closing)
        board[pe].code = code
        is_silent = self.sent or self.goes_on or board.head.hang or board.head.closing
        places = self.places() if first and (code or deserted) and not is_silent else []
        board[pe].ended = 1
        if self._hub:
            self._hub.ended(pe, board.how(pe))
        if line := self.pe_ended(str(pe), code, deserted, bool(self._running), self._use_ishmem()):
            is_address = first and deserted and -code in _BY_ADDRESS and not self.goes_on
            is_unchecked = is_address and "ISHMEM_CHECK" not in self._job.environments[pe]
            self.report(line, *([_CHECK] if is_unchecked else ()), *places)
        if first and self.status and code >= 0:  # a signal needs no other cause
            self._cause = cause
        elif pe == self._cause and code > 0:
            self.status = code

    def _find_cause(self, failed: int) -> int | None:
        """Return the PE whose program ended first, if before PE ``failed``, as it may be the cause; None for none."""
        board = self._job.board
        ended = [(board[pe].exiting, pe) for pe, _ in self._running.values() if board[pe].exiting]
        first, pe = min(ended, default=(0.0, None))
        return pe if not board[failed].exiting or first < board[failed].exiting else None

    def _use_ishmem(self) -> bool:
        return any(self._job.board[pe].state != PeState.ABSENT for pe, _ in self._running.values())

    def places(self) -> list[str]:
        """Return a line with the state of each PE; empty if no PE is between init and finalize."""
        board = self._job.board
        if not any(record.is_inside for record in board):
            return []
        return [f"  {line}" for line in board.table(range(board.n_pes))]

    def may_go_on(self) -> bool:
        """Return whether the job may continue after a loss, as the PEs have set on the status board."""
        return bool(self._job.board.head.goes_on)

    def names(self) -> str:
        """Return a text with the numbers of the running PEs."""
        return ", ".join(str(pe) for pe, _ in self._running.values())

    def send(self, number: int) -> None:
        """Send a signal to the process groups of all running PEs."""
        for pid in self._running:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, number)

    def report(self, *lines: str) -> None:
        """Send lines to ishmem run, which prints them."""
        with contextlib.suppress(OSError):
            os.write(self._job.report, b"".join(line.encode(errors="replace") + b"\n" for line in lines))


def _is_dying(pid: int) -> bool:
    """Return whether a process is exiting."""
    fields = processes.stat(pid)
    return bool(fields) and bool(int(fields[6]) & _PF_EXITING)
