"""Extends the compiler of kernels by ishmem once it is imported; a program of host calls needs no compiler."""

from __future__ import annotations

import functools
import importlib.util
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Callable

from ishmem import _core
from ishmem.common import algorithms
from ishmem.common.errors import StateError
from ishmem.dpex.extension import install, installed
from ishmem.dpex.front_end import COMPILER

from . import kernel_constants

if TYPE_CHECKING:
    from importlib.abc import Loader

    from ishmem.environment.settings import Settings
    from ishmem.runtime.heap import SymmetricHeap


INSTALLED = Path(_core.__file__).with_name("device_functions")
"""Device functions that ``ishmem precompile`` has compiled, beside the installed package."""

VERSION = "version"
"""The file in `INSTALLED` with the versions of the device functions."""


class _Loader:
    """Loads the compiler of kernels by its own loader, which may serve other modules too; then calls `_load`."""

    def __init__(self, loader: Loader, finder: _Finder) -> None:
        self._loader, self._finder = loader, finder

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def exec_module(self, module: ModuleType) -> None:
        """Load the module."""
        self._loader.exec_module(module)
        if self._finder in sys.meta_path:
            sys.meta_path.remove(self._finder)
        _load()


class _Finder:
    """An import hook that calls `_load` once the compiler of kernels has been imported."""

    _is_asked = False

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name != COMPILER.module or self._is_asked:
            return None
        self._is_asked = True
        spec = importlib.util.find_spec(name)
        self._is_asked = False  # the program may only test whether there is such a module
        if spec and spec.loader:
            spec.loader = _Loader(spec.loader, self)  # type: ignore[assignment]
        return spec


_job: Callable[[], None] | None = None
"""The function that binds kernels to the running job; None without a job."""

_has_regions = not COMPILER.builds_again
"""Whether kernels search registered memory."""


def watch() -> None:
    """Extend the compiler of kernels once it is imported, so that errors of kernels before ``init`` are explained."""
    if COMPILER.module in sys.modules:
        _load()
    else:
        sys.meta_path.insert(0, _Finder())


def start(heap: SymmetricHeap, settings: Settings, no_waits: str) -> None:
    """Bind kernels compiled from now on to a heap; ``no_waits`` is the reason why they may not wait, if any."""
    global _job
    _job = functools.partial(_bind, heap, settings, no_waits)
    if COMPILER.module in sys.modules:
        _load()
    else:  # other hooks may have come since, such as pytest's, which would load the compiler themselves
        sys.meta_path[:] = sorted(sys.meta_path, key=lambda hook: not isinstance(hook, _Finder))


def refuse_restart() -> None:
    """Raise ``StateError`` if kernels cannot be built again with the addresses of another job."""
    if not COMPILER.builds_again:
        raise StateError(
            f"ishmem.init() was called after ishmem.finalize(); with {COMPILER.name}, whose kernels keep addresses, a "
            "process is a PE only once: start a new process, in a notebook by restarting its kernel"
        )


def look_for_regions() -> None:
    """Make kernels, also built ones, search registered memory from now on; those of numba-dpex always do."""
    global _has_regions
    if _has_regions:
        return
    _has_regions = True
    if COMPILER.builds_again and _job and COMPILER.module in sys.modules:
        sys.modules[COMPILER.module].forget_programs()
        _job()


def before_numba_compiles() -> None:
    """Load ``ishmem.kernels``, whose errors explain that numba's host code cannot call ishmem; numba's entry point."""
    if COMPILER.module in sys.modules:
        installed().load()


_waiting: list[Callable[[], None]] = []


def when_loaded(call: Callable[[], None]) -> None:
    """Call a function once the compiler of kernels is imported, now if it already is."""
    if COMPILER.module in sys.modules:
        call()
    else:
        _waiting.append(call)


def stop() -> None:
    """End the binding to the job: discard kernels built with its addresses, and compile none that use ishmem."""
    global _job, _has_regions
    _job, _has_regions = None, not COMPILER.builds_again
    if COMPILER.builds_again and COMPILER.module in sys.modules:
        sys.modules[COMPILER.module].forget_programs()
    _waiting.clear()
    kernel_constants.unbind()


def _load() -> None:
    from .kernel_extension import Ishmem

    if not isinstance(installed(), Ishmem):
        install(Ishmem())
    if not COMPILER.asks_extension:
        installed().load()
    if _job:
        _job()


def _bind(heap: SymmetricHeap, settings: Settings, no_waits: str) -> None:
    from ishmem.dpex.cache.store import use
    from ishmem.ipc import pyze

    wide = heap.layout.wide if heap.layout.is_large else 0
    levels = heap.spans and not heap.is_routed and not algorithms.are_flat(settings.algorithm)
    options = kernel_constants.CompileOptions(
        check=settings.check, spans=heap.spans, routed=heap.is_routed, wide=wide, no_waits=no_waits, levels=levels,
        late=heap.late, staged=heap.is_staged,
    )  # fmt: skip
    width = pyze.device_properties(heap.device).physicalEUSimdWidth
    constants = kernel_constants.ProcessConstants.of(
        heap.base, heap.size, heap.pe, heap.layout, heap.near, width, heap.least_cores, _has_regions
    )
    kernel_constants.bind(options, constants)
    use(folder(settings.kernel_cache), settings.kernel_cache_size, INSTALLED)
    while _waiting:
        _waiting.pop(0)()


def folder(where: str) -> Path | None:
    """Return the folder of compiled code: the user's cache folder for ``auto``, None for ``off``, else the path."""
    if where == "auto":
        import platformdirs  # here and in `_bind`, because `import ishmem` is fast

        return platformdirs.user_cache_path("ishmem") / "kernels"
    return None if where == "off" else Path(where)
