"""The PEs of tests: starts them by ishmrun, asks them to run a test, and ends them."""

from __future__ import annotations

import contextlib
import os
import pickle
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

ADDRESS = "ISHMEM_PYTEST"
"""Variable with the path of the socket at which the PEs of a job report."""
TELL = signal.SIGUSR2
"""Signal to a PE: write where it is to its file."""

_START = 120.0
_AFTER_FAILURE = 3.0
"""Seconds that PEs have to finish a test that has failed on another PE: they may be waiting for that PE."""
_END = 15.0


@dataclass(frozen=True)
class JobSpec:
    """What PEs are started with.

    Attributes:
        n: Number of PEs.
        init: Whether they call ``ishmem.init`` before the first test.
        device: Value of ``ISHMEM_DEVICE``.
        arguments: Arguments of the session of pytest.
        directory: Folder in which pytest was started.
        files: The test files that the PEs collect.
        basetemp: Prefix of the PEs' folders for temporary files.
        through: Whether the output of the PEs goes to the terminal.
    """

    n: int
    init: bool
    device: str
    arguments: list[str]
    directory: Path
    files: list[str]
    basetemp: str | None
    through: bool


@dataclass
class Answers:
    """What the PEs say about a test: the reports of each, and for a PE that did not finish the test, the reason."""

    n: int
    reports: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    problems: dict[int, str] = field(default_factory=dict)
    output: str = ""

    @property
    def good(self) -> bool:
        """Whether the PEs can run another test."""
        kinds = {tuple((each["when"], each["outcome"]) for each in found) for found in self.reports.values()}
        broken = any(is_bad(each) for found in self.reports.values() for each in found)
        return not self.problems and not broken and len(kinds) == 1


def is_bad(report: dict[str, Any]) -> bool:
    """Return whether a report tells of an exception, an expected one too."""
    return report["outcome"] == "failed" or (report["outcome"] == "skipped" and "wasxfail" in report)


class PeProcesses:
    """N PEs, each with a session of pytest that runs the tests named to it."""

    def __init__(self, spec: JobSpec) -> None:
        """Start the PEs; `run` waits until they are ready."""
        self._spec = spec
        self._folder = Path(tempfile.mkdtemp(prefix="ishmem-pytest-"))
        self._log = Path(self._folder, "output").open("w+b")  # noqa: SIM115
        self._links: dict[int, Connection] = {}
        self._pids: dict[int, int] = {}
        self._started = False
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(str(self._folder / "pes"))
        self._server.listen(spec.n)
        self._server.settimeout(0.1)
        output = None if spec.through else self._log
        command = [sys.executable, "-m", "ishmem.launch.run", "-n", str(spec.n), "-m", "ishmem.testing.pe"]
        self._process = subprocess.Popen(
            command, env=self._environment(), cwd=spec.directory, stdin=subprocess.DEVNULL,
            stdout=output, stderr=subprocess.STDOUT if output else None, start_new_session=True,
        )  # fmt: skip

    def _environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}
        return {**kept, "ISHMEM_DEVICE": self._spec.device, ADDRESS: str(self._folder / "pes")}

    def run(self, test: str, following: str | None, timeout: float) -> Answers:
        """Run a test on every PE.

        Args:
            test: Its node id.
            following: The node id of the test that these PEs probably run next.
            timeout: Seconds that it may take.
        """
        answers = Answers(self._spec.n)
        if not self._started:
            self._start(answers)
        if not answers.problems:
            mark = self._log.seek(0, os.SEEK_END)
            for link in self._links.values():
                with contextlib.suppress(OSError):  # it has died, which `_collect` finds
                    link.send((test, following))
            self._collect(answers, timeout)
            if answers.problems:
                self._add_output(answers, mark)
        return answers

    def finish(self) -> str:
        """Let the PEs end; return what went wrong, if anything."""
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
        """End the PEs whatever they do."""
        for link in self._links.values():
            link.close()
        self._links.clear()
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(_END)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._server.close()
        self._log.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _start(self, answers: Answers) -> None:
        """Wait until every PE has collected its tests and initialised ishmem."""
        deadline = time.monotonic() + _START
        while len(self._links) < self._spec.n and not answers.problems:
            try:
                link = Connection(self._server.accept()[0].detach())
                pe, self._pids[pe] = link.recv()
                self._links[pe] = link
                link.send(self._spec)
            except (socket.timeout, EOFError, OSError):
                if self._process.poll() is not None or time.monotonic() > deadline:
                    answers.problems[0] = "the PEs did not start"
        self._started = True
        if not answers.problems:
            self._collect(answers, _START)
        if answers.problems:
            self._add_output(answers, 0)
        answers.reports.clear()

    def _collect(self, answers: Answers, timeout: float) -> None:
        """Receive the reports of every PE until each says that it is done."""
        late, deadline = dict(self._links), time.monotonic() + timeout
        failed = False
        while late:
            ready = wait(list(late.values()), max(deadline - time.monotonic(), 0))
            for pe in [pe for pe, link in late.items() if link in ready]:
                said = _receive(late[pe])
                if isinstance(said, dict):
                    answers.reports.setdefault(pe, []).append(said)
                else:
                    del late[pe]
                    if said:
                        answers.problems[pe] = said
                if not failed and (said if isinstance(said, str) else said and is_bad(said)):
                    failed, deadline = True, min(deadline, time.monotonic() + _AFTER_FAILURE)
            if not ready:
                answers.problems.update(self._hanging(late, timeout, failed))
                return

    def _hanging(self, late: dict[int, Connection], timeout: float, failed: bool) -> dict[int, str]:
        """Return where the PEs are that have not finished."""
        limit = f"{_AFTER_FAILURE:.0f} s after the failure" if failed else f"after {timeout:g} s"
        for pe in late:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pids[pe], TELL)
        time.sleep(0.3)  # no answer tells that a PE has written where it is, as one without answer is what it may be
        return {pe: f"has not finished {limit}; it was here:\n{self._place(pe)}" for pe in late}

    def _place(self, pe: int) -> str:
        with contextlib.suppress(OSError):
            lines = Path(self._folder, f"place{pe}").read_text(errors="replace").splitlines()
            end = next((k for k, line in enumerate(lines) if "/_pytest/" in line), len(lines))
            return "\n".join(lines[1:end])
        return "  (unknown)"

    def _add_output(self, answers: Answers, mark: int) -> None:
        """Add what the job has printed, with ishmrun's line about a PE that has died."""
        if any(text == DIED for text in answers.problems.values()):
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_END)
        answers.output = self._output(mark)

    def _output(self, mark: int) -> str:
        self._log.seek(mark)
        return self._log.read().decode(errors="replace")


DIED = "died"


def _receive(link: Connection) -> Any:
    """Return a report, the text of a problem, or None when the PE is done."""
    try:
        return link.recv()
    except (EOFError, OSError, pickle.UnpicklingError):
        return DIED
