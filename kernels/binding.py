"""What is baked into kernels when they are compiled: facts of this process between init and finalize."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from numba.core.errors import TypingError

if TYPE_CHECKING:
    from ishmem.common.layout import Layout


@dataclass(frozen=True)
class CompileOptions:
    """What decides which code a kernel becomes; it is in the key of a kernel that is kept.

    Attributes:
        check: Whether operations check their arguments.
        proxied: Whether some peers are reached through the proxy, see `ishmem.runtime.proxy`.
        no_waits: Why kernels of this job may not wait for other PEs; empty when they may.
    """

    check: bool = False
    proxied: bool = False
    no_waits: str = ""


class ProcessConstants(NamedTuple):
    """Constants that differ from process to process; a kernel that is kept gets those of the one that loads it.

    Device code takes them from the functions of these names in `kernels.constants` only. What is no number or size is a
    device address in this PE's heap, of what `ishmem.common.layout` says.
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
        """Return the constants of a PE whose heap has an address and a size."""
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
    """Set the constants of kernels that are compiled from now on."""
    global _bound
    _bound = (options, process)


def unbind() -> None:
    """Refuse to compile kernels that use ishmem."""
    global _bound
    _bound = None


def options() -> CompileOptions:
    """Return what to compile with.

    Raises:
        TypingError: Not between ``init`` and ``finalize``.
    """
    return _needed()[0]


def process() -> ProcessConstants:
    """Return what differs from process to process.

    Raises:
        TypingError: Not between ``init`` and ``finalize``.
    """
    return _needed()[1]


def bound() -> tuple[CompileOptions, ProcessConstants] | None:
    """Return what was bound, or ``None`` outside a job."""
    return _bound


def _needed() -> tuple[CompileOptions, ProcessConstants]:
    if _bound is None:
        raise TypingError("a kernel that uses ishmem was compiled outside ishmem.init() to ishmem.finalize()")
    return _bound
