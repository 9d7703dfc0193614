"""The program of a PE of marked tests: a session of pytest that runs the tests that the controller names."""

from __future__ import annotations

import contextlib
import itertools
import os
import sys
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import IO, Any

import pytest
from _pytest import capture

import ishmem
from ishmem import _core, memory
from ishmem.runtime import job
from ishmem.testing.function_calls import call
from ishmem.testing.link import Link, connected
from ishmem.testing.messages import ADDRESS, FunctionCall, RequestFailure, RunTest
from ishmem.testing.options import ON_PE
from ishmem.testing.session_setup import PytestSession

_OFF = {
    "dist": "no", "numprocesses": None, "maxprocesses": None, "looponfail": False, "usepdb": False, "trace": False,
    "maxfail": 0, "lf": False, "failedfirst": False, "newfirst": False, "stepwise": False, "reruns": 0,
}  # fmt: skip
"""Options that only the controller applies, with their values on a PE."""

_PRELOADED = ("-W", "ignore:Module already imported so cannot be rewritten:pytest.PytestAssertRewriteWarning")
"""PEs are forks of a process that may have imported hypothesis before pytest (`ishmem.testing.fork_server`)."""


class SessionPe:
    """The plugin of a session on a PE."""

    def __init__(self, link: Link) -> None:
        """Create the plugin; ``link`` is the connection to the controller."""
        self._link = link
        self._setup: PytestSession = link.setup
        self._items: dict[str, pytest.Item] = {}
        self._collected: set[str] = set()
        self._uncollected: list[str] = []
        self._leftover: list[int] = []

    @pytest.hookimpl(wrapper=True)
    def pytest_cmdline_main(self, config: pytest.Config) -> Generator[None, Any, Any]:
        """Set the options of a session that runs on a PE, before any plugin reads them."""
        config.stash[ON_PE] = True
        for name, value in _OFF.items():
            if hasattr(config.option, name):
                setattr(config.option, name, value)
        if self._setup.basetemp:
            config.option.basetemp = f"{self._setup.basetemp}-{self._link.pe}"
        config.args = []  # a file is collected when its first test is to run
        # Plugins that write files leave that to the controller when they see this attribute of pytest-xdist.
        name = f"pe{self._link.pe}"
        config.workerinput = {"workerid": name, "workercount": self._setup.n}  # type: ignore[attr-defined]
        return (yield)

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        """Disable output to the terminal; the controller prints the results."""
        config.pluginmanager.unregister(name="terminalreporter")

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Store errors of the collection."""
        if report.failed:
            self._uncollected.append(str(report.longrepr))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Send a report to the controller."""
        hook = self._session.config.hook
        data = hook.pytest_report_to_serializable(config=self._session.config, report=report)
        self._link.report(data, report.failed or (report.skipped and hasattr(report, "wasxfail")))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Serve requests, mostly to run tests, until the controller has no more."""
        self._session = session
        sys.path += [folder for folder in self._setup.path if folder not in sys.path]
        if self._setup.init:
            ishmem.init()
        self._link.ready()
        self._link.serve(self._answer)
        if self._setup.init:
            ishmem.finalize()
        return True

    def _answer(self, request: Any) -> Any:
        if isinstance(request, RunTest):
            return self._run(request)
        if isinstance(request, FunctionCall):
            with self._noting_memory():
                return call(request)
        return self._free_leftover()

    def _run(self, request: RunTest) -> None:
        """Run a test, then tear down the fixtures that the following test does not need."""
        item = self._item(request.test, request.file)
        following = self._item(*request.following) if request.following else None
        if item is None:
            raise RequestFailure("\n".join([f"did not collect {request.test}", *self._uncollected]))
        self._session._setupstate.teardown_exact(item)  # when the test before expected another one to follow
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)

    def _item(self, test: str, file: str) -> pytest.Item | None:
        """Return a test, None if there is no such one; collect its file at the first request for it."""
        if file not in self._collected:
            self._collected.add(file)
            self._items.update({item.nodeid: item for item in self._session.perform_collect([file])})
        return self._items.get(test)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Generator[None, Any, Any]:
        """Record the symmetric memory that the test itself allocates; fixtures free their own."""
        with self._noting_memory():
            return (yield)

    @contextlib.contextmanager
    def _noting_memory(self) -> Iterator[None]:
        before = _live()
        try:
            yield
        finally:
            self._leftover = [offset for offset in _live() if offset not in before]

    def _free_leftover(self) -> bool:
        """Free the memory left by the last test, which has passed; return whether this PE has lost its device."""
        left, self._leftover = self._leftover, []
        if _core.device_status():  # as a test may expect
            return True
        if left:
            ishmem.barrier_all()
            live = job.current().heap.allocator.live
            memory.free_allocations([live[offset] for offset in left if offset in live])
        return False


def _live() -> list[int]:
    return list(job.current().heap.allocator.live) if job.running() else []


def _capture_to(folder: Path, pe: int) -> None:
    """Make pytest capture output in files in ``folder``, which the controller reads when PE ``pe`` has died."""
    streams = itertools.count(1)

    def named(buffering: int) -> IO[bytes]:
        stream = next(streams)
        if stream > 2:  # of a fixture
            return tempfile.TemporaryFile(buffering=buffering)
        return (folder / f"captured{pe}.{stream}").open("w+b", buffering=buffering)

    capture.TemporaryFile = named  # type: ignore[assignment, attr-defined, unused-ignore]


def main() -> int:
    """Connect to the controller, run its tests, and return the exit status of this process."""
    folder = Path(os.environ[ADDRESS]).parent
    with connected() as link:
        _capture_to(folder, link.pe)
        status = pytest.main([*link.setup.arguments, *_PRELOADED], plugins=[SessionPe(link)])
    return 0 if status in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED) else 1


if __name__ == "__main__":
    sys.exit(main())
