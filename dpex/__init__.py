"""Kernels for Intel GPUs in Python: the language of numba-dpex, compiled by numba and LLVM's SPIR-V back end.

Where numba-dpex is installed, the names here are its own objects, so that a program runs on both.
"""

from __future__ import annotations

import importlib
from importlib.machinery import PathFinder
from typing import Any

HAS_NUMBA_DPEX = PathFinder.find_spec("numba_dpex") is not None  # asks no import hook, which may act on the name

COMPILER = "numba_dpex" if HAS_NUMBA_DPEX else f"{__name__}.decorators"
"""The module whose import loads the compiler of kernels."""

_MODULES = {
    "device_func": "decorators", "kernel": "decorators", "LocalAccessor": "kernel_api", "NdRange": "kernel_api",
    "Range": "kernel_api", "call_kernel": "launch.submission", "call_kernel_async": "launch.submission",
    "DpnpNdArray": "compile.types", "USMNdArray": "compile.types", "kernel_api": "kernel_api",
}  # fmt: skip

__all__ = list(_MODULES)


def __getattr__(name: str) -> Any:
    if name not in _MODULES and (not HAS_NUMBA_DPEX or name.startswith("__") or _is_own_module(name)):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if HAS_NUMBA_DPEX:
        return _of_numba_dpex(name)  # at each use: a tool may have replaced the function there
    found = globals()[name] = _own(name)
    return found


def _is_own_module(name: str) -> bool:
    """Return whether a name is only that of a module here, which the import statement finds without numba-dpex."""
    return name != "types" and PathFinder.find_spec(f"{__name__}.{name}", __path__) is not None


def _of_numba_dpex(name: str) -> Any:
    in_kernel_api = name in ("LocalAccessor", "kernel_api")
    module = importlib.import_module("numba_dpex.kernel_api" if in_kernel_api else "numba_dpex")
    return module if name == "kernel_api" else getattr(module, name)


def _own(name: str) -> Any:
    importlib.import_module(COMPILER)  # before all others: libraries add their functions once it is loaded
    module = importlib.import_module(f"{__name__}.{_MODULES[name]}")
    return module if name == "kernel_api" else getattr(module, name)
