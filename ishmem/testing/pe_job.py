"""A job of PEs that serve requests: starts the PEs, sends requests, collects answers, and ends the PEs."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import pickle
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from ishmem.common.status_board import StatusBoard
from ishmem.testing import fork_server, nodes
from ishmem.testing.link import TELL
from ishmem.testing.messages import ADDRESS, FREE, Reply

_START = 120.0
_AFTER_FAILURE = 3.0
"""Seconds in which PEs must finish a request that has failed on another PE: they may be waiting for that PE."""
_END = 15.0
_DIED = "died"
_ENDS = re.compile(r"^ishmem run: PE (\d+) (?:was ended by|exited)", re.MULTILINE)


@dataclass(frozen=True)
class PeJobSpec:
    """The parameters with which PEs are started.

    Attributes:
        n: Number of PEs.
        program: The module that each PE runs.
        setup: The object that is sent to each PE first.
        environment: Their environment.
        nodes: Number of PEs on each of several emulated nodes; None: all are on this node.
        directory: The folder in which they start; by default that of this process.
        through: Whether their output goes to the terminal.
    """

    n: int
    program: str
    setup: Any
    environment: dict[str, str]
    nodes: Sequence[int] | None = None
    directory: Path | None = None
    through: bool = False


@dataclass
class Answers:
    """The answers of the PEs to a request.

    Attributes:
        n: Number of PEs.
        reports: The reports of each PE.
        results: The result of each PE that has succeeded.
        problems: The reason for each PE that has failed or has not finished.
        failed: Whether a reply of a PE reports a failure.
        output: The output of the job if there are problems, else empty.
    """

    n: int
    reports: dict[int, list[Any]] = field(default_factory=dict)
    results: dict[int, Any] = field(default_factory=dict)
    problems: dict[int, str] = field(default_factory=dict)
    failed: bool = False
    output: str = ""

    def add(self, pe: int, reply: Reply) -> None:
        """Add a reply of a PE: to its reports, or if it is the last one to the results or the problems."""
        self.failed = self.failed or reply.failed
        if not reply.last:
            self.reports.setdefault(pe, []).append(reply.value)
        elif reply.failed:
            self.problems[pe] = reply.value
        else:
            self.results[pe] = reply.value

    def has_died(self, pe: int) -> bool:
        """Return whether the problem of a PE is that its process has ended."""
        return self.problems.get(pe, "").partition("\n")[0] == _DIED

    def after(self, before: Answers) -> Answers:
        """Return these answers, to a request to free memory, with the reports of those to the request before it."""
        return dataclasses.replace(self, reports=before.reports)


class PeJob:
    """N PEs that serve requests."""

    def __init__(self, spec: PeJobSpec) -> None:
        """Start the PEs; `ask` waits until they are ready."""
        self._spec = spec
        self._folder = Path(tempfile.mkdtemp(prefix="ishmem-pes-"))
        self._log = Path(self._folder, "output").open("w+b")  # noqa: SIM115
        self._links: dict[int, Connection] = {}
        self._pids: dict[int, int] = {}
        self._processes: dict[int, int] = {}  # descriptors
        self._started = False
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(str(self._folder / "pes"))
        self._server.listen(spec.n)
        self._server.settimeout(0.1)
        self._process = self._launch()

    def _launch(self) -> fork_server.Process:
        spec = self._spec
        environment = {**spec.environment, ADDRESS: str(self._folder / "pes")}
        output = None if spec.through else self._log.fileno()
        if spec.nodes is None or len(spec.nodes) == 1:
            command = [*fork_server.ISHMRUN, "-n", str(spec.n), "-m", spec.program]
        else:
            program = [sys.executable, "-u", "-m", spec.program]
            command = nodes.launcher(spec.nodes, program, preloaded=True, prefix=True)
        return fork_server.start(command, environment, output, folder=spec.directory)

    def ask(self, request: Any, timeout: float) -> Answers:
        """Send a request to every PE and collect the answers; blocks.

        Args:
            request: The request, which is pickled.
            timeout: Limit in seconds, from when the PEs are ready; once a PE has failed, the others have 3 s.
        """
        answers = Answers(self._spec.n)
        mark = self._log.seek(0, os.SEEK_END)
        if not self._started:
            self._start(answers)
        if not answers.problems:
            for link in self._links.values():
                with contextlib.suppress(OSError):  # it has died, which `_collect` finds
                    link.send(request)
            self._collect(answers, timeout)
        if answers.problems:
            self._add_output(answers, mark)
            answers.problems = {pe: words + self._printed(pe) for pe, words in self._by_cause(answers).items()}
        return answers

    def _by_cause(self, answers: Answers) -> dict[int, str]:
        """Return the problems by PE, with those of dead PEs, the cause, first, in the order in which the PEs died."""
        dead = [pe for pe, words in answers.problems.items() if words == _DIED]
        in_order = [int(number) for number in _ENDS.findall(answers.output)]
        first = sorted(dead, key=lambda pe: (in_order.index(pe) if pe in in_order else len(in_order), pe))
        return {pe: answers.problems[pe] for pe in [*first, *sorted(answers.problems)]}

    def free(self, timeout: float) -> Answers:
        """Free the symmetric memory left by the last request, which must have succeeded on all PEs; as `ask`."""
        return self.ask(FREE, timeout)

    def finish(self) -> str:
        """Send the PEs the end of requests and wait up to 15 s for them; return why that failed, "" if it did not."""
        for link in self._links.values():
            with contextlib.suppress(OSError):
                link.send(None)
        try:
            status = self._process.wait(_END)
        except subprocess.TimeoutExpired:
            self.kill()
            return f"its PEs did not end within {_END:.0f} s"
        words = self._output(0) if status else ""
        self.kill()
        return f"ended with status {status}\n{words}" if status else ""

    def kill(self) -> None:
        """End the PEs, running or not, and remove the job's folder."""
        for link in self._links.values():
            link.close()
        self._links.clear()
        while self._processes:
            os.close(self._processes.popitem()[1])
        fork_server.end(self._process, _END)
        self._server.close()
        self._log.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _start(self, answers: Answers) -> None:
        """Wait until every PE is ready for requests; add to ``answers`` if that fails."""
        deadline = time.monotonic() + _START
        while len(self._links) < self._spec.n and not answers.problems:
            try:
                self._accept()
            except (EOFError, OSError):
                if self._process.poll() is not None or time.monotonic() > deadline:
                    answers.problems[0] = "the PEs did not start"
        self._started = True
        if not answers.problems:
            self._collect(answers, _START)
        answers.results.clear()

    def _accept(self) -> None:
        """Accept the connection of a PE, if one comes within 0.1 s, and send the setup."""
        accepted, _address = self._server.accept()
        pid, _user, _group = struct.unpack("3i", accepted.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        link = Connection(accepted.detach())
        pe = link.recv()
        self._links[pe], self._pids[pe] = link, pid  # as this process sees it: emulated nodes have numbers of their own
        if pid:  # it is in a namespace that this process sees
            self._processes[pe] = os.pidfd_open(pid)
        link.send(self._spec.setup)

    def _collect(self, answers: Answers, timeout: float) -> None:
        """Receive the replies of every PE up to its last one, or until the timeout."""
        late, deadline = dict(self._links), time.monotonic() + timeout
        while late:
            ready = wait(list(late.values()), max(deadline - time.monotonic(), 0))
            if not ready:
                answers.problems.update(self._hanging(late, timeout, answers.failed))
                return
            failed = answers.failed
            for pe in [pe for pe, link in late.items() if link in ready]:
                reply = _receive(late[pe])
                answers.add(pe, reply)
                if reply.last:
                    del late[pe]
            if answers.failed and not failed:
                deadline = min(deadline, time.monotonic() + _AFTER_FAILURE)

    def _hanging(self, late: dict[int, Connection], timeout: float, failed: bool) -> dict[int, str]:
        """Return for each PE in ``late``, which has not finished after ``timeout`` seconds, a text with where it is."""
        limit = f"{_AFTER_FAILURE:.0f} s after the failure" if failed else f"after {timeout:g} s"
        waits = self._waits(late)
        for pe in late:
            with contextlib.suppress(OSError, KeyError):  # no entry: the process is of another namespace
                signal.pidfd_send_signal(self._processes[pe], TELL)
        time.sleep(0.3)  # for the PEs to write their stacks: PEs that hang do not confirm it
        return {pe: f"has not finished {limit}; it was here:\n{self._place(pe)}{waits.get(pe, '')}" for pe in late}

    def _waits(self, late: dict[int, Connection]) -> dict[int, str]:
        """Return the descriptions of waits of PEs, and of their kernels, by ``ishmem run``; empty on several nodes."""
        if self._spec.nodes is not None and len(self._spec.nodes) > 1:
            return {}
        boards = (StatusBoard.of_process(pid) for pe, pid in self._pids.items() if pe in late)
        board = next((board for board in boards if board and board.n_pes == self._spec.n), None)
        return {pe: f"\n{line}" for pe, line in zip(late, board.table(late))} if board else {}

    def _printed(self, pe: int) -> str:
        """Return what a PE printed to stdout and stderr in this phase, as lines for an error text; "" if nothing."""
        found = []
        for stream in (1, 2):
            with contextlib.suppress(OSError):
                text = Path(self._folder, f"captured{pe}.{stream}").read_text(errors="replace")
                found += [f"--- it had printed:\n{text.rstrip()}"] if text.strip() else []
        return "".join(f"\n{each}" for each in found)

    def _place(self, pe: int) -> str:
        with contextlib.suppress(OSError):
            lines = Path(self._folder, f"place{pe}").read_text(errors="replace").splitlines()
            ours = ("/_pytest/", "/ishmem/testing/")
            end = next((k for k, line in enumerate(lines) if any(part in line for part in ours)), len(lines))
            return "\n".join(lines[1:end])
        return "  (unknown)"

    def _add_output(self, answers: Answers, mark: int) -> None:
        """Add the output of the job since ``mark``, with the line of ``ishmem run`` about a PE that has died."""
        if any(map(answers.has_died, answers.problems)):
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_END)
        answers.output = self._output(mark)

    def _output(self, mark: int) -> str:
        self._log.seek(mark)
        return self._log.read().decode(errors="replace")


def _receive(link: Connection) -> Reply:
    try:
        reply: Reply = link.recv()
    except (EOFError, OSError, pickle.UnpicklingError):
        return Reply(True, True, _DIED)
    return reply
