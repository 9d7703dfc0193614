"""What is baked into kernels when they are compiled: facts of this process between init and finalize."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from numba.core.errors import TypingError

if TYPE_CHECKING:
    from ishmem.layout import Layout


@dataclass(frozen=True)
class State:
    """Constants of compiled kernels that all PEs of a job share; they are in the key of a kernel that is kept.

    Attributes:
        size: Bytes of the heap.
        check: Whether operations check their arguments.
        proxied: Whether some peers are reached through the proxy, see `ishmem.proxy`.
        no_waits: Why kernels of this job may not wait for other PEs; empty when they may.
    """

    size: int
    layout: Layout
    n_pes: int
    check: bool = False
    proxied: bool = False
    no_waits: str = ""


class Process(NamedTuple):
    """Constants that differ from PE to PE; a kernel that is kept gets those of the process that loads it.

    Device code takes them from `heap_base` and `this_pe` of `kernels.intrinsics` only.

    Attributes:
        heap: Device address of this PE's heap.
    """

    heap: int
    pe: int


_bound: tuple[State, Process] | None = None


def bind(state: State, process: Process) -> None:
    """Set the constants of kernels that are compiled from now on."""
    global _bound
    _bound = (state, process)


def unbind() -> None:
    """Refuse to compile kernels that use ishmem."""
    global _bound
    _bound = None


def current() -> State:
    """Return what to compile with.

    Raises:
        TypingError: Not between ``init`` and ``finalize``.
    """
    return _needed()[0]


def process() -> Process:
    """Return what differs from PE to PE.

    Raises:
        TypingError: Not between ``init`` and ``finalize``.
    """
    return _needed()[1]


def bound() -> tuple[State, Process] | None:
    """Return what was bound, or ``None`` outside a job."""
    return _bound


def _needed() -> tuple[State, Process]:
    if _bound is None:
        raise TypingError("a kernel that uses ishmem was compiled outside ishmem.init() to ishmem.finalize()")
    return _bound
