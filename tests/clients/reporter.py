"""A pytest plugin that writes the outcome of each test to a file at once, so that a crash loses one test only.

Each line of the file is a JSON list: event, test, text. Tests that the file already has are not run again.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

FILE = "CLIENTS_REPORT"
"""The variable that names the file."""
STARTED, ENDED = "started", "ended"
"""Events of a test and, with an empty test, of the whole run; the other events are outcomes."""
OUTCOMES = ("passed", "skipped", "failed")
"""From good to bad."""

_outcomes: dict[str, tuple[str, str]] = {}


def write(file: Path, event: str, test: str, text: str = "") -> None:
    """Append a line to the file."""
    with file.open("a") as lines:
        lines.write(json.dumps([event, test, text]) + "\n")


def read(file: Path) -> list[tuple[str, str, str]]:
    """Return the events of a file."""
    return [(*json.loads(line),) for line in file.read_text().splitlines()] if file.exists() else []  # type: ignore[misc]


def _write(event: str, test: str = "", text: str = "") -> None:
    write(Path(os.environ[FILE]), event, test, text)


def pytest_collection_modifyitems(items: list[Any]) -> None:
    """Leave out the tests that have an outcome."""
    known = {test for event, test, _text in read(Path(os.environ[FILE])) if event in OUTCOMES}
    items[:] = [item for item in items if item.nodeid not in known]


def pytest_collectreport(report: Any) -> None:
    """Count a file that does not import as a failed test."""
    if report.outcome != "passed":
        _write(report.outcome, report.nodeid, str(report.longrepr)[-2000:])


def pytest_runtest_logstart(nodeid: str) -> None:
    """Announce a test."""
    _outcomes[nodeid] = ("passed", "")
    _write(STARTED, nodeid)


def pytest_runtest_logreport(report: Any) -> None:
    """Keep the worst outcome of set-up, call and end."""
    if OUTCOMES.index(report.outcome) > OUTCOMES.index(_outcomes[report.nodeid][0]):
        _outcomes[report.nodeid] = (report.outcome, _text(report))


def _text(report: Any) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    return crash.message if crash else str(report.longrepr)[-2000:]


def pytest_runtest_logfinish(nodeid: str) -> None:
    """Write the outcome. End the process if the device is lost, since all later tests would fail."""
    outcome, text = _outcomes.pop(nodeid)
    _write(outcome, nodeid, text)
    if outcome == "failed" and _is_lost():
        os._exit(1)


def _is_lost() -> bool:
    from ishmem.common.errors import LevelZeroError
    from ishmem.ipc import pyze

    try:
        pyze.zeDeviceGetStatus(pyze.devices(pyze.drivers()[0])[0])
    except LevelZeroError:
        return True
    return False


def pytest_sessionfinish() -> None:
    """Announce the end of the run."""
    _write(ENDED)
