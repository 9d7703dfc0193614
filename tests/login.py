"""A shell on the host "login" beside emulated nodes, for tests that start jobs on them: see nodes.py.

The nodes take a second to make, so one `Login` serves all tests of a module.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from ishmem.testing import nodes

_SERVER = """
import json, os, signal, subprocess, sys, time
for line in sys.stdin:
    ask = json.loads(line)
    job = subprocess.Popen(ask["command"], env={**os.environ, **ask["env"]}, stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", errors="replace")
    try:
        out = ""
        if ask["signal"]:
            while ask["after"] not in out:
                out += job.stdout.readline()
            job.send_signal(ask["signal"])
        rest, err = job.communicate(timeout=ask["timeout"])
        print(json.dumps([job.returncode, out + rest, err]), flush=True)
    except subprocess.TimeoutExpired:
        job.kill()
        print(json.dumps([None, *job.communicate()]), flush=True)
"""


class Login:
    """The host "login" beside emulated nodes with the names node0, node1 and so on."""

    def __init__(self, count: int) -> None:
        """Make the nodes."""
        self._process = subprocess.Popen(
            nodes.login(count, [sys.executable, "-c", _SERVER]),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(
        self,
        command: Sequence[str],
        env: dict[str, str] | None = None,
        signal: int = 0,
        after: str = "",
        timeout: float = 120,
    ) -> subprocess.CompletedProcess[str]:
        """Run a command to its end; with ``signal``, send it that once its output contains ``after``."""
        assert self._process.stdin is not None and self._process.stdout is not None
        ask: dict[str, Any] = {"command": list(command), "env": env or {}, "signal": int(signal), "after": after}
        self._process.stdin.write(json.dumps({**ask, "timeout": timeout}) + "\n")
        self._process.stdin.flush()
        status, out, err = json.loads(self._process.stdout.readline())
        assert status is not None, f"not done after {timeout} s\n--- stdout\n{out}\n--- stderr\n{err}"
        return subprocess.CompletedProcess(list(command), status, out, err)

    def ishmem_run(self, *words: str, **options: Any) -> subprocess.CompletedProcess[str]:
        """Start a job by the launcher."""
        return self.run([sys.executable, "-m", "ishmem.launch.run", *words], **options)

    def close(self) -> None:
        """Remove the nodes."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(20)
