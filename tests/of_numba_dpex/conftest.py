"""These tests are about the compiler numba-dpex, and are collected where it is installed."""

from __future__ import annotations

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("numba_dpex") else ["test_*.py"]
