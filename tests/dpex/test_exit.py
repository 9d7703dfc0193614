"""The exit of a program whose kernels ``ishmem.dpex`` has compiled."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from launching import own_compiler

pytestmark = own_compiler

PROGRAM = str(Path(__file__).with_name("leaves_open.py"))


def test_no_collection_at_the_exit(tmp_path: Path) -> None:
    """Collections at the exit would search all that numba has made. Open files are written all the same."""
    paths = [tmp_path / name for name in ("kept by a cycle", "global")]
    command = [sys.executable, PROGRAM, *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.splitlines() == ["0", "True True"], done
    assert [path.read_text() for path in paths] == ["written"] * 2
