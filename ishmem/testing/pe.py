"""The program of a PE: a session of pytest that runs the tests that the controller names."""

from __future__ import annotations

import faulthandler
import os
import sys
from collections.abc import Generator
from multiprocessing.connection import Client, Connection
from pathlib import Path
from typing import Any

import pytest

import ishmem
from ishmem.runtime import job
from ishmem.testing.options import ON_PE
from ishmem.testing.pe_processes import ADDRESS, TELL, JobSpec

_OFF = {
    "dist": "no", "numprocesses": None, "maxprocesses": None, "looponfail": False, "usepdb": False, "trace": False,
    "maxfail": 0, "lf": False, "failedfirst": False, "newfirst": False, "stepwise": False, "reruns": 0,
}  # fmt: skip
"""Options that are the controller's business, with the values that they have on a PE."""


class Worker:
    """The plugin of a session on a PE."""

    def __init__(self, link: Connection, spec: JobSpec, pe: int) -> None:
        """Serve the controller at the other end of ``link``."""
        self._link, self._spec, self._pe = link, spec, pe
        self._uncollected: list[str] = []
        self._leftover: list[int] = []

    @pytest.hookimpl(wrapper=True)
    def pytest_cmdline_main(self, config: pytest.Config) -> Generator[None, Any, Any]:
        """Set the options of a session that runs on a PE, before any plugin reads them."""
        config.stash[ON_PE] = True
        for name, value in _OFF.items():
            if hasattr(config.option, name):
                setattr(config.option, name, value)
        if self._spec.basetemp:
            config.option.basetemp = f"{self._spec.basetemp}-{self._pe}"
        config.args = list(self._spec.files)
        # Plugins that write files leave that to the controller when they see this attribute of pytest-xdist.
        name = f"pe{self._pe}"
        config.workerinput = {"workerid": name, "workercount": self._spec.n}  # type: ignore[attr-defined]
        return (yield)

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        """Print nothing; the controller does."""
        config.pluginmanager.unregister(name="terminalreporter")

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Keep errors of the collection."""
        if report.failed:
            self._uncollected.append(str(report.longrepr))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Send a report to the controller."""
        self._link.send(self._config.hook.pytest_report_to_serializable(config=self._config, report=report))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run tests until the controller has no more."""
        self._config = session.config
        items = {item.nodeid: item for item in session.items}
        if self._spec.init:
            ishmem.init()
        self._link.send(None)
        while request := self._request():
            test, following = request
            self._link.send(self._run(session, items, test, items.get(following)))
        if self._spec.init:
            self._free_leftover()
            ishmem.finalize()
        return True

    def _request(self) -> Any:
        try:
            return self._link.recv()
        except EOFError:
            return None

    def _run(
        self, session: pytest.Session, items: dict[str, pytest.Item], test: str, following: pytest.Item | None
    ) -> str | None:
        """Run a test; return the reason if it cannot be run."""
        if test not in items:
            return "\n".join([f"did not collect {test}", *self._uncollected])
        item = items[test]
        session._setupstate.teardown_exact(item)  # when the test before expected another one to follow
        self._free_leftover()
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        return None

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Note the symmetric memory that the test itself allocates; that of fixtures is theirs to free."""
        before = _live()
        try:
            return (yield)
        finally:
            self._leftover = [offset for offset in _live() if offset not in before]

    def _free_leftover(self) -> None:
        """Free what the last test has left; it has passed on all PEs, or there would be no other test."""
        left, self._leftover = self._leftover, []
        if left:
            ishmem.barrier_all()
            live = job.current().heap.allocator.live
            for offset in left:
                if offset in live:
                    heap = job.current().heap
                    ishmem.free(heap.bytes_at(offset, live[offset].nbytes))


def _live() -> list[int]:
    return list(job.current().heap.allocator.live) if job.running() else []


def main() -> int:
    """Connect to the controller and run its tests."""
    pe, address = int(os.environ["ISHMEM_PE"]), Path(os.environ.pop(ADDRESS))
    with Client(str(address), "AF_UNIX") as link, address.with_name(f"place{pe}").open("w") as place:
        faulthandler.register(TELL, file=place, all_threads=False)
        link.send((pe, os.getpid()))
        spec: JobSpec = link.recv()
        worker = Worker(link, spec, pe)
        status = pytest.main(spec.arguments, plugins=[worker])
    return 0 if status in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED) else 1


if __name__ == "__main__":
    sys.exit(main())
