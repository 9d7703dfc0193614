"""The part of the plugin in the process of pytest: sends marked tests to jobs of PEs, and reports the results."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from _pytest.skipping import evaluate_skip_marks

from ishmem.testing import options, reports
from ishmem.testing.messages import RunTest
from ishmem.testing.pe_job import Answers, PeJob, PeJobSpec
from ishmem.testing.pes import Pes
from ishmem.testing.session_setup import PytestSession


class _Key(NamedTuple):
    """The key of a job that tests share: the number of PEs and the variables of the mark."""

    n: int
    env: tuple[tuple[str, str], ...]


class Controller:
    """The jobs of a session: one for each number of PEs, which its tests share as long as they pass."""

    def __init__(self, session: pytest.Session) -> None:
        """Record the marked tests; PEs start when the first of these tests runs."""
        self._config = session.config
        self._jobs: dict[_Key, PeJob] = {}
        self._made = 0
        self._shared: dict[_Key, list[pytest.Item]] = {}
        for item in session.items:
            mark = item.get_closest_marker("ishmem")
            shared = mark and mark.kwargs.get("init", True) and not options.runs_here(item)
            if shared and not evaluate_skip_marks(item):
                self._shared.setdefault(_key(item), []).append(item)

    def run(self, item: pytest.Item, nextitem: pytest.Item | None) -> None:
        """Run test ``item`` on its PEs and report it; fixtures that ``nextitem``, if there is one, needs are kept."""
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for report in (*self._reports(item, nextitem), *_teardown(item, nextitem)):
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)

    def pes(self, item: pytest.Item) -> Pes:
        """Return the PEs, shared with marked tests, of ``item``, a test that runs in the process of pytest."""
        return _SharedPes(self, _key(item), options.nodes_of(self._config))

    def job(self, key: _Key) -> PeJob:
        """Return the job of the PEs that the tests of a key share; start it if there is none."""
        if key not in self._jobs:
            if key.env:  # PEs with variables of their own live as long as the tests that follow share them
                self._finish([other for other in self._jobs if other.env])
            self._jobs[key] = self._start(key, True)
        return self._jobs[key]

    def drop(self, key: _Key) -> None:
        """End the job of a key, if there is one, without waiting for requests; its PEs cannot run another test."""
        if job := self._jobs.pop(key, None):
            job.kill()

    def stop(self) -> None:
        """End all PEs, and warn about each job that fails at its end."""
        self._finish(list(self._jobs))

    def _finish(self, keys: list[_Key]) -> None:
        """End the jobs of these keys, and warn about each that fails at its end."""
        for key in keys:
            if words := self._jobs.pop(key).finish():
                self._config.issue_config_time_warning(pytest.PytestWarning(f"the job of {key.n} PEs: {words}"), 2)

    def _reports(self, item: pytest.Item, nextitem: pytest.Item | None) -> list[pytest.TestReport]:
        """Run a test and return its reports; an interruption, as by the alarm of pytest-timeout, fails the test."""
        found: list[pytest.TestReport] = []
        try:
            call = pytest.CallInfo.from_call(
                lambda: found.extend(self._ask(item, nextitem)), "call", (pytest.exit.Exception, KeyboardInterrupt)
            )
        except BaseException:
            self.drop(_key(item))  # they do not await a request
            raise
        if call.excinfo:
            self.drop(_key(item))
            return reports.complete(item, {"call": pytest.TestReport.from_item_and_call(item, call)})
        return found

    def _ask(self, item: pytest.Item, nextitem: pytest.Item | None) -> list[pytest.TestReport]:
        mark = item.get_closest_marker("ishmem")
        assert mark
        key, limit = _key(item), float(mark.kwargs.get("timeout") or options.timeout_of(self._config))
        if not mark.kwargs.get("init", True):
            return reports.merge(item, self._ask_once(item, key, limit))
        following = self._after(item, nextitem, key)
        answers = self.job(key).ask(RunTest(*_name(item), _name(following) if following else None), limit)
        lost = False
        if reports.can_continue(answers):
            freed = self.job(key).free(limit)
            answers, lost = freed.after(answers), any(freed.results.values())
        if lost or not reports.can_continue(answers):
            self.drop(key)
        return reports.merge(item, answers)

    def _ask_once(self, item: pytest.Item, key: _Key, limit: float) -> Answers:
        """Run a test on PEs of its own and return their answers."""
        job = self._start(key, False)
        try:
            answers = job.ask(RunTest(*_name(item), None), limit)
            if reports.can_continue(answers):
                job.finish()
        finally:
            job.kill()
        return answers

    def _start(self, key: _Key, init: bool) -> PeJob:
        self._made += 1
        factory: Any = getattr(self._config, "_tmp_path_factory", None)
        kept = {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}
        session = PytestSession(
            n=key.n,
            init=init,
            arguments=[str(argument) for argument in self._config.invocation_params.args],
            basetemp=str(Path(factory.getbasetemp(), f"ishmem-{self._made}")) if factory else None,
            path=list(sys.path),
        )
        spec = PeJobSpec(
            n=key.n,
            program="ishmem.testing.session_pe",
            setup=session,
            environment={**kept, "ISHMEM_DEVICE": options.device_of(self._config), **dict(key.env)},
            nodes=options.nodes_of(self._config) if key.n > 1 else None,
            directory=self._config.invocation_params.dir,
            through=self._config.getoption("capture") == "no",
        )
        return PeJob(spec)

    def _after(self, item: pytest.Item, nextitem: pytest.Item | None, key: _Key) -> pytest.Item | None:
        """Return the test that these PEs will probably run next, None if there is none; its fixtures stay set up."""
        mine = self._shared[key]
        if nextitem in mine:
            return nextitem
        rest = mine[mine.index(item) + 1 :]
        return rest[0] if rest else None


class _SharedPes(Pes):
    """PEs that the session shares among its tests."""

    def __init__(self, controller: Controller, key: _Key, nodes: list[int] | None) -> None:
        super().__init__(key.n, dict(key.env), nodes)
        self._controller, self._key = controller, key

    def _running(self) -> PeJob:
        return self._controller.job(self._key)

    def _kill(self) -> None:
        self._controller.drop(self._key)

    def stop(self) -> None:
        """Do nothing: other tests use the PEs."""


def _teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[pytest.TestReport]:
    """Tear down fixtures in this process that ``nextitem`` does not need, such as those of a module; yield failures."""
    call = pytest.CallInfo.from_call(lambda: item.session._setupstate.teardown_exact(nextitem), "teardown")
    if call.excinfo:
        yield pytest.TestReport.from_item_and_call(item, call)


def _key(item: pytest.Item) -> _Key:
    mark = item.get_closest_marker("ishmem")
    env = mark.kwargs.get("env", {}) if mark else {}
    return _Key(_npes(item), tuple(sorted(env.items())))


def _name(item: pytest.Item) -> tuple[str, str]:
    return item.nodeid, str(item.path)


def _npes(item: pytest.Item) -> int:
    """Return the number of PEs of a test: its parameter, or that of its mark; fail the test if the mark has several."""
    callspec = getattr(item, "callspec", None)
    if callspec is not None and "ishmem_npes" in callspec.params:
        return int(callspec.params["ishmem_npes"])
    numbers = options.counts(item.config, item.get_closest_marker("ishmem"))
    if len(numbers) != 1:  # methods of unittest.TestCase have no parameters
        pytest.fail(f"{item.nodeid}: npes={numbers}; this kind of test takes one number of PEs", pytrace=False)
    return numbers[0]
