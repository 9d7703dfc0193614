"""Where torch is for the tests: in this environment, or where ``.ci/torch`` or ``.ci/torch-pypi`` has put it."""

from __future__ import annotations

import importlib.util
import sys
import sysconfig
from pathlib import Path

import numpy as np
import pytest

from ishmem.testing import fork_server

BUILD = Path(__file__).parents[1] / "build"
DEBIAN, PYPI = BUILD / "torch", BUILD / "torch-pypi"

NUMPY_1 = np.__version__.startswith("1.")


def environment() -> dict[str, str]:
    """Return the variables for a process that imports torch; skip the test if there is no torch for this Python."""
    if importlib.util.find_spec("torch"):
        return {fork_server.PRELOAD: "torch"}
    built = f"torch/_C.{sysconfig.get_config_var('SOABI')}.so"
    root, packages = (DEBIAN, DEBIAN / "usr/lib/python3/dist-packages") if NUMPY_1 else (PYPI, PYPI)
    if not (packages / built).exists():
        command = ".ci/torch (Debian 12, Python 3.11)" if NUMPY_1 else ".ci/torch-pypi"
        pytest.skip(f"no torch for this Python: install torch, or run {command}")
    # libOpenCL and TBB are this environment's.
    paths = {"LD_LIBRARY_PATH": f"{sys.prefix}/lib:{root / 'libraries'}", "PYTHONPATH": str(packages)}
    return {**paths, fork_server.PRELOAD: "torch"}
