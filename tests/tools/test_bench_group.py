"""Groups of PEs of ``ishmem bench``: none survives a request that is not answered, nor the end of the runner."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ishmem.benchmarks.group import Group, GroupError

STALL = """
import os, time
import __main__

with open({pids!r}, "a") as file:
    file.write(f"{{os.getpid()}}\\n")
__main__.Worker.stall = lambda self: time.sleep(600)
"""

RUNNER = """
import sys
from ishmem.benchmarks.group import Group

Group("ishmem", 2, (sys.argv[1],)).ask(("stall",), timeout=600)
"""


@pytest.fixture
def stall(tmp_path: Path) -> Path:
    """Return a file of cases that writes the PEs' process numbers to ``pids`` and adds a request without an answer."""
    file = tmp_path / "stall.py"
    file.write_text(STALL.format(pids=str(tmp_path / "pids")))
    return file


def processes(folder: Path) -> list[int]:
    """Return the process numbers of the PEs, once both have started."""
    deadline = time.monotonic() + 100
    while time.monotonic() < deadline:
        found = (folder / "pids").read_text().split() if (folder / "pids").exists() else []
        if len(found) == 2:
            return [int(pid) for pid in found]
        time.sleep(0.1)
    raise TimeoutError("the PEs have not started")


def left(pids: list[int], patience: float = 30) -> list[int]:
    """Return the processes that have not ended within ``patience`` seconds."""
    deadline = time.monotonic() + patience
    while (alive := [pid for pid in pids if Path(f"/proc/{pid}").exists()]) and time.monotonic() < deadline:
        time.sleep(0.1)
    return alive


def test_a_group_that_does_not_answer_is_ended(stall: Path, tmp_path: Path) -> None:
    group = Group("ishmem", 2, (str(stall),))
    with pytest.raises(GroupError, match="no answer of ishmem in 1 s from PE 0, 1"):
        group.ask(("stall",), timeout=1)
    assert not group.running
    assert left(processes(tmp_path)) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_group_ends_with_its_runner(stall: Path, tmp_path: Path, number: signal.Signals) -> None:
    runner = subprocess.Popen([sys.executable, "-c", RUNNER, str(stall)])
    pids = processes(tmp_path)
    runner.send_signal(number)
    runner.wait()
    assert left(pids) == []
