"""The cache of kernels on disk of ``ishmem.dpex`` without a job; for the rest: tests/device/test_kernel_cache.py."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from launching import own_compiler

from ishmem.dpex.cache import store

pytestmark = own_compiler

PROGRAM = str(Path(__file__).with_name("cached_kernels.py"))
COMPILED = ["kernel stores is compiled", "kernel closes is compiled"]
LOADED = ["kernel stores is loaded from the cache", "kernel closes is loaded from the cache"]


def run(folder: Path, *number: str) -> list[str]:
    command = [sys.executable, PROGRAM, str(folder), *number]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def kept(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.kernel"))


def test_another_process_loads(tmp_path: Path) -> None:
    assert run(tmp_path) == [*COMPILED, "[1, 2, 3, 4, 0]"]
    assert run(tmp_path) == [*LOADED, "[1, 2, 3, 4, 0]"]
    assert len(kept(tmp_path)) == 2
    others = [path for path in tmp_path.iterdir() if path.suffix not in (".kernel", ".lock")]
    assert not others


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser writes everywhere")
def test_folder_that_cannot_be_written(tmp_path: Path) -> None:
    run(tmp_path)
    tmp_path.chmod(0o500)
    assert run(tmp_path, "5")[0] == COMPILED[0]
    assert run(tmp_path)[:2] == LOADED


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
    (lost,) = kept(tmp_path)
    lost.write_bytes(bytes(3000))
    os.utime(lost, (0, 0))
    kept_by.put("kept", bytes(3000))
    assert kept_by.get("kept") == bytes(3000) and not lost.exists()
