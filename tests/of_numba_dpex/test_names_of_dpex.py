"""The names of ``ishmem.dpex`` where numba-dpex is installed: numba-dpex's objects, by each form of import."""

from __future__ import annotations

import sys

import pytest
from subprocesses import run_command, succeeded

OBJECTS = """
import numba_dpex
from ishmem import dpex
from ishmem.dpex import kernel, kernel_api, prange, types
import ishmem.dpex.kernel_api as by_path
from ishmem.dpex.kernel_api import Item

assert kernel is dpex.kernel is numba_dpex.kernel
assert prange is numba_dpex.prange
assert types is dpex.types is numba_dpex.types
assert kernel_api is by_path is dpex.kernel_api is numba_dpex.kernel_api
assert Item is numba_dpex.kernel_api.Item
"""
MODULES = """
import sys
from ishmem.dpex.cache import key, store
assert key.__name__ == "ishmem.dpex.cache.key" and store.__name__ == "ishmem.dpex.cache.store"
assert "numba_dpex" not in sys.modules
try:
    from ishmem.dpex import no_such_name
except ImportError as error:
    assert "no_such_name" in str(error)
else:
    raise AssertionError("a name that there is not was imported")
"""


@pytest.mark.parametrize("program", [OBJECTS, MODULES], ids=["objects", "modules"])
def test_each_form_of_import(program: str) -> None:
    succeeded(run_command([sys.executable, "-c", program], forked=False))
