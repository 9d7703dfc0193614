"""The functions of Python that the core calls: see ``core/python_calls.hpp``."""

from __future__ import annotations

from typing import Any, Callable, NoReturn

from ishmem import _core
from ishmem.runtime import job


def install(
    atomic: Callable[..., Any], unsatisfied: Callable[..., NoReturn], failed_collective: Callable[..., NoReturn]
) -> None:
    """Register the Python functions that the core calls.

    Args:
        atomic: ``ishmem.amo.by_kernel``.
        unsatisfied: ``ishmem.wait.raise_unsatisfied``.
        failed_collective: ``ishmem.host_collectives.checks.raise_failed``.
    """
    _core.help_by(
        copy=_copy, complete=_complete, map=_map, atomic=atomic, unsatisfied=unsatisfied,
        incomplete_barrier=_incomplete_barrier, failed_collective=failed_collective,
    )  # fmt: skip


def _copy(dest: int, source: int, nbytes: int, local: Any) -> None:
    """Start a copy by this thread's copy engine, which references ``local``, this PE's array, until it completes."""
    job.current().engine.copy(dest, source, nbytes, local)


def _complete() -> None:
    """Wait until all copies of this thread's copy engine have completed."""
    job.current().engine.quiet()


def _map(address: int, nbytes: int, write: bool) -> bool:
    """Map the private allocation at an address for a copy of ``nbytes`` bytes from or to it; return whether it is."""
    return job.current().heap.private_memory.register(address, nbytes, write=write)


def _incomplete_barrier(routine: str, outcome: int) -> None:
    """Raise the error of a ``barrier_all`` or ``sync_all`` with another outcome than ``SATISFIED``."""
    this = job.current()
    if outcome in (_core.LOST, _core.MIXED):
        this.raise_incomplete(routine, outcome)
    this.raise_problems()


for _help in (_copy, _complete):  # reports of waits name the routine by the outermost function of ishmem
    _help.__code__ = _help.__code__.replace(co_name="put or get")
