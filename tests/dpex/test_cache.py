"""The cache of kernels on disk of ``ishmem.dpex``."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from launching import own_compiler

pytestmark = own_compiler

PROGRAM = str(Path(__file__).with_name("cached_kernels.py"))
COMPILED = ["kernel stores is compiled", "kernel closes is compiled"]
LOADED = ["kernel stores is loaded from the cache", "kernel closes is loaded from the cache"]


def start(folder: Path, *assignments: str) -> subprocess.Popen[str]:
    command = [sys.executable, PROGRAM, str(folder), *assignments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def lines_of(process: subprocess.Popen[str]) -> list[str]:
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    return output.splitlines()


def run(folder: Path, *assignments: str) -> list[str]:
    return lines_of(start(folder, *assignments))


def kept(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.kernel"))


def test_another_process_loads(tmp_path: Path) -> None:
    assert run(tmp_path) == [*COMPILED, "[1, 2, 3, 4, 0]"]
    assert run(tmp_path) == [*LOADED, "[1, 2, 3, 4, 0]"]
    assert len(kept(tmp_path)) == 2
    others = [path for path in tmp_path.iterdir() if path.suffix not in (".kernel", ".lock")]
    assert not others


@pytest.mark.slow("test_kernel_cache.py")
@pytest.mark.parametrize(
    ("changed", "result", "compiled"),
    [
        ("NUMBER=5", [5, 6, 7, 8, 0], ["stores"]),
        ("ADDED=2", [3, 4, 5, 6, 0], ["stores"]),
        ("CLOSED=9", [1, 2, 3, 4, 9], ["closes"]),
        ("DTYPE=float32", [1, 2, 3, 4, 0], ["stores", "closes"]),
    ],
)
def test_what_differs_is_compiled(tmp_path: Path, changed: str, result: list[int], compiled: list[str]) -> None:
    run(tmp_path)
    lines = run(tmp_path, changed)
    assert [line.split()[1] for line in lines[:-1] if line.endswith("is compiled")] == compiled
    assert lines[-1].startswith(str(result))


@pytest.mark.slow("test_kernel_cache.py::test_pes_share_kernels")
def test_processes_at_once_compile_once(tmp_path: Path) -> None:
    lines = [line for process in [start(tmp_path) for _ in range(3)] for line in lines_of(process)]
    assert [lines.count(line) for line in COMPILED] == [1, 1]
    assert len([line for line in lines if line.startswith("[1, 2, 3, 4, 0]")]) == 3


@pytest.mark.slow("test_kernel_cache.py::test_store_ignores_damage")
def test_damaged_files_are_ignored(tmp_path: Path) -> None:
    run(tmp_path)
    first, second = kept(tmp_path)
    first.write_bytes(first.read_bytes()[:-1])
    second.write_bytes(b"")
    assert run(tmp_path) == [*COMPILED, "[1, 2, 3, 4, 0]"]
    assert run(tmp_path) == [*LOADED, "[1, 2, 3, 4, 0]"]


def test_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert run(tmp_path / "file" / "folder") == [*COMPILED, "[1, 2, 3, 4, 0]"]


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser writes everywhere")
def test_folder_that_cannot_be_written(tmp_path: Path) -> None:
    run(tmp_path)
    tmp_path.chmod(0o500)
    assert run(tmp_path, "NUMBER=5")[0] == COMPILED[0]
    assert run(tmp_path)[:2] == LOADED


@pytest.mark.slow("test_kernel_cache.py: the same store")
def test_old_kernels_make_room(tmp_path: Path) -> None:
    run(tmp_path)
    sizes = sum(path.stat().st_size for path in kept(tmp_path))
    limit = f"LIMIT={sizes * 4 // 3 + 100}"
    for number in range(3):
        run(tmp_path, f"NUMBER={number + 10}", limit)
    assert sum(path.stat().st_size for path in kept(tmp_path)) <= sizes + 100
