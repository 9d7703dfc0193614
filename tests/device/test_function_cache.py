"""Device functions of ishmem on disk: new kernels load what others have compiled, here or for the installation."""

from __future__ import annotations

from pathlib import Path
from typing import Callable

import pytest
from cached_functions import compiled
from subprocesses import run_program

from ishmem import dpex
from ishmem.cli.precompile import version
from ishmem.dpex.cache.store import Store
from ishmem.kernels import intrinsics
from ishmem.runtime import kernel_constants
from ishmem.runtime.kernel_loading import VERSION

CHECKS = "rma._make_checks.<locals>"
KEY = "ab" * 32
FILL = """
import sys
from pathlib import Path
from ishmem.cli.precompile import fill
fill(Path(sys.argv[1]))
"""


@pytest.mark.slow("test_function_code.py")
def test_a_new_kernel_loads_functions(tmp_path: Path) -> None:
    """Those of two processes that have compiled different ones, and none that has been compiled for other options."""
    assert f"{CHECKS}.is_allowed" in compiled(tmp_path, "put")
    first = compiled(tmp_path, "add")
    assert "reductions.reduce" in first
    assert not {f"{CHECKS}.local_size", f"{CHECKS}.is_allowed"} & set(compiled(tmp_path, "every"))
    assert not compiled(tmp_path, "put", "add", "every")
    by_size = sorted(tmp_path.glob("*.function"), key=lambda path: path.stat().st_size)
    for path in [*by_size[len(by_size) // 2 :], *tmp_path.glob("*.kernel")]:
        path.unlink()  # the callers: each of the others is part of several of them, and has to be linked once
    assert "reductions.reduce" in compiled(tmp_path, "every")
    checked = compiled(tmp_path, "outside", ISHMEM_CHECK="1", fails="PEs are numbered 0 to 1")
    assert f"{CHECKS}.is_allowed" in checked
    for path in tmp_path.glob("*.function"):
        path.write_bytes(path.read_bytes()[:-4])
    for path in tmp_path.glob("*.kernel"):
        path.unlink()
    assert set(first) <= set(compiled(tmp_path, "add"))


def test_functions_made_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the import the name of a device function may differ between processes, so its key would, too."""

    def choose(_x: object) -> Callable[..., object]:
        return lambda x: x

    monkeypatch.setattr(kernel_constants, "options", lambda: None)
    implementation = intrinsics._recorded(choose)(None)
    assert implementation not in intrinsics.origins


@pytest.mark.slow("test_a_new_kernel_loads_functions")
@pytest.mark.skipif(dpex.HAS_NUMBA_DPEX, reason="for ishmem.dpex")
def test_a_new_kernel_loads_installed_functions(tmp_path: Path) -> None:
    installed = tmp_path / "installed"
    installed.mkdir()
    (installed / "old.function").write_bytes(b"of another version")
    done = run_program(FILL, 1, str(installed), timeout=240)
    assert done.returncode == 0, done.stderr
    assert {path.suffix for path in installed.iterdir() if path.name != VERSION} == {".function"}
    assert (installed / VERSION).read_text() == version()
    assert not (installed / "old.function").exists()
    assert len(list(installed.iterdir())) > 100
    assert compiled(tmp_path / "first", "put", installed=installed) == []
    assert compiled(tmp_path / "wait", "wait", installed=installed) == []
    two_axes = compiled(tmp_path / "rows", "rows", installed=installed)
    assert set(two_axes) == {"rma._of_arrays.<locals>.body"}
    others = compiled(tmp_path / "second", "every", installed=installed)
    assert "reductions.reduce" in others
    assert not [name for name in others if name.startswith(("rma.", "amo."))]
    checked = compiled(
        tmp_path / "third", "outside", installed=installed, ISHMEM_CHECK="1", fails="PEs are numbered 0 to 1"
    )
    assert f"{CHECKS}.is_allowed" in checked


def test_own_values_come_first(tmp_path: Path) -> None:
    library = Store(tmp_path / "library", 1000)
    store = Store(tmp_path / "own", 1000, installed=tmp_path / "library")
    assert store.get(KEY) is None
    library.put(KEY, b"installed")
    assert store.get(KEY) == b"installed"
    store.put(KEY, b"own")
    assert store.get(KEY) == b"own"
    (tmp_path / "own" / f"{KEY}.kernel").write_bytes(b"damaged")
    assert store.get(KEY) == b"installed"
    (tmp_path / "library" / f"{KEY}.kernel").write_bytes(b"damaged")
    assert store.get(KEY) is None
