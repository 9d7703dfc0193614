"""Device functions of ishmem on disk: new kernels load what other kernels and other processes have compiled."""

from __future__ import annotations

from pathlib import Path
from typing import Callable

import pytest
from cached_functions import compiled

from ishmem.kernels import intrinsics
from ishmem.runtime import kernel_constants

CHECKS = "rma._make_checks.<locals>"


@pytest.mark.slow("test_precompile.py")
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
