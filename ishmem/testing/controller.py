"""In the process of pytest: hands the marked tests to jobs of PEs, and reports what the PEs say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ishmem.testing import options, reports
from ishmem.testing.pe_processes import JobSpec, PeProcesses


class Controller:
    """The jobs of a session: one for each number of PEs, which its tests share as long as they pass."""

    def __init__(self, session: pytest.Session) -> None:
        """Find the marked tests; no PE starts before the first of them runs."""
        self._config = session.config
        self._jobs: dict[int, PeProcesses] = {}
        self._made = 0
        self._shared: dict[int, list[pytest.Item]] = {}
        for item in session.items:
            mark = item.get_closest_marker("ishmem")
            if mark and mark.kwargs.get("init", True):
                self._shared.setdefault(_npes(item, mark), []).append(item)

    def run(self, item: pytest.Item, nextitem: pytest.Item | None) -> None:
        """Run a test and report it."""
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for report in self._reports(item, nextitem):
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)

    def stop(self) -> None:
        """End the PEs, and warn about a job that does not end well."""
        for n, job in self._jobs.items():
            if words := job.finish():
                self._config.issue_config_time_warning(pytest.PytestWarning(f"the job of {n} PEs: {words}"), 2)
        self._jobs.clear()

    def _reports(self, item: pytest.Item, nextitem: pytest.Item | None) -> list[pytest.TestReport]:
        """Run a test; whatever interrupts that, such as the alarm of pytest-timeout, fails the test."""
        found: list[pytest.TestReport] = []
        call = pytest.CallInfo.from_call(
            lambda: found.extend(self._ask(item, nextitem)), "call", reraise=(pytest.exit.Exception, KeyboardInterrupt)
        )
        if call.excinfo:
            self._drop(item)
            return reports.complete(item, {"call": pytest.TestReport.from_item_and_call(item, call)})
        return found

    def _ask(self, item: pytest.Item, nextitem: pytest.Item | None) -> list[pytest.TestReport]:
        mark = item.get_closest_marker("ishmem")
        assert mark
        n, own = _npes(item, mark), not mark.kwargs.get("init", True)
        job = self._start(n, [item], False) if own else self._jobs.get(n) or self._start(n, self._shared[n], True)
        if not own:
            self._jobs[n] = job
        limit = float(mark.kwargs.get("timeout") or options.timeout_of(self._config))
        answers = job.run(item.nodeid, None if own else self._after(item, nextitem, n), limit)
        if not answers.good:
            self._jobs.pop(n, None)
            job.kill()
        elif own:
            job.finish()
        return reports.merge(item, answers)

    def _drop(self, item: pytest.Item) -> None:
        mark = item.get_closest_marker("ishmem")
        if mark and (job := self._jobs.pop(_npes(item, mark), None)):
            job.kill()

    def _start(self, n: int, items: list[pytest.Item], init: bool) -> PeProcesses:
        self._made += 1
        factory: Any = getattr(self._config, "_tmp_path_factory", None)
        spec = JobSpec(
            n=n,
            init=init,
            device=options.device_of(self._config),
            arguments=[str(argument) for argument in self._config.invocation_params.args],
            directory=self._config.invocation_params.dir,
            files=list(dict.fromkeys(str(item.path) for item in items)),
            basetemp=str(Path(factory.getbasetemp(), f"ishmem-{self._made}")) if factory else None,
            through=self._config.getoption("capture") == "no",
        )
        return PeProcesses(spec)

    def _after(self, item: pytest.Item, nextitem: pytest.Item | None, n: int) -> str | None:
        """Return the test that these PEs will probably run next: fixtures that it shares stay set up."""
        mine = self._shared[n]
        if nextitem in mine:
            return nextitem.nodeid
        rest = mine[mine.index(item) + 1 :]
        return rest[0].nodeid if rest else None


def _npes(item: pytest.Item, mark: pytest.Mark) -> int:
    """Return the number of PEs of a test."""
    callspec = getattr(item, "callspec", None)
    if callspec is not None and "ishmem_npes" in callspec.params:
        return int(callspec.params["ishmem_npes"])
    numbers = options.npes_of(mark)  # methods of unittest.TestCase have no parameters
    if len(numbers) > 1:
        pytest.fail(f"{item.nodeid}: npes={numbers}; this kind of test takes one number of PEs", pytrace=False)
    return numbers[0]
