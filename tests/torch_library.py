"""Where torch is for the tests: in this environment, or where ``.ci/torch`` has put it."""

from __future__ import annotations

import importlib.util
import sys
import sysconfig
from pathlib import Path

import numpy as np
import pytest

TORCH = Path(__file__).parents[1] / "build" / "torch"
PACKAGES = TORCH / "usr/lib/python3/dist-packages"


def environment() -> dict[str, str]:
    """Return the variables for a process that imports torch; skip the test if there is no torch for this Python."""
    if importlib.util.find_spec("torch"):
        return {}
    built = PACKAGES / f"torch/_C.{sysconfig.get_config_var('SOABI')}.so"
    if not built.exists() or not np.__version__.startswith("1."):
        pytest.skip("no torch for this Python: install torch, or run .ci/torch (Debian 12, Python 3.11, numpy 1)")
    # libOpenCL and TBB are this environment's.
    return {"LD_LIBRARY_PATH": f"{sys.prefix}/lib:{TORCH / 'libraries'}", "PYTHONPATH": str(PACKAGES)}
