"""What the core asks Python for where the host's loads and stores do not serve: see ``core/python_help.hpp``."""

from __future__ import annotations

from typing import Any, Callable

from ishmem import _core
from ishmem.runtime import job


def install(atomic: Callable[[int, Any, Any, Any, Any, Any], Any]) -> None:
    """Give the core the functions; ``atomic`` is ``ishmem.amo.by_kernel``."""
    _core.help_by(copy=_copy, complete=_complete, map=_map, atomic=atomic)


def _copy(dest: int, source: int, nbytes: int, local: Any) -> None:
    """Start a copy of this thread's copy engine, which keeps this PE's array."""
    job.current().engine.copy(dest, source, nbytes, local)


def _complete() -> None:
    """Wait for this thread's copy engine."""
    job.current().engine.quiet()


def _map(address: int, nbytes: int, write: bool) -> bool:
    """Return whether the core can now access a private allocation that it had no mapping of."""
    return job.current().heap.private_memory.register(address, nbytes, write=write)


for _help in (_copy, _complete):  # reports of waits name the routine by the outermost function of ishmem
    _help.__code__ = _help.__code__.replace(co_name="put or get")
