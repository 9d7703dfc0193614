"""The program that counts the instructions of operations in kernels."""

from __future__ import annotations

import re
import sys

from pes import run_command


def test_counts() -> None:
    done = run_command([sys.executable, "-m", "ishmem.benchmarks.instructions"], env={"ISHMEM_CHECK": "0"})
    assert done.returncode == 0, done.stderr
    counts = {name.strip(): int(spirv) for name, spirv in re.findall(r"│ ([\w ]+?) +│ (\d+)", done.stdout)}
    assert counts["a plain store"] == 2
    assert counts["quiet"] == counts["fence"] == 1
    for name in ("p", "put", "get", "atomic_fetch_add"):
        assert 2 < counts[name] <= 12, name
