"""Compile-time constants of kernels: the options and addresses of this process between ``init`` and ``finalize``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from numba.core.errors import TypingError

if TYPE_CHECKING:
    from ishmem.common.layout import Layout


@dataclass(frozen=True)
class CompileOptions:
    """Options that change the code of a kernel; they are part of its cache key.

    Attributes:
        check: Whether operations check their arguments.
        proxied: Whether kernels reach some peers through the proxy; see `ishmem.runtime.proxy`.
        no_waits: The reason why kernels of this job must not wait for other PEs; empty when they may.
    """

    check: bool = False
    proxied: bool = False
    no_waits: str = ""


class ProcessConstants(NamedTuple):
    """Constants that differ between processes; a cached kernel gets those of the process that loads it.

    Device code reads them only through the functions in `kernels.spec_constants`. All fields but PE numbers and sizes
    are device addresses in this PE's heap; `ishmem.common.layout` describes what lies there.
    """

    heap: int
    my_pe: int
    n_pes: int
    teams: int
    sync: int
    sync_bytes: int
    rendezvous: int
    rendezvous_bytes: int
    turn: int
    violation: int
    proxy: int
    tickets: int
    routes: int
    user: int
    end: int

    @classmethod
    def of(cls, heap: int, size: int, pe: int, layout: Layout) -> ProcessConstants:
        """Return the constants of PE ``pe``, whose heap of ``size`` bytes starts at device address ``heap``."""
        offsets = {
            "heap": 0, "teams": layout.team(0), "sync": layout.device_sync(0), "rendezvous": layout.rendezvous(0),
            "turn": layout.turn, "violation": layout.violation, "proxy": layout.proxy, "tickets": layout.tickets,
            "routes": layout.routes, "user": layout.size, "end": size,
        }  # fmt: skip
        return cls(
            my_pe=pe,
            n_pes=layout.n_pes,
            sync_bytes=layout.sync_bytes,
            rendezvous_bytes=layout.rendezvous_bytes,
            **{name: heap + offset for name, offset in offsets.items()},
        )


_bound: tuple[CompileOptions, ProcessConstants] | None = None


def bind(options: CompileOptions, process: ProcessConstants) -> None:
    """Set the options and constants for kernels that are compiled or loaded from now on."""
    global _bound
    _bound = (options, process)


def unbind() -> None:
    """Remove the options and constants; compiling a kernel that uses ishmem raises from now on."""
    global _bound
    _bound = None


def options() -> CompileOptions:
    """Return the compile options of this job.

    Raises:
        TypingError: The call is not between ``init`` and ``finalize``.
    """
    return _needed()[0]


def process() -> ProcessConstants:
    """Return the constants of this process.

    Raises:
        TypingError: The call is not between ``init`` and ``finalize``.
    """
    return _needed()[1]


def bound() -> tuple[CompileOptions, ProcessConstants] | None:
    """Return the options and constants, or ``None`` outside a job."""
    return _bound


def _needed() -> tuple[CompileOptions, ProcessConstants]:
    if _bound is None:
        raise TypingError("a kernel that uses ishmem was compiled outside ishmem.init() to ishmem.finalize()")
    return _bound
