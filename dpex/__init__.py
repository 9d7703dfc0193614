"""Kernels for Intel GPUs in Python: the language of numba-dpex, compiled by numba and LLVM's SPIR-V back end.

Where numba-dpex is installed, the names here are its own objects, so that a program runs on both.
"""

from __future__ import annotations

import importlib
from importlib.machinery import PathFinder
from typing import Any

from .front_end import COMPILER

HAS_NUMBA_DPEX = not COMPILER.is_own
"""Whether the names here are those of numba-dpex; for programs and tests. The library reads `front_end.COMPILER`."""

_MODULES = {
    "device_func": "decorators", "kernel": "decorators", "LocalAccessor": "kernel_api", "NdRange": "kernel_api",
    "Range": "kernel_api", "call_kernel": "launch.submission", "call_kernel_async": "launch.submission",
    "DpnpNdArray": "compile.types", "USMNdArray": "compile.types", "kernel_api": "kernel_api",
}  # fmt: skip

__all__ = list(_MODULES)


def __getattr__(name: str) -> Any:
    if name not in _MODULES and (COMPILER.is_own or name.startswith("__") or _is_own_module(name)):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if not COMPILER.is_own:
        return _of_other(name)  # at each use: a tool may have replaced the function there
    found = globals()[name] = _own(name)
    return found


def _is_own_module(name: str) -> bool:
    """Return whether this package has a submodule of the name that is not among the public names."""
    return name != "types" and PathFinder.find_spec(f"{__name__}.{name}", __path__) is not None


def _of_other(name: str) -> Any:
    in_kernel_api = name in ("LocalAccessor", "kernel_api")
    module = importlib.import_module(f"{COMPILER.package}.kernel_api" if in_kernel_api else COMPILER.package)
    return module if name == "kernel_api" else getattr(module, name)


def _own(name: str) -> Any:
    importlib.import_module(COMPILER.module)  # before all others: libraries add their functions once it is loaded
    module = importlib.import_module(f"{__name__}.{_MODULES[name]}")
    return module if name == "kernel_api" else getattr(module, name)
