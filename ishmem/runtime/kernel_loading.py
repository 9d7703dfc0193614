"""Loads ``ishmem.kernels`` once numba_dpex is imported, and not before: a program of host calls needs neither."""

from __future__ import annotations

import importlib.util
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ishmem.runtime.job import Job


class _Finder:
    """Finds numba_dpex as it would be found without it, and binds the kernels when it has been imported."""

    def __init__(self, this: Job) -> None:
        self._job = this

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name != "numba_dpex":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec and spec.loader:
            execute = spec.loader.exec_module

            def execute_and_bind(module: ModuleType) -> None:
                execute(module)
                _bind(self._job)

            spec.loader.exec_module = execute_and_bind  # type: ignore[method-assign]
        return spec


def start(this: Job) -> None:
    """Let kernels that are compiled from now on take part in a job."""
    if "numba_dpex" in sys.modules:
        _bind(this)
    else:
        sys.meta_path.insert(0, _Finder(this))


def stop() -> None:
    """Refuse to compile kernels that use ishmem, since the job has ended."""
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, _Finder)]
    if "ishmem.kernels" in sys.modules:
        from ishmem.kernels import binding

        binding.unbind()


def _bind(this: Job) -> None:
    from ishmem.kernels import binding, cache

    heap, settings = this.heap, this.settings
    facts = binding.CompileOptions(settings.check, heap.proxy is not None, this.no_waits)
    binding.bind(facts, binding.ProcessConstants.of(heap.base, heap.size, this.pe, heap.layout))
    cache.use(settings.kernel_cache, settings.kernel_cache_size)
