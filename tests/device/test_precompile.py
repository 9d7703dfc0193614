"""``ishmem precompile``: new kernels load the device functions that come with the installation."""

from __future__ import annotations

from pathlib import Path

import pytest
from cached_functions import compiled
from subprocesses import run_program

from ishmem import dpex
from ishmem.cli.precompile import version
from ishmem.dpex.cache.store import Store
from ishmem.runtime.kernel_loading import VERSION

KEY = "ab" * 32
FILL = """
import sys
from pathlib import Path
from ishmem.cli.precompile import fill
fill(Path(sys.argv[1]))
"""


@pytest.mark.slow("test_function_cache.py")
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
    assert "rma._make_checks.<locals>.is_allowed" in checked


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
