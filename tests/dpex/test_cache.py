"""Programs without a job: kernels on disk, and the exit; the rest of the cache is in device/test_kernel_cache.py."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from launching import own_compiler

from ishmem.dpex.cache import store

pytestmark = own_compiler

PROGRAM = str(Path(__file__).with_name("leaves_open.py"))


def test_another_process_loads_what_one_has_compiled(tmp_path: Path) -> None:
    """Collections at the exit would search all that numba has made. Open files are written all the same."""
    folder, *files = (tmp_path / name for name in ("kernels", "kept by a cycle", "global"))
    command = [sys.executable, PROGRAM, *map(str, (folder, *files))]
    for how in ("is compiled", "is loaded from the cache"):
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
        kernels = [f"kernel {name} {how}" for name in ("stores", "closes")]
        *printed, at_exit = done.stdout.splitlines()
        assert printed == [*kernels, "[1, 2, 3, 4, 0]", "0"], done
        assert at_exit == "True True" or how != "is compiled", done
        assert [path.read_text() for path in files] == ["written"] * 2
    suffixes = [path.suffix for path in folder.iterdir()]
    assert suffixes.count(".kernel") == 2 and set(suffixes) <= {".kernel", ".lock"}


def interrupted(*_given: object) -> bytes:
    raise KeyboardInterrupt


def test_a_file_of_a_process_that_was_killed_counts_and_goes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept_by = store.Store(tmp_path, 4096)
    with monkeypatch.context() as patch:
        patch.setattr(store, "_sealed", interrupted)
        with pytest.raises(KeyboardInterrupt):
            kept_by.put("lost", bytes(3000))
    (lost,) = tmp_path.glob("*.kernel")
    lost.write_bytes(bytes(3000))
    os.utime(lost, (0, 0))
    kept_by.put("kept", bytes(3000))
    assert kept_by.get("kept") == bytes(3000) and not lost.exists()
